import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import { type Answer, createTestKey } from '@open-payments-server/testing'
import { type OtherProvider, startOtherProvider } from './other-provider.js'
import { createPeers, PEER_SETTINGS, type TestPeers } from './paying-peer.js'
import { ALICE, type PaymentWorld, startPaymentWorld, usd } from './payment-world.js'
import { type ReceivingPeer, startReceivingPeer } from './receiving-peer.js'
import type { TestResourceServerOptions } from './resource-server.js'

/** What payments to the peer are in. */
export const USD = { code: 'USD', scale: 2 }

/** How often the clock of the service is moved, in milliseconds. */
export const TICK_MS = 10

/** The resource server beside another provider whose incoming payments are paid, and a peer that takes the packets for them. */
export interface SendingWorld extends PaymentWorld {
  readonly peers: TestPeers
  /** Takes packets, in US dollars. */
  readonly peer: ReceivingPeer
  /** Name of the peer. */
  readonly name: string
  /** Shows one incoming payment. */
  readonly provider: OtherProvider
  /** How much later the service believes that it is, in milliseconds. */
  aheadMs: number
  /** Resolves once the service believes so. */
  whenAhead(): Promise<void>
  /** Makes the payment at the other provider another one, which takes this much or any amount. Answers its id at the peer. */
  ask(incomingValue?: bigint): string
  /** Quotes that payment, for alice; further fields take precedence. */
  quote(more?: object): Promise<Answer>
  payQuote(quoteId: string): Promise<Answer>
  /** What is owed to the peer. */
  owed(): Promise<bigint>
  /** Sets the most that may be owed to the peer; nothing for any amount. */
  limit(payableLimitValue: string): Promise<unknown>
}

/** Starts it, with a clock that ticks: pauses end as time passes. */
export async function startSendingWorld({
  settings,
  ...options
}: TestResourceServerOptions = {}): Promise<SendingWorld> {
  const key = createTestKey('provider')
  const jwk = { ...key.privateKey.export({ format: 'jwk' }), kid: key.keyId }
  const world = await startPaymentWorld({
    ...options,
    settings: { ...PEER_SETTINGS, PROVIDER_KEYS: JSON.stringify({ keys: [jwk] }), ...settings }
  })
  const peers = createPeers(world)
  const peer = await startReceivingPeer(world.clock)
  const provider = await startOtherProvider(exportEd25519Jwk(key.privateKey, key.keyId), world.clock)
  const { name } = await peers.create({ endpoint: peer.endpoint, ilpAddress: peer.ilpAddress })
  const sending: SendingWorld = {
    ...world,
    peers,
    peer,
    name,
    provider,
    aheadMs: 0,
    async whenAhead() {
      while (world.clock.now() < Date.now() + sending.aheadMs - TICK_MS * 10) await delay(1)
    },
    ask(incomingValue) {
      const id = randomUUID()
      if (incomingValue !== undefined) peer.limit(id, incomingValue)
      provider.payment = {
        ...provider.payment,
        completed: false,
        expiresAt: '2099-04-12T23:20:50.520Z',
        incomingAmount: incomingValue === undefined ? undefined : usd(incomingValue),
        receivedAmount: usd(0),
        methods: [peer.methodOf(id, USD)]
      }
      return id
    },
    quote: (more = {}) =>
      world.request('POST', '/quotes', {
        body: { walletAddress: ALICE, receiver: provider.url, method: 'ilp', ...more }
      }),
    payQuote: (quoteId) =>
      world.request('POST', '/outgoing-payments', {
        body: { walletAddress: ALICE, quoteId },
        signature: { nonce: randomUUID() }
      }),
    owed: async () => BigInt((await peers.operate('getPeer', { name })).peer?.payableValue ?? ''),
    limit: (payableLimitValue) => peers.operate('updatePeer', { name, payableLimitValue, routes: undefined }),
    async stop() {
      clearInterval(ticking)
      await Promise.all([peer.stop(), provider.stop()])
      peers.close()
      await world.stop()
    }
  }
  const ticking = setInterval(() => {
    world.clock.set(Date.now() + sending.aheadMs)
  }, TICK_MS)
  return sending
}
