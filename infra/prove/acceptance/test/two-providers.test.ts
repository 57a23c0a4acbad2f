import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Answer, randomSequence, seedOf } from '@open-payments-server/testing'
import { watchLimits } from '../src/limit-watcher.js'
import { eventually } from '../src/payments.js'
import { PATIENT, withPersistentClients } from '../src/patience.js'
import { PEER_NAME } from '../src/peering.js'
import type { Settings } from '../src/plan-system.js'
import { type ProcessSystem, QUICK, startProcessSystem } from '../src/process-system.js'
import { type LimitValues, openCrossing, valueAt, whenEnded } from '../src/providers/crossing.js'
import { compareProviders } from '../src/providers/disagreements.js'
import { OrderBook } from '../src/providers/order-book.js'
import { readPackets } from '../src/providers/packets.js'
import { ORDER_FORMS, ProviderMix } from '../src/providers/provider-mix.js'
import {
  directionsOf,
  DOLLARS,
  EURO_PEER_NAME,
  EUROS,
  FIXED_DOLLAR_FEE,
  peerInTwoAssets,
  UNEQUAL_TERMS,
  YEN
} from '../src/providers/provider-pair.js'
import { amountOf, type Correspondence } from '../src/wallets.js'

const ORDERS = 120

const seed = seedOf('TWO_PROVIDERS_SEED')

const withRedis = process.env.TEST_REDIS_URL === undefined ? describe.skip : describe

