import { randomUUID } from 'node:crypto'
import {
  createPurgeRepository,
  type PurgedBatch,
  type PurgeRepository
} from '@open-payments-server/service-kit/purge'
import { scrapeMetrics } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { ExpiringKind } from '../src/domain/counters.js'
import { purgeIncomingPayments } from '../src/modules/incoming-payments/index.js'
import { purgeQuotes } from '../src/modules/quotes/index.js'
import { openDatabase } from './support/open-database.js'
import { ALICE, BOB, type PaymentWorld, PUBLIC_URL, startPaymentWorld, usd } from './support/payment-world.js'

const DAY_MS = 86_400_000
const RETENTION_DAYS = 30

let world: PaymentWorld
let repository: PurgeRepository<ExpiringKind>

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { PURGE_INTERVAL_SECONDS: '0', SWEEP_INTERVAL_SECONDS: '3600', METRICS_PORT: '0' }
  })
  repository = createPurgeRepository(openDatabase(world.server.pool), {
    quote: purgeQuotes,
    'incoming-payment': purgeIncomingPayments
  })
})
afterAll(() => world.stop())
afterEach(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})

const idOf = (url: string): string => url.slice(-36)

const rangeOf = (countMax: number) => ({
  nowMs: Date.now(),
  retentionSeconds: (RETENTION_DAYS * DAY_MS) / 1_000,
  countMax
})

/** Runs one purge until nothing is left to delete. */
async function purge(kind: ExpiringKind): Promise<number> {
  let total = 0
  for (;;) {
    const { lookedAt, purged } = await repository.purge(kind, rangeOf(100))
    total += purged
    if (lookedAt === 0) return total
  }
}

/** Makes a row expire this many days ago, with the timestamp of the last check at its creation. */
async function expire(table: 'quote' | 'incoming_payment', url: string, days: number): Promise<void> {
  await world.database.query(
    `update ${table} set created_at = now() - make_interval(days => 1000), alive_until = now() - make_interval(days => 1000),
                         expires_at = now() - make_interval(days => $2) where id = $1`,
    [idOf(url), days]
  )
}

const read = async (url: string): Promise<number> =>
  (await world.request('GET', url.slice(PUBLIC_URL.length))).status

/** A payment on a quote, from its creation to its end. */
async function paidQuote(): Promise<{ quote: string; payment: string; receiver: string }> {
  const receiver = await world.createReceiver()
  const quote = await world.createQuote(receiver, { debitAmount: usd(10) })
  const created = await world.request('POST', '/outgoing-payments', {
    body: { walletAddress: ALICE, quoteId: quote }
  })
  const payment = created.textAt('id')
  await world.whenEnded(payment)
  return { quote, payment, receiver }
}

describe('a quote', () => {
  it('that nobody used goes, unless it expired lately', async () => {
    const receiver = await world.createReceiver()
    const [old, recent] = [
      await world.createQuote(receiver, { debitAmount: usd(10) }),
      await world.createQuote(receiver, { debitAmount: usd(11) })
    ]
    await expire('quote', old, 31)
    await expire('quote', recent, 29)
    expect(await purge('quote')).toBe(1)
    expect([await read(old), await read(recent)]).toEqual([404, 200])
    expect(await repository.purge('quote', rangeOf(10))).toEqual({ lookedAt: 0, purged: 0 })
  })

  it('that a payment used stays for good, and is not looked at again', async () => {
    const { quote } = await paidQuote()
    await expire('quote', quote, 400)
    expect(await repository.purge('quote', rangeOf(10))).toEqual({ lookedAt: 1, purged: 0 })
    expect(await repository.purge('quote', rangeOf(10))).toEqual({ lookedAt: 0, purged: 0 })
    expect(await read(quote)).toBe(200)
  })

  it('that is gone is answered as one that never was, when somebody pays with it', async () => {
    const created = await world.createQuote(await world.createReceiver(), { debitAmount: usd(10) })
    const quote = await world.createQuoteElsewhere(created)
    await expire('quote', quote, 31)
    await purge('quote')
    const answer = await world.request('POST', '/outgoing-payments', {
      body: { walletAddress: ALICE, quoteId: quote }
    })
    expect([answer.status, answer.textAt('error.description')]).toEqual([400, 'invalid quote'])
  })
})

