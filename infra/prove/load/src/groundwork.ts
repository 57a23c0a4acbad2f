import {
  amount,
  type ConnectedSystem,
  consentedToken,
  outgoingAccess,
  requestToken
} from '@open-payments-server/acceptance'
import type { RequestOutline, Signer } from './generator/messages.js'
import type { Stack } from './stack.js'

/** Number of incoming payments that are read, listed and paid. */
const RECEIVERS = 200
/** Number of grants that payments are made under. */
const PAYMENT_GRANTS = 50
const MAKING_CONCURRENCY = 8
/** Longer than any run. */
const MAKING_SECONDS_MAX = 240

/** The resources that calls need. */
export interface Groundwork {
  readonly system: ConnectedSystem
  readonly signer: Signer
  /** Token with every right to bob's incoming payments. */
  readonly incomingToken: string
  readonly quoteToken: string
  /** Tokens, each of a separate grant to pay from alice within a limit. */
  readonly paymentTokens: readonly string[]
  /** URLs of bob's incoming payments that accept any amount. */
  readonly receivers: readonly string[]
  /** A grant request that needs no consent. @param client as on the wire */
  grantOutline(client: string | object): RequestOutline
  incomingOutline(index: number): RequestOutline
  quoteOutline(index: number): RequestOutline
  /** Sends requests as fast as possible. Returns the values at paths of the answers. */
  make(
    target: 'auth' | 'resource',
    status: number,
    outlines: readonly RequestOutline[],
    paths: readonly string[]
  ): Promise<readonly (readonly string[])[]>
}

/** Requests grants and creates receivers. */
export async function layGroundwork(stack: Stack): Promise<Groundwork> {
  const { system, generator } = stack
  const { shop, walletAddresses, resourceServerUrl } = system
  const signer: Signer = {
    keyId: shop.key.keyId,
    privateKey: shop.key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  }
  const incomingAccess = {
    type: 'incoming-payment',
    actions: ['create', 'read', 'list', 'complete'],
    identifier: walletAddresses.bob
  }
  const incomingToken = await requestToken(system, shop, [incomingAccess])
  const quoteToken = await requestToken(system, shop, [{ type: 'quote', actions: ['create', 'read'] }])
  const paymentTokens: string[] = []
  for (let count = 0; count < PAYMENT_GRANTS; count += 1) {
    const access = outgoingAccess(system, { debitAmount: amount(1_000_000_000) })
    paymentTokens.push((await consentedToken(system, shop, [access])).token)
  }
  const make: Groundwork['make'] = async (target, status, outlines, capture) => {
    await generator.prepare({ outlines, signer })
    const targets = stack.targetsOf(target)
    const task = { targets, status, capture, concurrency: MAKING_CONCURRENCY, seconds: MAKING_SECONDS_MAX }
    return (await generator.send({ ...task, repeat: false })).captured
  }
  const incomingOutline = (
    index: number,
    body: object = { incomingAmount: amount(100) }
  ): RequestOutline => ({
    method: 'POST',
    url: `${resourceServerUrl}/incoming-payments`,
    accessToken: incomingToken,
    body: { walletAddress: walletAddresses.bob, metadata: { order: index }, ...body }
  })
  const open = Array.from({ length: RECEIVERS }, (_, index) => incomingOutline(index, {}))
  const receivers = (await make('resource', 201, open, ['id'])).map(([id = '']) => id)
  return {
    system,
    signer,
    incomingToken,
    quoteToken,
    paymentTokens,
    receivers,
    make,
    incomingOutline: (index) => incomingOutline(index),
    grantOutline: (client) => ({
      method: 'POST',
      url: system.authServerUrl,
      body: { client, access_token: { access: [incomingAccess] } }
    }),
    quoteOutline: (index) => ({
      method: 'POST',
      url: `${resourceServerUrl}/quotes`,
      accessToken: quoteToken,
      body: {
        walletAddress: walletAddresses.alice,
        receiver: receivers[index % receivers.length],
        method: 'ilp',
        debitAmount: amount(2)
      }
    })
  }
}
