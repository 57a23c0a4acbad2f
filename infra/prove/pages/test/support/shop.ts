import {
  type AuthenticatedClient,
  createAuthenticatedClient,
  isFinalizedGrantWithAccessToken,
  isPendingGrant,
  OpenPaymentsClientError
} from '@interledger/open-payments'
import { createReceiver } from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { BrowserContext } from 'playwright-core'
import { leave, signIn } from './people.js'
import type { Setting } from './setting.js'

/** Limits of outgoing payments, as clients send them. */
export interface Limits {
  readonly debitAmount?: { readonly value: string; readonly assetCode: string; readonly assetScale: number }
  readonly interval?: string
  readonly receiver?: string
}

/** A grant that alice has consented to. */
export interface Allowed {
  /** UUID. */
  readonly id: string
  /** Path of its page. */
  readonly path: string
  /** Pays bob under it. Returns 201, or the status of the refusal. */
  pay(value: number): Promise<number>
}

/** 12.50 USD is `usd('1250')`. */
export const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })

/** Twelve months from the last new year on, and 25.00 USD in each. */
export const MONTHLY = { debitAmount: usd('2500'), interval: 'R120/2026-01-01T00:00:00Z/P1M' }

/** The official client library as the shop, and alice who consents to what it asks, in a browser. */
export interface Shop {
  /** Where the account holder is sent for what is asked, and how the shop goes on afterwards. */
  ask(limits?: Limits): Promise<{ readonly redirect: string; collect(reference: string): Promise<Allowed> }>
  /** Asks, and has it allowed as it is, by whoever is signed in there. */
  allow(limits?: Limits): Promise<Allowed>
}

/**
 * @param context of somebody who is signed in as alice, or will be
 */
export async function openShop(
  { system, callback, issuer }: Setting,
  context: BrowserContext
): Promise<Shop> {
  const client = await createAuthenticatedClient({
    walletAddressUrl: system.shop.walletAddress,
    privateKey: system.shop.key.privateKey,
    keyId: system.shop.key.keyId,
    useHttp: true,
    validateResponses: true,
    logLevel: 'silent'
  })
  const ask: Shop['ask'] = async (limits = MONTHLY) => {
    const identifier = system.walletAddresses.alice
    const access = { type: 'outgoing-payment' as const, actions: ['create', 'read'] as ['create', 'read'] }
    const pending = await client.grant.request(
      { url: system.authServerUrl },
      {
        access_token: { access: [{ ...access, identifier, limits: { ...limits } as never }] },
        interact: {
          start: ['redirect'],
          finish: { method: 'redirect', uri: `${callback}/`, nonce: 'client-nonce' }
        }
      }
    )
    if (!isPendingGrant(pending)) throw new Error('the grant was expected to need the account holder')
    return {
      redirect: pending.interact.redirect,
      async collect(reference) {
        const { uri, access_token: token } = pending.continue
        const grant = await client.grant.continue(
          { url: uri, accessToken: token.value },
          { interact_ref: reference }
        )
        if (!isFinalizedGrantWithAccessToken(grant)) throw new Error('a token was expected')
        const id = uri.split('/').at(-1) ?? ''
        return { id, path: `/allowed/${id}`, pay: (value) => pay(client, grant.access_token.value, value) }
      }
    }
  }
  const pay = async (of: AuthenticatedClient, accessToken: string, value: number): Promise<number> => {
    const { url: incomingPayment } = await createReceiver(system, system.shop)
    try {
      const walletAddress = system.walletAddresses.alice
      const debitAmount = usd(String(value))
      await of.outgoingPayment.create(
        { url: system.resourceServerUrl, accessToken },
        { walletAddress, incomingPayment, debitAmount }
      )
      return 201
    } catch (error) {
      if (error instanceof OpenPaymentsClientError && error.status !== undefined) return error.status
      throw error
    }
  }
  return {
    ask,
    async allow(limits) {
      const { redirect, collect } = await ask(limits)
      const page = await context.newPage()
      await page.goto(redirect)
      if (new URL(page.url()).pathname !== '/consent') await signIn(page, 'alice')
      await leave(page, () => page.click('button[value=allow]'))
      // Much money wants a fresh sign-in.
      if (page.url().startsWith(issuer)) await signIn(page, 'alice')
      const reference = new URL(page.url()).searchParams.get('interact_ref') ?? ''
      await page.close()
      return collect(reference)
    }
  }
}

/** Says who holds an account. */
export function setHolder(
  { system, issuer }: Setting,
  accountName: string,
  sub = accountName
): Promise<unknown> {
  return callUnary(
    system.operator,
    'setAccountHolder',
    { accountName, holder: { issuer, sub } },
    { idempotent: true }
  )
}
