import { randomUUID } from 'node:crypto'
import { createLogger, systemClock, systemRandom } from '@open-payments-server/runtime'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createResourceUrls } from '../src/domain/resource-urls.js'
import { createLocalPayments } from '../src/features/process-outgoing-payments/local-payments.js'
import { openDatabase } from './support/open-database.js'
import { ALICE, BOB, PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld()
})
afterEach(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(() => world.stop())

const times = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

const read = (url: string) => world.request('GET', url.slice(PUBLIC_URL.length))

describe('many at once', () => {
  it('twelve payers of one incoming payment never bring it above its maximum', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(1000) })
    const spent = world.limits.spent(world.token)
    const answers = await times(12, () => world.pay(receiver, 150))
    const created = answers.filter(({ status }) => status === 201)
    expect(answers.filter(({ status }) => ![201, 400].includes(status))).toEqual([])
    expect(created.length).toBeGreaterThanOrEqual(6)
    const ended = await Promise.all(created.map((answer) => world.whenEnded(answer.textAt('id'))))
    const sent = ended.reduce((sum, answer) => sum + BigInt(answer.textAt('sentAmount.value')), 0n)
    const received = BigInt((await read(receiver)).textAt('receivedAmount.value'))
    expect(received).toBeLessThanOrEqual(1000n)
    expect(sent).toBe(received)
    await world.whenDelivered()
    expect(world.limits.spent(world.token).debited - spent.debited).toBe(sent)
  })

  it('ten payments from one quote make one', async () => {
    const quoteId = await world.createQuote(await world.createReceiver({ incomingAmount: usd(777) }))
    const spent = world.limits.spent(world.token)
    const answers = await times(10, () =>
      world.request('POST', '/outgoing-payments', {
        body: { walletAddress: ALICE, quoteId },
        signature: { nonce: randomUUID() }
      })
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    const refused = answers.filter(({ status }) => status !== 201)
    expect(new Set(refused.map((answer) => answer.at('error.description')))).toEqual(
      new Set(['invalid quote'])
    )
    await world.whenDelivered()
    expect(world.limits.spent(world.token).debited - spent.debited).toBe(777n)
  })

  it('payments that together exceed the balance: as many are paid as it covers', async () => {
    const receiver = await world.createReceiver()
    const available = await world.available('alice')
    const each = available / 5n
    const answers = await times(12, () => world.pay(receiver, each))
    const ended = await Promise.all(answers.map((answer) => world.whenEnded(answer.textAt('id'))))
    const paid = ended.filter((answer) => answer.at('failed') === false)
    expect(paid).toHaveLength(5)
    expect(await world.available('alice')).toBe(available - 5n * each)
    await world.operate('deposit', {
      depositId: randomUUID(),
      accountName: 'alice',
      value: String(5n * each)
    })
  })

  it('streams of payments in opposite directions, processed by several replicas, all end', async () => {
    const [toBob, toAlice] = [
      await world.createReceiver({ walletAddress: BOB }),
      await world.createReceiver({ walletAddress: ALICE })
    ]
    const replica = createLocalPayments({
      database: openDatabase(world.server.pool),
      urls: createResourceUrls(PUBLIC_URL),
      clock: systemClock,
      random: systemRandom,
      logger: createLogger({ service: 'replica', level: 'silent' }),
      counters: { countEnded: () => undefined, countIncomingCompleted: () => undefined },
      holdsFrozen: true
    })
    const before = (await world.available('alice')) + (await world.available('bob'))
    let creating = true
    const processing = times(2, async () => {
      while (creating) await replica.processPending(3)
    })
    const answers = await times(120, (index) =>
      index % 2 === 0 ? world.pay(toBob, 7) : world.pay(toAlice, 5, { walletAddress: BOB })
    )
    const ended = await Promise.all(answers.map((answer) => world.whenEnded(answer.textAt('id'))))
    creating = false
    await processing
    expect(ended.filter((answer) => answer.at('failed') !== false)).toEqual([])
    expect((await read(toBob)).at('receivedAmount')).toEqual(usd(7 * 60))
    expect((await read(toAlice)).at('receivedAmount')).toEqual(usd(5 * 60))
    expect((await world.available('alice')) + (await world.available('bob'))).toBe(before)
  })
})
