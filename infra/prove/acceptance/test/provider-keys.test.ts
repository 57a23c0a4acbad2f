import { generateKeyPairSync, type JsonWebKey, randomBytes } from 'node:crypto'
import { callUnary } from '@open-payments-server/grpc-transport'
import { type Answer, RunningTestClock, send } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { converged, eventually } from '../src/payments.js'
import { PEER_NAME } from '../src/peering.js'
import type { Settings } from '../src/plan-system.js'
import { openCrossing } from '../src/providers/crossing.js'
import { compareProviders } from '../src/providers/disagreements.js'
import { OrderBook } from '../src/providers/order-book.js'
import { DOLLARS, peerInTwoAssets } from '../src/providers/provider-pair.js'
import { startSystem, type System } from '../src/system.js'
import { amountOf, type Correspondence } from '../src/wallets.js'

/** Longer than any published key is cached, in seconds. */
const CACHED_SECONDS = 61
/** Longer than anything that a key signed can be verified, in seconds. */
const SIGNED_SECONDS = 301
/** Longer than an attempt goes on without a fulfillment, in seconds. */
const STALLED_SECONDS = 31
const ENDED_WITHIN_MS = 60_000
/** Many packets: what is under way at a restart is some of them. */
const DEBIT = 20_000n
const TIME_LIMIT_MS = 300_000

const OVERLAP_SECONDS = 3_600
const REPEATABLE = { idempotent: true }

const newKey = (kid: string): JsonWebKey => ({
  ...generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }),
  kid
})
const [FIRST, SECOND] = [newKey('first'), newKey('second')]
const settingsWith = (...keys: readonly JsonWebKey[]): Settings => ({
  PROVIDER_KEYS: JSON.stringify({ keys })
})