describe('an incoming payment', () => {
  it('that never received anything goes, unless it expired lately', async () => {
    const [old, recent, living] = [
      await world.createReceiver(),
      await world.createReceiver(),
      await world.createReceiver()
    ]
    await expire('incoming_payment', old, 31)
    await expire('incoming_payment', recent, 29)
    await world.database.query(
      'update incoming_payment set alive_until = now() - make_interval(days => 31) where id = $1',
      [idOf(living)]
    )
    expect(await purge('incoming-payment')).toBe(1)
    expect([await read(old), await read(recent), await read(living)]).toEqual([404, 200, 200])
  })

  it('that received something stays for good, and a repeated payment to it is answered as before', async () => {
    const receiver = await world.createReceiver()
    const options = { headers: { 'idempotency-key': 'kept' } }
    const created = await world.pay(receiver, 10, {}, options)
    await world.whenEnded(created.textAt('id'))
    await expireReceived(receiver)
    expect(await purge('incoming-payment')).toBe(0)
    expect(await read(receiver)).toBe(200)
    const again = await world.pay(receiver, 10, {}, options)
    expect([again.status, again.textAt('id')]).toEqual([201, created.textAt('id')])
    await restoreReceived(receiver)
  })

  it('is remembered for its idempotency key until it is gone', async () => {
    const create = () =>
      world.request('POST', '/incoming-payments', {
        body: { walletAddress: ALICE },
        headers: { 'idempotency-key': 'the-same' }
      })
    const first = (await create()).textAt('id')
    await expire('incoming_payment', first, 29)
    await purge('incoming-payment')
    expect((await create()).textAt('id')).toBe(first)
    await expire('incoming_payment', first, 31)
    await purge('incoming-payment')
    const second = await create()
    expect(second.status).toBe(201)
    expect(second.textAt('id')).not.toBe(first)
  })

  it('is left alone while a payment to it is being settled, and stays once it has received that', async () => {
    const receiver = await world.createReceiver()
    await expire('incoming_payment', receiver, 31)
    await world.database.inTransaction(async (query) => {
      await query('select 1 from incoming_payment where id = $1 for no key update', [idOf(receiver)])
      expect(await repository.purge('incoming-payment', rangeOf(10))).toEqual({ lookedAt: 0, purged: 0 })
      await query('update incoming_payment set received_value = 1 where id = $1', [idOf(receiver)])
    })
    expect(await purge('incoming-payment')).toBe(0)
    await world.database.query('update incoming_payment set received_value = 0 where id = $1', [
      idOf(receiver)
    ])
  })

  it('that a refund was to be paid to stays for good, and the others go', async () => {
    const paid = await world.pay(await world.createReceiver(), 10)
    await world.whenEnded(paid.textAt('id'))
    const [returnedTo, never] = [
      await world.createReceiver({ walletAddress: ALICE }),
      await world.createReceiver({ walletAddress: ALICE })
    ]
    const all = { accountName: 'bob', value: String(await world.available('bob')) }
    await world.operate('withdraw', { ...all, withdrawalId: randomUUID() })
    const refund = await world.pay(returnedTo, 10, { walletAddress: BOB, refundOf: paid.textAt('id') })
    expect((await world.whenEnded(refund.textAt('id'))).at('failed')).toBe(true)
    await world.operate('deposit', { ...all, depositId: randomUUID() })
    await expire('incoming_payment', returnedTo, 31)
    await expire('incoming_payment', never, 31)
    expect(await purge('incoming-payment')).toBe(1)
    expect([await read(returnedTo), await read(never)]).toEqual([200, 404])
  })

  it('that is gone before a payment to it is processed fails that payment, and the sender keeps the money', async () => {
    const receiver = await world.createReceiver()
    const before = await world.available('alice')
    const created = await world.database.inTransaction(async (query) => {
      await query('delete from incoming_payment where id = $1', [idOf(receiver)])
      return world.pay(receiver, 10)
    })
    expect(created.status).toBe(201)
    expect((await world.whenEnded(created.textAt('id'))).at('failed')).toBe(true)
    expect(await world.available('alice')).toBe(before)
  })
})

