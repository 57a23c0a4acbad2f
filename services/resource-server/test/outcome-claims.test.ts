import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createPool, type DatabasePool } from '@open-payments-server/database'
import { createTestDatabase, type TestDatabase, whenLocked } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { PrismaClient } from '../src/generated/prisma/client.js'
import { acknowledge, claimDue, postpone } from '../src/modules/grant-outcomes/index.js'
import { openDatabase } from './support/open-database.js'

const LIMIT = 10
const LEASE_MS = 60_000

let database: TestDatabase
let pool: DatabasePool
let client: PrismaClient

beforeAll(async () => {
  const prisma = fileURLToPath(new URL('../prisma/', import.meta.url))
  database = await createTestDatabase({
    migrationsPath: `${prisma}migrations`
  })
  pool = createPool({
    url: database.url,
    connectionsMax: 4,
    applicationName: 'outcome-claims-test',
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 60_000
  })
  client = openDatabase(pool)
})
beforeEach(() => database.query('delete from grant_reservation'))
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** A due outcome `release`, or an entry without an outcome. */
async function outcome(
  kind: 'release' | null = 'release',
  paymentId: string = randomUUID()
): Promise<string> {
  await database.query(
    `insert into grant_reservation (payment_id, outcome, next_attempt_at) values ($1, $2, now() - interval '1 second')`,
    [paymentId, kind]
  )
  return paymentId
}

async function claim(leaseMs = LEASE_MS): Promise<string[]> {
  return (await claimDue(client, LIMIT, leaseMs)).map(({ paymentId }) => paymentId)
}

/** As if its lease, or its pause, had ended. */
async function becomeDue(): Promise<void> {
  await database.query(`update grant_reservation set next_attempt_at = now() - interval '1 second'`)
}

describe('an outcome to be delivered', () => {
  it('is claimed by one of several that ask, until its lease is over', async () => {
    const paymentId = await outcome()
    const claims = await Promise.all([claim(), claim(), claim()])
    expect(claims.flat()).toEqual([paymentId])
    expect(await claim()).toEqual([])
    await becomeDue()
    expect(await claim()).toEqual([paymentId])
  })

  it('is passed over, and not waited for, while another is claiming it', async () => {
    const [locked, free] = [await outcome(), await outcome()]
    const other = await pool.connect()
    try {
      await other.query('begin')
      await other.query('select 1 from grant_reservation where payment_id = $1 for update', [locked])
      expect(await claim()).toEqual([free])
      await other.query('rollback')
    } finally {
      // Closes the connection, and so ends the transaction, in whatever state it is.
      other.release(true)
    }
    expect(await claim()).toEqual([locked])
  })

  it('is claimed again as soon as a failed delivery has paused', async () => {
    const paymentId = await outcome()
    await claim()
    await postpone(client, [{ paymentId, retryAfterMs: 60_000 }])
    expect(await claim()).toEqual([])
    await postpone(client, [{ paymentId, retryAfterMs: -1_000 }])
    expect(await claim()).toEqual([paymentId])
  })

  it('is never claimed again once it was delivered', async () => {
    const paymentId = await outcome()
    await claim()
    await acknowledge(client, [paymentId])
    await becomeDue()
    expect(await claim()).toEqual([])
  })

  // The statement by which an operator gives payments up takes its locks in that order too.
  it.each<[string, (paymentIds: readonly string[]) => Promise<void>]>([
    ['delivered', (paymentIds) => acknowledge(client, paymentIds)],
    [
      'postponed',
      (paymentIds) =>
        postpone(
          client,
          paymentIds.map((paymentId) => ({ paymentId, retryAfterMs: 1 }))
        )
    ]
  ])('is %s after those with smaller ids, so that statements never deadlock', async (_what, write) => {
    // In the table, and in the call, the other way round.
    const [larger, smaller] = ['00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000001']
    for (const id of [larger, smaller]) await outcome('release', id)
    await claim()
    const other = await pool.connect()
    try {
      await other.query('begin')
      await other.query('select 1 from grant_reservation where payment_id = $1 for update', [smaller])
      const writing = write([larger, smaller])
      await whenLocked(database.query)
      await other.query('select 1 from grant_reservation where payment_id = $1 for update nowait', [larger])
      await other.query('rollback')
      await writing
    } finally {
      other.release(true)
    }
  })

  it('is not there while the payment is pending', async () => {
    await outcome(null)
    expect(await claim()).toEqual([])
  })
})