describe('while payments are under way to another provider,', () => {
  const clock = new RunningTestClock()
  const book = new OrderBook()
  const started: { stop(): Promise<void> }[] = []
  let sender: System
  let receiver: System
  let by: Correspondence
  let open: string
  beforeAll(async () => {
    started.push((sender = await startSystem({ clock, resource: settingsWith(FIRST) })))
    started.push((receiver = await startSystem({ clock })))
    await peerInTwoAssets({ one: sender, another: receiver })
    by = await openCrossing({ sender, receiver }, book, { from: DOLLARS, to: DOLLARS })
    open = await book.createReceiver(by)
  }, TIME_LIMIT_MS)
  afterEach(async () => {
    // It decides about packets of which nothing is known: there must be none.
    await converged(sender, ENDED_WITHIN_MS)
    expect(await sender.resourceDatabase.query(NOT_WHOLE)).toEqual([])
    expect((await compareProviders({ one: sender, another: receiver }, book)).disagreements).toEqual([])
  }, TIME_LIMIT_MS)
  afterAll(() => Promise.all(started.map((each) => each.stop())))

  const tryToOrder = async (): Promise<Answer> => book.keep(by, await by.pay(open, amountOf(by.from, DEBIT)))
  async function order(): Promise<void> {
    const { status, text } = await tryToOrder()
    expect([status, text]).toEqual([201, expect.stringContaining('debitAmount')])
  }

  const newToken = (): string => randomBytes(24).toString('hex')
  /** Lets the receiver accept a token, and those before it for so much longer. */
  const accept = (incomingToken: string, overlapSeconds: number) =>
    callUnary(
      receiver.peers,
      'rotatePeerToken',
      { name: PEER_NAME, incomingToken, overlapSeconds },
      REPEATABLE
    )
  /** Lets the sender present a token. */
  const present = (outgoingToken: string) =>
    callUnary(sender.peers, 'updatePeer', { name: PEER_NAME, outgoingToken, routes: undefined }, REPEATABLE)
  /** Number of tokens that the receiver accepts. */
  const acceptedCount = async (): Promise<number | undefined> =>
    (await callUnary(receiver.peers, 'getPeer', { name: PEER_NAME }, REPEATABLE)).peer?.incomingTokens.length

  /** Orders some payments. Resolves while they are under way. */
  async function beginSome(): Promise<void> {
    await Promise.all(Array.from({ length: 3 }, order))
    expect(await pendingCount()).toBeGreaterThan(0)
  }

  async function pendingCount(): Promise<number> {
    return (await sender.resourceDatabase.query(`select 1 from outgoing_payment where state = 'pending'`))
      .length
  }

  /** Lets time pass in which no packet is under way. */
  async function pass(seconds: number): Promise<void> {
    await converged(sender, ENDED_WITHIN_MS)
    clock.advanceSeconds(seconds)
    await book.renewTokens()
  }

  /** Number of grants that the sender got for reading what is paid. */
  async function grantsGiven(): Promise<number> {
    const own = [`${sender.resourceServerUrl}/.well-known/pay`]
    return (
      await receiver.authDatabase.query('select 1 from grant_request where client_wallet_address = $1', own)
    ).length
  }

  async function publishedKeys(): Promise<string[]> {
    const answer = await send('GET', `${sender.resourceServerUrl}/.well-known/pay/jwks.json`)
    const keys = answer.at('keys') as { kid: string }[]
    return keys.map(({ kid }) => kid)
  }

  it(
    'the keys of a provider are changed in three steps: all that is ordered arrives, with the one grant that there was',
    async () => {
      await order()
      for (const [kids, seconds] of [
        [['first', 'second'], CACHED_SECONDS],
        [['second', 'first'], SIGNED_SECONDS],
        [['second'], CACHED_SECONDS]
      ] as const) {
        await beginSome()
        const keys = kids.map((kid) => (kid === 'first' ? FIRST : SECOND))
        await sender.restartResourceServers(settingsWith(...keys))
        expect(await publishedKeys()).toEqual(kids)
        await order()
        await pass(seconds)
        await order()
        expect([kids, await grantsGiven()]).toEqual([kids, 1])
      }
    },
    TIME_LIMIT_MS
  )

  it(
    'a key that nobody has seen replaces all others at once: what was ordered arrives, and what is refused until it is looked for is no payment',
    async () => {
      await beginSome()
      await sender.restartResourceServers(settingsWith(newKey('unseen')))
      expect(await publishedKeys()).toEqual(['unseen'])
      const refused = new Set<number>()
      await eventually('it is looked for', async () => {
        const { status } = await tryToOrder()
        if (status !== 201) refused.add(status)
        return status === 201
      })
      expect([...refused].filter((status) => status !== 400)).toEqual([])
      await pass(CACHED_SECONDS)
      await order()
    },
    TIME_LIMIT_MS
  )

  it(
    'the tokens of a peer are changed without a gap: all that is ordered arrives',
    async () => {
      const token = newToken()
      await beginSome()
      await accept(token, OVERLAP_SECONDS)
      await beginSome()
      await present(token)
      await beginSome()
      await pass(OVERLAP_SECONDS)
      await order()
      expect(await acceptedCount()).toBe(1)
    },
    TIME_LIMIT_MS
  )

  it.each([
    ['the old one ends before the new one is presented', true],
    ['the new one is presented before it is accepted', false]
  ])(
    'the tokens of a peer are changed with a gap, as %s: what was ordered waits, and arrives',
    async (_how, isAcceptedFirst) => {
      const token = newToken()
      const steps = [() => accept(token, 0), () => present(token)]
      const [first, second] = isAcceptedFirst ? steps : steps.toReversed()
      await beginSome()
      await first?.()
      await eventually('nothing is taken', async () => (await tryToOrder()).status === 503)
      await second?.()
      await eventually('it is taken again', async () => (await tryToOrder()).status === 201)
      // Attempts that present what is not accepted end, and others go on.
      clock.advanceSeconds(STALLED_SECONDS)
      await converged(sender, ENDED_WITHIN_MS)
      expect(await acceptedCount()).toBe(1)
    },
    TIME_LIMIT_MS
  )
})

/** Payments that did not arrive whole and by themselves. */
const NOT_WHOLE = `
  select p.id, p.state::text, p.failure_reason, k.outcome, k.decided_by
    from outgoing_payment p
    left join sent_packet k on k.payment_id = p.id and (k.outcome = 'unknown' or k.decided_by is not null)
   where p.state::text <> 'completed' or k.payment_id is not null`
