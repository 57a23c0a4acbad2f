import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import {
  compareWithDocument,
  type Scrape,
  scrapeMetrics,
  type TestQuery
} from '@open-payments-server/testing'
import { type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'
import { ALICE, PUBLIC_URL } from './support/resource-server.js'

const OUTCOMES_AGE = 'open_payments_outcomes_oldest_age_seconds'
const OUTCOMES_COUNT = 'open_payments_outcomes_undelivered'
const PENDING_AGE = 'open_payments_outgoing_payments_pending_oldest_age_seconds'
const ORPHANS = 'open_payments_payment_ids_given_up_total{cause="swept"}'
const CERTIFICATE_EXPIRY = 'open_payments_tls_certificate_expiry_timestamp_seconds'
const STREAM = 'open_payments_revocation_stream_connected'
const UP = 'open_payments_metrics_source_up{source="payments"}'
const deliveries = (result: string) => `open_payments_outcome_deliveries_total{result="${result}"}`
const ended = (state: string) => `open_payments_outgoing_payments_ended_total{state="${state}"}`

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { METRICS_PORT: '0', SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '30' }
  })
})
beforeEach(() => {
  world.clock.advanceSeconds(1)
})
afterEach(() => {
  world.limits.before = undefined
})
afterAll(() => world.stop())

const scrape = () => scrapeMetrics(world.server.metricsPort)
/** Scrapes until a condition holds. */
const scrapeUntil = async (holds: (scraped: Scrape) => boolean): Promise<Scrape> => {
  for (;;) {
    const scraped = await scrape()
    if (holds(scraped)) return scraped
    await delay(20)
  }
}
const refuse = (code: status) => (call: string) => {
  if (call === 'settle') throw new RpcError({ code, message: 'not now' })
}
/** Makes all outcomes due until they are delivered, because failed ones are postponed. */
const deliverAll = async (): Promise<void> => {
  while ((await scrape()).at(OUTCOMES_COUNT) !== 0) {
    await world.database.query('update grant_reservation set next_attempt_at = now()')
    await delay(20)
  }
}
/** Pays while the receiver is locked, so that the payment stays pending while `meanwhile` runs; answers its URL. */
const payWhileHeld = async (
  receiver: string,
  meanwhile: (paymentId: string, query: TestQuery) => Promise<void>
): Promise<string> => {
  return world.database.inTransaction(async (query) => {
    await query('select 1 from incoming_payment where id = $1 for update', [receiver.slice(-36)])
    const url = (await world.pay(receiver, 100)).textAt('id')
    await meanwhile(url.slice(-36), query)
    return url
  })
}
/** By how much a counter grew. */
const growth = (before: Scrape, after: Scrape, series: string) =>
  (after.at(series) ?? NaN) - (before.at(series) ?? NaN)