withRedis('two installations, each of two instances that need Redis (TEST_REDIS_URL),', () => {
  let one: ProcessSystem
  let another: ProcessSystem
  const started: ProcessSystem[] = []
  const book = new OrderBook()
  beforeAll(async () => {
    const start = async (terms: Settings): Promise<ProcessSystem> => {
      const resource = { ...QUICK.resource, ...PATIENT, ...terms }
      const system = await startProcessSystem({ ...QUICK, resource, instanceCount: 2 })
      started.push(system)
      return withPersistentClients(system)
    }
    one = await start(UNEQUAL_TERMS[0])
    another = await start(UNEQUAL_TERMS[1])
    await peerInTwoAssets({ one, another })
  })
  afterAll(async () => {
    try {
      expect((await compareProviders({ one, another }, book)).disagreements).toEqual([])
    } finally {
      await Promise.all(started.map((system) => system.stop()))
    }
  })

  it(`agree to the unit after ${String(ORDERS)} orders of every kind in both directions`, async () => {
    const mix = await ProviderMix.prepare({ one, another }, book, randomSequence(seed))
    const watches = [one, another].map(({ authDatabase }) => watchLimits(authDatabase))
    await mix.run(ORDERS).finally(() => Promise.all(watches.map((watch) => watch.stop())))
    const { disagreements, figures } = await compareProviders({ one, another }, book)
    expect(watches.flatMap(({ violations }) => violations)).toEqual([])
    console.log({ ...figures, answers: Object.fromEntries(mix.answers) })
    expect({ disagreements, wrong: mix.wrong }).toEqual({ disagreements: [], wrong: [] })
    expect(figures.completed).toBeGreaterThan(ORDERS / 4)
    expect(figures.partial).toBeGreaterThan(0)
    for (const form of ORDER_FORMS) expect(mix.answers.get(`${form} 201`)).toBeGreaterThan(0)
  })

  it('send in the asset of the payer where they are peers in it, and in another one where they are not', async () => {
    for (const direction of directionsOf({ one, another })) {
      for (const [from, peerName] of [
        [DOLLARS, PEER_NAME],
        [EUROS, EURO_PEER_NAME],
        [YEN, PEER_NAME]
      ] as const) {
        const by = await openCrossing(direction, book, { from, to: EUROS })
        const receiver = await book.createReceiver(by)
        const paid = book.keep(by, await by.pay(receiver, amountOf(by.from, 1_000n)))
        expect((await whenEnded(by, paid)).at('failed')).toBe(false)
        const { sent } = await readPackets(direction)
        const own = sent.filter(({ paymentId }) => paid.textAt('id').endsWith(paymentId))
        expect(new Set(own.map(({ peer }) => peer))).toEqual(new Set([peerName]))
      }
    }
  })

  it.each<[string, LimitValues]>([
    ['debited', { debit: 1_000n }],
    ['received', { receive: 1_000n }]
  ])('refuse what would take what is %s beyond the limit of a grant, as at home', async (_what, limits) => {
    const order = { from: DOLLARS, to: DOLLARS, limits }
    const abroad = await openCrossing({ sender: another, receiver: one }, book, order)
    const atHome = await openCrossing({ sender: another, receiver: another }, book, order)
    const refusalsOf = async (by: Correspondence): Promise<Answer[]> => {
      const receiver = await book.createReceiver(by)
      expect(book.keep(by, await by.pay(receiver, amountOf(by.from, 600n))).status).toBe(201)
      const quote = await by.quote(receiver, { receiveAmount: amountOf(by.to, 401n) })
      const above = [await by.pay(receiver, amountOf(by.from, 401n)), await by.payQuote(quote)]
      expect(book.keep(by, await by.pay(receiver, amountOf(by.from, 400n))).status).toBe(201)
      return [...above, await by.pay(receiver, amountOf(by.from, 1n))]
    }
    const refusals = await refusalsOf(abroad)
    expect(refusals.map(({ status }) => status)).toEqual([403, 403, 403])
    const bodiesOf = (answers: readonly Answer[]): unknown[] => answers.map(({ body }) => body)
    expect(bodiesOf(refusals)).toEqual(bodiesOf(await refusalsOf(atHome)))
  })

  it.each([
    [DOLLARS, DOLLARS],
    [DOLLARS, EUROS],
    [EUROS, DOLLARS],
    [YEN, EUROS]
  ])('deliver a part of %j to a receiver of %j that lacks less, and give the rest back', async (from, to) => {
    // For both quotes, and for nothing more.
    const draft = await openCrossing({ sender: one, receiver: another }, book, { from, to })
    const [first, second] = await quoteTwice(draft)
    const debit = valueAt(first, 'debitAmount') + valueAt(second, 'debitAmount')
    const by = await openCrossing({ sender: one, receiver: another }, book, { from, to, limits: { debit } })

    const [whole, part, receiver] = await quoteTwice(by)
    const ended = await whenEnded(by, book.keep(by, await by.payQuote(whole)))
    expect(ended.body).toMatchObject({ failed: false, sentAmount: whole.at('debitAmount') })
    const failed = await whenEnded(by, book.keep(by, await by.payQuote(part)))
    expect(failed.at('failed')).toBe(true)
    expect(valueAt(await by.read('incoming', receiver), 'receivedAmount')).toBe(TAKEN)
    const sent = valueAt(failed, 'sentAmount')
    const [partDebit, partReceive] = [valueAt(part, 'debitAmount'), valueAt(part, 'receiveAmount')]
    // The fixed part of the fee is paid whole, and the rest is shared.
    const fixedFee = from === DOLLARS ? FIXED_DOLLAR_FEE : 0n
    const shared = (partDebit - fixedFee) * (TAKEN - QUOTED)
    expect(sent).toBe(fixedFee + (shared + partReceive - 1n) / partReceive)

    const open = await book.createReceiver(by)
    const left = partDebit - sent
    expect((await by.pay(open, amountOf(by.from, left + 1n))).status).toBe(403)
    expect(book.keep(by, await by.pay(open, amountOf(by.from, left))).status).toBe(201)
  })

  it('deliver a part to a receiver that is completed midway', async () => {
    const by = await openCrossing({ sender: another, receiver: one }, book, { from: DOLLARS, to: DOLLARS })
    const receiver = await book.createReceiver(by)
    // Many packets.
    const paid = book.keep(by, await by.pay(receiver, amountOf(by.from, 400_000n)))
    const received = async (): Promise<bigint> =>
      valueAt(await by.read('incoming', receiver), 'receivedAmount')
    await eventually('something arrives', async () => (await received()) > 0n)
    expect((await by.complete(receiver)).status).toBe(200)
    const ended = await whenEnded(by, paid)
    expect(ended.at('failed')).toBe(true)
    expect(valueAt(ended, 'sentAmount')).toBe(await received())
    expect(await received()).toBeLessThan(400_000n)
  })

  /** What a receiver takes, and what each of two quotes delivers. */
  const [TAKEN, QUOTED] = [1_000n, 700n]

  async function quoteTwice(by: Correspondence): Promise<[Answer, Answer, string]> {
    const receiver = await book.createReceiver(by, TAKEN)
    const quote = (): Promise<Answer> => by.quote(receiver, { receiveAmount: amountOf(by.to, QUOTED) })
    return [await quote(), await quote(), receiver]
  }
})
