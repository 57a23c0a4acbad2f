import { setTimeout as delay } from 'node:timers/promises'
import { callUnary, createClient } from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import { createTestKey } from '@open-payments-server/testing'
import { systemClock } from '@open-payments-server/runtime'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { tellExpiries } from '../src/features/tell-expiries/tell-expiries.js'
import { assertAsDescribed } from './support/described-events.js'
import { openDatabase } from './support/open-database.js'
import { ALICE, type PaymentWorld, PUBLIC_URL, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld
let client: events.EventServiceClient

beforeAll(async () => {
  world = await startPaymentWorld()
  client = createClient(events.EventServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })
})
afterAll(async () => {
  client.close()
  await world.stop()
})

/** What happened to a resource but for its creation, in order, once everything is published. */
async function happenedTo(subject: string): Promise<{ type: string; data: Record<string, unknown> }[]> {
  for (let left = 1; left > 0;) {
    const [row] = await world.database.query<{ left: number }>(
      'select count(*)::integer as left from event_outbox'
    )
    left = row?.left ?? 0
    if (left > 0) await delay(10)
  }
  const list = { afterCursor: '', types: [], pageSize: 1_000 }
  const listed = await callUnary(client, 'listEvents', list, { idempotent: true })
  listed.events.forEach(assertAsDescribed)
  return listed.events
    .filter((event) => event.subject === subject && !event.type.endsWith('.created'))
    .map(({ type, data }) => ({ type, data: JSON.parse(data) as Record<string, unknown> }))
}

/** Makes resources expire so many seconds ago. */
async function expire(urls: readonly string[], secondsAgo: number): Promise<void> {
  const ids = urls.map((url) => url.slice(-36))
  for (const [table, id] of [
    ['expiry', 'subject_id'],
    ['quote', 'id'],
    ['incoming_payment', 'id']
  ])
    await world.database.query(
      `update ${String(table)} set expires_at = now() - make_interval(secs => $2) where ${String(id)} = any ($1)`,
      [ids, secondsAgo]
    )
}

/** Tells of everything that is due, in several processes at once. */
async function tell(): Promise<void> {
  const dependencies = { database: openDatabase(world.server.pool), clock: systemClock }
  await Promise.all(Array.from({ length: 4 }, () => tellExpiries(3, dependencies)))
  while ((await tellExpiries(3, dependencies)).due > 0);
}

// First: what follows changes rows by hand.
it('an audit tells whether it passed, and not where', async () => {
  await world.whenDelivered()
  let known = 0
  const audit = async (): Promise<events.Event> => {
    await world.operate('audit', wallet.AuditRequest.create())
    const list = { afterCursor: '', types: ['audit.passed', 'audit.failed'], pageSize: 1_000 }
    known += 1
    for (;;) {
      const { events: told } = await callUnary(client, 'listEvents', list, { idempotent: true })
      const latest = told[known - 1]
      told.forEach(assertAsDescribed)
      if (latest !== undefined) return latest
      await delay(10)
    }
  }
  expect((await audit()).type).toBe('audit.passed')
  await world.database.query(`update account set credits_posted = credits_posted + 1 where name = 'alice'`)
  const failed = await audit()
  await world.database.query(`update account set credits_posted = credits_posted - 1 where name = 'alice'`)
  expect(failed.type).toBe('audit.failed')
  expect(failed.subject).toMatch(/^urn:uuid:/)
  const { checks } = JSON.parse(failed.data) as { checks: { holds: boolean }[] }
  expect(checks.map(({ holds }) => holds)).toContain(false)
  expect(failed.data).not.toContain('alice')
})

it('an incoming payment that was not completed tells once that it expired, as it was then', async () => {
  const open = await world.createReceiver({ incomingAmount: usd(500) })
  await world.whenEnded((await world.pay(open, 200)).textAt('id'))
  const completed = await world.createReceiver()
  expect((await world.request('POST', `${completed.slice(PUBLIC_URL.length)}/complete`)).status).toBe(200)
  await expire([open, completed], 61)
  await tell()
  await tell()
  const told = await happenedTo(open)
  expect(told.map(({ type }) => type)).toEqual(['incoming_payment.received', 'incoming_payment.expired'])
  expect(told[1]?.data).toMatchObject({ id: open, completed: false, receivedAmount: usd(200) })
  expect((await happenedTo(completed)).map(({ type }) => type)).toEqual(['incoming_payment.completed'])
})

it('a quote tells once that it expired, unless a payment used it', async () => {
  const receiver = await world.createReceiver()
  const quotes = await Promise.all(
    Array.from({ length: 20 }, (_, at) => world.createQuote(receiver, { debitAmount: usd(10 + at) }))
  )
  const paid = quotes[0] ?? ''
  const body = { walletAddress: ALICE, quoteId: paid }
  const payment = await world.request('POST', '/outgoing-payments', { body })
  await world.whenEnded(payment.textAt('id'))
  await expire(quotes, 61)
  await tell()
  await tell()
  const [told, ...more] = await happenedTo(quotes[1] ?? '')
  expect(told).toMatchObject({ type: 'quote.expired', data: { id: quotes[1], debitAmount: usd(11) } })
  expect(more).toEqual([])
  expect(await happenedTo(paid)).toEqual([])
  for (const quote of quotes.slice(1)) expect(await happenedTo(quote)).toHaveLength(1)
  const [left] = await world.database.query<{ count: number }>(
    `select count(*)::integer as count from expiry where kind = 'quote'`
  )
  expect(left?.count).toBe(0)
})

it('nothing expires while what began in time may be under way', async () => {
  const quote = await world.createQuote(await world.createReceiver(), { debitAmount: usd(10) })
  await expire([quote], 55)
  await tell()
  expect(await happenedTo(quote)).toEqual([])
})

it('one that was deleted meanwhile tells nothing', async () => {
  const quote = await world.createQuote(await world.createReceiver(), { debitAmount: usd(10) })
  await expire([quote], 100)
  await world.database.query('delete from quote where id = $1', [quote.slice(-36)])
  await tell()
  expect(await happenedTo(quote)).toEqual([])
})

it('the service tells by itself', async () => {
  const quote = await world.createQuote(await world.createReceiver(), { debitAmount: usd(10) })
  // The clock of the service stands.
  await expire([quote], 3_600)
  while ((await happenedTo(quote)).length === 0) await delay(100)
}, 300_000)

it('keys that operators add and revoke are told, with their public part', async () => {
  const { jwk } = createTestKey('till-7')
  await world.operate('addClientKey', { walletAddress: ALICE, kid: 'till-7', x: jwk.x })
  await world.operate('revokeClientKey', { walletAddress: ALICE, kid: 'till-7' })
  await world.operate('revokeClientKey', { walletAddress: ALICE, kid: 'till-7' })
  const told = await happenedTo(ALICE)
  expect(told.map(({ type }) => type)).toEqual(['key.added', 'key.revoked'])
  const key = { kid: 'till-7', alg: 'EdDSA', use: 'sig', kty: 'OKP', crv: 'Ed25519', x: jwk.x }
  expect(told[0]?.data).toEqual({ walletAddress: ALICE, key, createdAt: expect.any(String) })
  expect(told[1]?.data).toMatchObject({ walletAddress: ALICE, key, revokedAt: expect.any(String) })
})
