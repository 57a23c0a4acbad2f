import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type AccessItem,
  type AuthenticatedClient,
  type GrantWithAccessToken,
  type IncomingPayment,
  isFinalizedGrantWithAccessToken,
  isPendingGrant,
  type OutgoingPaymentWithSpentAmounts,
  type PendingGrant,
  type Quote,
  type WalletAddress
} from '@interledger/open-payments'
import { openPage } from '@open-payments-server/operator-cli'
import { describeAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import pc from 'picocolors'
import type { StackFile } from '../stack/stack-file.js'
import { acceptForAlice } from './accept.js'
import { isFinishHash, type Finish, startCallback } from './callback.js'
import type { FollowPayment, PaymentEvent } from './follow-payment.js'
import type { Storyteller } from './printing.js'

/** What the payee is to receive, in the smallest units of its asset: 10.00 where it has two decimals. */
export const INCOMING_VALUE = '1000'
const MS_PER_SECOND = 1_000
/** How long alice may take to decide: the auth server's default. */
const CONSENT_TIMEOUT_MS = 600_000

const TIMED_OUT: Finish = { kind: 'ended', result: 'nobody chose within 10 minutes' }

/** Whom the demo pays. */
interface Payee {
  /** As people call it: `Bob`. */
  readonly name: string
  readonly walletAddress: string
  /** What it is to receive, in words: `10.00 USD`. */
  readonly amount: string
}

/** Dependencies of the demo's payment. */
export interface Telling {
  readonly payee: Payee
  readonly client: AuthenticatedClient
  readonly stack: StackFile
  readonly story: Storyteller
  /** Whether consent is given without a person. */
  readonly yes: boolean
  readonly followPayment: FollowPayment
}

/**
 * Pays somebody from alice's wallet as the shop: all steps, from the wallet address to received money.
 *
 * @throws OpenPaymentsClientError for an answer that is an error or breaks the published API; Error when consent is not given
 */
export async function payPayee(telling: Telling): Promise<Pick<IncomingPayment, 'id' | 'receivedAmount'>> {
  const { client, stack, story, followPayment, payee } = telling
  const { name } = payee
  const other = name.toLowerCase()
  story.step(
    `${name}’s wallet address`,
    `Who runs ${other}’s wallet, in which asset, and who gives permission?`
  )
  const address = await client.walletAddress.get({ url: payee.walletAddress })

  story.step(
    'A grant for incoming payments',
    `The shop may ask for money to be paid to ${other}. Nobody has to consent to that.`
  )
  const incomingGrant = await requestGrant(client, address, {
    type: 'incoming-payment',
    actions: ['create', 'read', 'complete']
  })

  story.step('An incoming payment', `What ${other} is to receive: ${payee.amount}.`)
  const { assetCode, assetScale } = address
  const incomingPayment = await client.incomingPayment.create(
    { url: address.resourceServer, accessToken: incomingGrant.access_token.value },
    {
      walletAddress: address.id,
      incomingAmount: { value: INCOMING_VALUE, assetCode, assetScale },
      metadata: { description: 'Order 42' }
    }
  )

  story.step('Alice’s wallet address', 'Who runs the wallet that pays?')
  const alice = await client.walletAddress.get({ url: stack.walletAddresses.alice })
  const quote = await quotePayment(telling, alice, incomingPayment.id)
  const outgoingGrant = await obtainConsent(telling, alice, incomingPayment.id, quote)

  story.step(
    `The shop follows ${other}’s payment`,
    'It need not ask again and again: it is told what happens.'
  )
  const events = await followPayment(incomingPayment.id, incomingGrant.access_token.value)
  await createOutgoingPayment(telling, alice, outgoingGrant, quote)

  story.step('The money arrives', 'The shop is told at once, on the connection that it kept open.')
  return untilCompleted(events, story)
}

/** Reads events until the payment is completed. */
async function untilCompleted(
  events: AsyncIterable<PaymentEvent>,
  story: Storyteller
): Promise<IncomingPayment> {
  for await (const { type, payment } of events) {
    story.note(`${pc.cyan(type)} received ${describeAmount(parseAmount(payment.receivedAmount))}`)
    if (type === 'incoming_payment.completed') return payment
  }
  throw new Error('the events ended before the money arrived')
}

async function quotePayment(
  { client, story, payee }: Telling,
  alice: WalletAddress,
  receiver: string
): Promise<Quote> {
  story.step('A grant for quotes', 'The shop may ask what a payment from alice would cost.')
  const grant = await requestGrant(client, alice, { type: 'quote', actions: ['create', 'read'] })

  story.step('A quote', `What does alice pay, so that ${payee.name.toLowerCase()} receives ${payee.amount}?`)
  return client.quote.create(
    { url: alice.resourceServer, accessToken: grant.access_token.value },
    { walletAddress: alice.id, receiver, method: 'ilp' }
  )
}

async function createOutgoingPayment(
  { client, story }: Telling,
  alice: WalletAddress,
  grant: GrantWithAccessToken,
  quote: Quote
): Promise<OutgoingPaymentWithSpentAmounts> {
  story.step('The outgoing payment', 'The shop pays from alice’s wallet, within what she agreed to.')
  return client.outgoingPayment.create(
    { url: alice.resourceServer, accessToken: grant.access_token.value },
    { walletAddress: alice.id, quoteId: quote.id, metadata: { description: 'Order 42' } }
  )
}

/** Requests a grant that needs no consent. */
async function requestGrant(
  client: AuthenticatedClient,
  walletAddress: WalletAddress,
  access: AccessItem
): Promise<GrantWithAccessToken> {
  const grant = await client.grant.request(
    { url: walletAddress.authServer },
    { access_token: { access: [access] } }
  )
  if (!isFinalizedGrantWithAccessToken(grant)) throw new Error('the grant was not issued at once')
  return grant
}

async function obtainConsent(
  telling: Telling,
  alice: WalletAddress,
  receiver: string,
  quote: Quote
): Promise<GrantWithAccessToken> {
  const { client, story } = telling
  const callback = await startCallback()
  try {
    story.step(
      'A grant for outgoing payments',
      'That is alice’s money: she has to consent, in her own browser.'
    )
    const clientNonce = randomUUID()
    const grant = await client.grant.request(
      { url: alice.authServer },
      {
        access_token: {
          access: [
            {
              type: 'outgoing-payment',
              actions: ['create', 'read'],
              identifier: alice.id,
              limits: { receiver, debitAmount: quote.debitAmount }
            }
          ]
        },
        interact: {
          start: ['redirect'],
          finish: { method: 'redirect', uri: callback.uri, nonce: clientNonce }
        }
      }
    )
    if (!isPendingGrant(grant)) throw new Error('the grant was issued without consent')
    const answeredAt = Date.now()
    const interactRef = await waitForConsent(telling, grant, {
      callback,
      clientNonce,
      grantEndpoint: alice.authServer
    })
    return await continueGrant(telling, grant, interactRef, answeredAt)
  } finally {
    callback.stop()
  }
}

async function waitForConsent(
  { stack, story, yes }: Telling,
  grant: PendingGrant,
  context: {
    callback: { finish: Promise<Finish> }
    clientNonce: string
    grantEndpoint: string
  }
): Promise<string> {
  const { callback, clientNonce, grantEndpoint } = context
  if (yes) {
    story.step('Consent', '--yes: without a page and a person, over the consent API.')
    await acceptForAlice(grant.interact.redirect, stack, story)
  } else {
    const { username, password } = stack.signIn.users.alice ?? { username: 'alice', password: '' }
    story.step('Consent', 'Now you are alice. Open this page, sign in and choose:')
    story.note(pc.underline(grant.interact.redirect))
    story.note(pc.dim(`Sign in with a click, or as ${username} with the password ${password}`))
    openPage(grant.interact.redirect)
  }
  const finish = await Promise.race([callback.finish, delay(CONSENT_TIMEOUT_MS, TIMED_OUT, { ref: false })])
  if (finish.kind === 'ended') {
    throw new Error(
      finish.result === 'grant_rejected' ? 'Alice declined.' : `The interaction ended: ${finish.result}.`
    )
  }
  const { hash, interactRef } = finish
  const parts = { clientNonce, serverNonce: grant.interact.finish, interactRef, grantEndpoint }
  if (!isFinishHash(hash, parts))
    throw new Error('the hash of the finish redirect is not that of this interaction')
  story.note(`${pc.green('✓')} alice accepted, and the hash proves that it was for this very request`)
  return interactRef
}

async function continueGrant(
  { client, story }: Telling,
  grant: PendingGrant,
  interactRef: string,
  answeredAt: number
): Promise<GrantWithAccessToken> {
  const waitMs = answeredAt + (grant.continue.wait ?? 0) * MS_PER_SECOND - Date.now()
  story.step('Continuation', `The shop exchanges the reference for a token, ${waitWords(waitMs)}.`)
  if (waitMs > 0) await delay(waitMs)
  const continued = await client.grant.continue(
    { url: grant.continue.uri, accessToken: grant.continue.access_token.value },
    { interact_ref: interactRef }
  )
  if (!isFinalizedGrantWithAccessToken(continued)) throw new Error('the grant was not issued after consent')
  return continued
}

function waitWords(waitMs: number): string {
  return waitMs > 0
    ? `after the ${(waitMs / MS_PER_SECOND).toFixed(1)} s it was told to wait`
    : 'having waited long enough'
}
