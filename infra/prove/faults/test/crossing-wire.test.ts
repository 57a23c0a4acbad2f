import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { consentedToken, converged, createReceiver, outgoingAccess } from '@open-payments-server/acceptance'
import { seedOf, wholeNumber, type RandomSequence, randomSequence } from '@open-payments-server/testing'
import { balances, type CrossingLoads, keepDeciding, wrongs } from '../src/crossing-loads.js'
import { type CrossingDirection, type CrossingSystem, startCrossingSystem } from '../src/crossing-system.js'
import { CrossingWays, CUT_PACKET_VALUE } from '../src/crossing-ways.js'
import { createOtherReader } from '../src/other-reader.js'
import { type Order, PaymentLoad } from '../src/payment-load.js'

/** Payments in each direction. */
const PAYMENTS = 80
/** Payments at a time, in each direction. */
const PAYERS = 6
/** Packets of which nothing is known must expire before they are decided, and payments go on after that. */
const CONVERGED_WITHIN_MS = 180_000
const TIME_LIMIT_MS = 600_000

/** What a provider asks another one to find out what it is to pay: for the payment as anyone sees it, for a grant, and for the payment. */
const ASKED: readonly string[] = [
  'GET /incoming-payments/…',
  'POST /',
  'GET /incoming-payments/… with credentials'
].flatMap((what) => [`${what} request`, `${what} answer`])

/** Readings at a time. */
const READERS = 12

const seed = seedOf('WIRE_TEST_SEED')

describe('between two providers that pay each other, a wire', () => {
  const ways = new CrossingWays(seed)
  let system: CrossingSystem
  let directions: readonly [CrossingDirection, CrossingDirection]
  beforeAll(async () => {
    system = await startCrossingSystem(ways)
    const { sender, receiver } = system
    directions = [system, { sender: receiver, receiver: sender }]
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    await system.stop()
    await ways.stop()
  })

  it(
    `that cuts, resets, stalls, delays, reorders, doubles and truncates packets and all else loses no money of ${String(2 * PAYMENTS)} payments, and leaves both of one mind`,
    async () => {
      const random = randomSequence(seed)
      const proxies = [...ways.random.packets, ...ways.random.documents]
      const crossings = await Promise.all(directions.map((direction) => prepare(direction, 'random faults')))
      const orders = await Promise.all(crossings.map((crossing) => ordersOf(crossing, random)))

      for (const proxy of proxies) proxy.disturb()
      await Promise.all(orders.map(sendAll))
      for (const proxy of proxies) proxy.heal()
      const ended = await Promise.all(crossings.map(end))
      const decided = sumOf(ended)
      const counts = { packets: ways.countsOf('packets'), documents: ways.countsOf('documents') }
      const loads = crossings.flatMap(({ loads: { inDollars, inEuros } }) => [inDollars, inEuros])
      console.log({ counts, decided, answers: loads.map(({ statuses }) => statuses) })

      expect(ended.flatMap(({ wrong }) => wrong)).toEqual([])
      for (const count of Object.values(counts.packets)) expect(count).toBeGreaterThan(0)
      // How many documents are read depends on how often payments must look again: no fault comes twice before each came once.
      expect(Object.values(counts.documents).filter((count) => count > 0).length).toBeGreaterThan(10)
      expect(decided.arrived).toBeGreaterThan(0)
      expect(decided.lost).toBeGreaterThan(0)
      expect(await reorderedPackets(directions)).toBeGreaterThan(0)
      const confirmed = loads.reduce((sum, load) => sum + load.confirmed.length, 0)
      expect(confirmed).toBeGreaterThan(2 * PAYMENTS * 0.8)
    },
    TIME_LIMIT_MS
  )

  it(
    'that breaks off at every place of a packet and of its answer leaves both of one mind',
    async () => {
      const crossings = await Promise.all(directions.map((direction) => prepare(direction, 'cuts')))
      const open = await Promise.all(
        crossings.map(({ direction: { receiver } }) => createReceiver(receiver, receiver.shop))
      )
      for (const proxy of ways.cutting.packets) proxy.disturb()
      const isOver = (): boolean =>
        ways.cutting.packets.every(({ finished }) => finished.includes('packet answer'))
      const deadline = Date.now() + TIME_LIMIT_MS / 2
      const payer = async (index: number): Promise<void> => {
        const crossing = crossings[index % 2]
        const receiver = open[index % 2]
        if (crossing === undefined || receiver === undefined) throw new Error('there are two directions')
        const { token, inDollars } = crossing.loads
        while (!isOver() && Date.now() < deadline) {
          await inDollars.send(inDollars.order({ token, receiver: receiver.url, debit: CUT_PACKET_VALUE }))
        }
      }
      await Promise.all(Array.from({ length: 2 * PAYERS }, (_, index) => payer(index)))
      for (const proxy of ways.cutting.packets) proxy.heal()
      const ended = await Promise.all(crossings.map(end))
      console.log({ counts: ways.cutting.packets.map(({ counts }) => counts), decided: sumOf(ended) })

      expect(ended.flatMap(({ wrong }) => wrong)).toEqual([])
      for (const { finished } of ways.cutting.packets) {
        expect(finished).toEqual(['packet request', 'packet answer'])
      }
    },
    TIME_LIMIT_MS
  )

  it(
    'that breaks off at every place of what providers ask each other before they pay is told apart from an answer',
    async () => {
      const { sender, receiver } = system
      const { url } = await createReceiver(receiver, receiver.shop, { incoming: 1_234n })
      const reader = await createOtherReader(sender)
      const whole = await reader.read(url)
      expect(whole).toMatchObject({ kind: 'found', receiver: { incomingValue: 1_234n } })
      for (const proxy of ways.cutting.documents) proxy.disturb()
      const results = new Map<string, number>()
      const finished = (): string[] => ways.cutting.documents.flatMap((proxy) => [...proxy.finished])
      const isOver = (): boolean => ASKED.every((kind) => finished().includes(kind))
      const deadline = Date.now() + TIME_LIMIT_MS / 2
      const read = async (): Promise<void> => {
        while (!isOver() && Date.now() < deadline) {
          const reading = await reader.read(url)
          if (reading.kind === 'found') expect(reading).toEqual(whole)
          results.set(reading.kind, (results.get(reading.kind) ?? 0) + 1)
        }
      }
      await Promise.all(Array.from({ length: READERS }, read))
      for (const proxy of ways.cutting.documents) proxy.heal()
      console.log({ counts: ways.cutting.documents.map(({ counts }) => counts), results })

      expect(finished()).toEqual(expect.arrayContaining([...ASKED]))
      expect([...results.keys()].sort()).toEqual(['found', 'unreachable'])
      expect(await reader.read(url)).toEqual(whole)
      await reader.close()
    },
    TIME_LIMIT_MS
  )
})