describe('the purge', () => {
  const fill = (count: number) =>
    world.database.query(
      `insert into quote (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id,
                          method, expires_at, created_at, alive_until)
       select gen_random_uuid(), w.id, 'c', 'r', 1, 0, 1, a.asset_id, 'ilp', now() - make_interval(days => 40),
              now() - make_interval(days => 40), now() - make_interval(days => 40, secs => number)
         from generate_series(1, $1::integer) as number, wallet_address w join account a on a.id = w.account_id
        where w.path = '/alice'`,
      [count]
    )

  it('looks at no more than a batch at a time', async () => {
    await fill(25)
    const batches: PurgedBatch[] = []
    do batches.push(await repository.purge('quote', rangeOf(10)))
    while (batches.at(-1)?.lookedAt === 10)
    expect(batches).toEqual([10, 10, 5].map((lookedAt) => ({ lookedAt, purged: lookedAt })))
  })

  it('is shared by several that run at once', async () => {
    await fill(400)
    const totals = await Promise.all([purge('quote'), purge('quote'), purge('quote')])
    expect(totals.reduce((left, right) => left + right)).toBe(400)
  })

  it('believes no clock that runs ahead of that of the database', async () => {
    const quote = await world.createQuote(await world.createReceiver(), { debitAmount: usd(10) })
    await expire('quote', quote, 29)
    const inTenYearsMs = Date.now() + 3_650 * DAY_MS
    expect((await repository.purge('quote', { ...rangeOf(10), nowMs: inTenYearsMs })).purged).toBe(0)
  })

  it('runs by itself beside payments, is counted, and leaves what they need', async () => {
    const purging = await startPaymentWorld({
      settings: { PURGE_INTERVAL_SECONDS: '1', SWEEP_INTERVAL_SECONDS: '3600', METRICS_PORT: '0' }
    })
    try {
      const receiver = await purging.createReceiver()
      const unused = await purging.createQuote(receiver, { debitAmount: usd(5) })
      const never = await purging.createReceiver()
      for (const [table, url] of [
        ['quote', unused],
        ['incoming_payment', never]
      ] as const) {
        await purging.database.query(
          `update ${table} set expires_at = now() - interval '31 days', alive_until = now() - interval '31 days' where id = $1`,
          [idOf(url)]
        )
      }
      const purgedCounts = async () => {
        const { at } = await scrapeMetrics(purging.server.metricsPort)
        return ['quote', 'incoming-payment'].map((kind) => at(`open_payments_purged_total{kind="${kind}"}`))
      }
      const payments = []
      while ((await purgedCounts()).join() !== '1,1') payments.push(await purging.pay(receiver, 1))
      for (const payment of payments) {
        expect((await purging.whenEnded(payment.textAt('id'))).at('failed')).toBe(false)
      }
      await purging.whenDelivered()
      expect(await purging.audit()).toEqual([])
    } finally {
      await purging.stop()
    }
  })
})

/** A delivery in time, to a receiver that expired long ago. */
async function expireReceived(receiver: string): Promise<void> {
  await world.database.query(
    `update incoming_payment set alive_until = now() - interval '1000 days', expires_at = now() - interval '400 days' where id = $1`,
    [idOf(receiver)]
  )
}

async function restoreReceived(receiver: string): Promise<void> {
  await world.database.query(
    `update incoming_payment set expires_at = now() + interval '1 day' where id = $1`,
    [idOf(receiver)]
  )
}