describe('the metrics of the resource server', () => {
  it('tell the age of the oldest outcome that the auth server was not told: it grows until it is told', async () => {
    const receiver = await world.createReceiver()
    const before = await scrape()
    expect([before.at(OUTCOMES_AGE), before.at(OUTCOMES_COUNT), before.at(UP)]).toEqual([0, 0, 1])

    world.limits.before = refuse(status.UNAVAILABLE)
    await world.whenEnded((await world.pay(receiver, 100)).textAt('id'))
    const first = await scrapeUntil((scraped) => growth(before, scraped, deliveries('unavailable')) > 0)
    expect(first.at(OUTCOMES_COUNT)).toBe(1)
    expect(first.at(OUTCOMES_AGE)).toBeLessThan(60)
    const second = await scrapeUntil((scraped) => scraped.at(OUTCOMES_AGE)! > first.at(OUTCOMES_AGE)! + 0.5)
    expect(second.at(OUTCOMES_AGE)).toBeLessThan(60)

    world.limits.before = undefined
    const after = await scrapeUntil((scraped) => scraped.at(OUTCOMES_COUNT) === 0)
    expect(after.at(OUTCOMES_AGE)).toBe(0)
    expect(growth(before, after, deliveries('acknowledged'))).toBe(1)
    expect(growth(before, after, ended('completed'))).toBe(1)
  })

  it('tell that age from when the payment ended, not from when it was created', async () => {
    const receiver = await world.createReceiver()
    world.limits.before = refuse(status.UNAVAILABLE)
    const url = await payWhileHeld(receiver, async (paymentId) => {
      await world.database.query(
        `update grant_reservation set created_at = now() - interval '1 hour', outcome_since = now() - interval '1 hour'
          where payment_id = $1`,
        [paymentId]
      )
    })
    await world.whenEnded(url)
    const waiting = await scrape()
    expect(waiting.at(OUTCOMES_COUNT)).toBe(1)
    expect(waiting.at(OUTCOMES_AGE)).toBeLessThan(60)
    world.limits.before = undefined
    await deliverAll()
  })

  it('tell the age of the oldest pending payment, until it ended', async () => {
    const receiver = await world.createReceiver()
    const url = await payWhileHeld(receiver, async () => {
      const first = await scrapeUntil((scraped) => scraped.at(PENDING_AGE)! > 0)
      await scrapeUntil((scraped) => scraped.at(PENDING_AGE)! > first.at(PENDING_AGE)!)
    })
    await world.whenEnded(url)
    expect((await scrape()).at(PENDING_AGE)).toBe(0)
    await world.whenDelivered()
  })

  it('count payments by the state they ended in', async () => {
    const receiver = await world.createReceiver()
    const before = await scrape()
    const url = await payWhileHeld(receiver, async (_paymentId, query) => {
      await query('update incoming_payment set completed = true where id = $1', [receiver.slice(-36)])
    })
    await world.whenEnded(url)
    await world.whenDelivered()
    const after = await scrape()
    expect(growth(before, after, ended('failed'))).toBe(1)
    expect(growth(before, after, ended('completed'))).toBe(0)
    expect(growth(before, after, deliveries('acknowledged'))).toBe(1)
  })

  it('count outcomes that the auth server refuses, and calls that fail for no good reason', async () => {
    const receiver = await world.createReceiver()
    for (const [code, result] of [
      [status.FAILED_PRECONDITION, 'refused'],
      [status.INVALID_ARGUMENT, 'failed']
    ] as const) {
      const before = await scrape()
      // Only once: some are soon tried again.
      world.limits.before = (call) => {
        if (call === 'settle') world.limits.before = undefined
        refuse(code)(call)
      }
      await world.whenEnded((await world.pay(receiver, 100)).textAt('id'))
      await scrapeUntil((scraped) => growth(before, scraped, deliveries(result)) === 1)
      await deliverAll()
    }
  })

  it('count the reservations without a payment that were swept', async () => {
    const before = await scrape()
    for (const paymentId of [randomUUID(), randomUUID()]) {
      world.limits.reservations.set(paymentId, {
        paymentId,
        content: 'of a process that died',
        accessToken: world.token,
        walletAddress: '',
        receiver: '',
        state: 'open',
        debitAmount: usd(1),
        receiveAmount: usd(1),
        debited: 1n,
        received: 1n,
        createdAt: new Date(Date.now() - 60_000)
      })
    }
    await scrapeUntil((scraped) => growth(before, scraped, ORPHANS) === 2)
    await world.whenDelivered()
  })

  it('count what clients create, once, and what they complete', async () => {
    const before = await scrape()
    const receiver = await world.createReceiver({ incomingAmount: usd(100) })
    const repeated = { headers: { 'idempotency-key': randomUUID() } }
    for (let count = 0; count < 2; count += 1) {
      const quoted = await world.request('POST', '/quotes', {
        ...repeated,
        body: { walletAddress: ALICE, receiver, method: 'ilp' }
      })
      expect(quoted.status).toBe(201)
    }
    const completed = await world.createReceiver()
    await world.request('POST', `${completed.slice(PUBLIC_URL.length)}/complete`)
    for (let count = 0; count < 2; count += 1) {
      const paid = await world.pay(receiver, 100, {}, { ...repeated, signature: { nonce: randomUUID() } })
      await world.whenEnded(paid.textAt('id'))
    }
    await world.whenDelivered()
    const after = await scrape()
    const grown = (what: string) => growth(before, after, `open_payments_${what}_total`)
    expect(grown('incoming_payments_created')).toBe(2)
    expect(grown('quotes_created')).toBe(1)
    expect(grown('outgoing_payments_created')).toBe(1)
    expect(grown('incoming_payments_completed')).toBe(2)
  })

  it('count whom nobody was authenticated for, by the reason', async () => {
    const receiver = (await world.createReceiver()).slice(PUBLIC_URL.length)
    const before = await scrape()
    const nonce = randomUUID()
    const answers = [
      await world.request('GET', receiver, { accessToken: 'unknown' }),
      await world.request('GET', receiver, { signature: { nonce } }),
      await world.request('GET', receiver, { signature: { nonce } }),
      await world.request('GET', receiver, { signature: { keyId: 'another-key' } })
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 200, 401, 401])
    const after = await scrape()
    for (const reason of ['token', 'nonce', 'key']) {
      expect(growth(before, after, `open_payments_authentication_failures_total{reason="${reason}"}`)).toBe(1)
    }
  })

  it('tell whether revocations are heard of, and where the worth of tokens was looked up', async () => {
    const lookups = (source: string) => `open_payments_token_lookups_total{source="${source}"}`
    const before = await scrapeUntil((scraped) => scraped.at(STREAM) === 1)
    await world.createReceiver()
    await world.createReceiver()
    expect(growth(before, await scrape(), lookups('hit'))).toBeGreaterThanOrEqual(1)
  })

  it('are those that the documentation names, with their labels, and no others', async () => {
    // Published only if gRPC has certificates.
    // Nor is what DATABASE_DURABILITY=synchronous promises, which is not set here.
    const expected = [CERTIFICATE_EXPIRY, 'open_payments_database_synchronous'].map(
      (name) => `${name} is not published`
    )
    expect(await compareWithDocument((await scrape()).text, 'resource-server')).toEqual(expected)
  })

  it('answer what is known while the database is gone', async () => {
    const before = await scrape()
    await world.database.drop()
    const { text, at } = await scrape()
    expect([at(OUTCOMES_AGE), at(OUTCOMES_COUNT), at(PENDING_AGE), at(UP)]).toEqual([
      undefined,
      undefined,
      undefined,
      0
    ])
    expect(at(ended('completed'))).toBe(before.at(ended('completed')))
    expect(text).toContain('process_cpu_seconds_total')
  })
})