/** Payments in a direction, and what there was before them. */
interface Crossing {
  readonly direction: CrossingDirection
  readonly loads: CrossingLoads
  readonly before: Awaited<ReturnType<typeof balances>>
  readonly endDecisions: Awaited<ReturnType<typeof keepDeciding>>
}

async function prepare(direction: CrossingDirection, name: string): Promise<Crossing> {
  const { sender } = direction
  const { token } = await consentedToken(sender, sender.shop, [outgoingAccess(sender)])
  return {
    direction,
    loads: {
      inDollars: new PaymentLoad(sender, sender.shop, `${name}, in dollars`),
      inEuros: new PaymentLoad(sender, sender.shop, `${name}, in euros`),
      token
    },
    before: await balances(direction),
    endDecisions: await keepDeciding(direction)
  }
}

interface LoadOrder {
  readonly load: PaymentLoad
  readonly order: Order
}

/** Where payments go: most to receivers that take any amount, others to some that several payments fill. */
async function ordersOf(
  { direction: { receiver }, loads: { inDollars, inEuros, token } }: Crossing,
  random: RandomSequence
): Promise<LoadOrder[]> {
  const open = await createReceiver(receiver, receiver.shop)
  const small = await createReceiver(receiver, receiver.shop, { incoming: 400n })
  const euros = await createReceiver(receiver, receiver.shop, { wallet: 'carol' })
  return Array.from({ length: PAYMENTS }, (_, count) => {
    const [load, { url }] = count % 4 === 0 ? [inEuros, euros] : [inDollars, count % 10 === 1 ? small : open]
    return { load, order: { token, receiver: url, debit: BigInt(wholeNumber(random, 30, 400)) } }
  })
}

async function sendAll(orders: readonly LoadOrder[]): Promise<void> {
  const left = [...orders]
  const payer = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const payment = next.load.order(next.order)
      // Without an answer of the receiver the payment cannot be priced.
      for (let times = 0; times < 5 && payment.answers.at(-1)?.status !== 201; times += 1)
        await next.load.send(payment)
    }
  }
  await Promise.all(Array.from({ length: PAYERS }, payer))
}

/** Waits until all payments ended, and finds everything that is wrong then. */
async function end({ direction, loads, before, endDecisions }: Crossing) {
  await converged(direction.sender, CONVERGED_WITHIN_MS)
  const decided = await endDecisions()
  return { decided, wrong: await wrongs(direction, { loads, before, decided }) }
}

function sumOf(ended: readonly { readonly decided: { readonly arrived: number; readonly lost: number } }[]) {
  return ended.reduce(
    (sum, { decided }) => ({ arrived: sum.arrived + decided.arrived, lost: sum.lost + decided.lost }),
    { arrived: 0, lost: 0 }
  )
}

/** How many packets were answered before an earlier one of their payment. */
async function reorderedPackets(directions: readonly CrossingDirection[]): Promise<number> {
  const counts = await Promise.all(
    directions.map(({ sender }) =>
      sender.resourceDatabase.query<{ count: number }>(
        `select count(*)::int as count from sent_packet k
          where k.answered_at is not null and k.decided_by is null and exists (
            select from sent_packet earlier where earlier.payment_id = k.payment_id and earlier.sequence < k.sequence
               and earlier.answered_at > k.answered_at and earlier.decided_by is null)`
      )
    )
  )
  return counts.reduce((sum, [row]) => sum + (row?.count ?? 0), 0)
}
