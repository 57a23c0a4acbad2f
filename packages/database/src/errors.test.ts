import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import {
  createDatabaseIfMissing,
  createPool,
  isSerializationFailure,
  isUnavailable,
  isUniqueViolation,
  type PoolOptions
} from './index.js'

const adminUrl = process.env.TEST_POSTGRES_URL ?? ''
const name = `errors_${randomBytes(6).toString('hex')}`
const url = Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href

let pool: pg.Pool

beforeAll(async () => {
  await createDatabaseIfMissing({ adminUrl, name })
  pool = newPool()
  await pool.query(`create table item (
    id int constraint item_id primary key,
    name text constraint item_name unique,
    room int constraint item_room check (room >= 0))`)
  await pool.query(`insert into item values (1, 'one', 1), (2, 'two', 2)`)
})

afterAll(async () => {
  await pool.end()
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  await client.query(`drop database ${name} with (force)`)
  await client.end()
})

/** Both ways to the database: pg itself, and Prisma's adapter on the same pool. */
const ways: [string, (sql: string) => Promise<unknown>][] = [
  ['pg', (sql) => pool.query(sql)],
  ['the adapter of Prisma', (sql) => throughAdapter(pool, sql)]
]

describe.each(ways)('database errors, through %s', (_way, run) => {
  it('recognises a unique violation and its constraint', async () => {
    const error = await failureOf(run(`insert into item values (3, 'one', 1)`))
    expect(isUniqueViolation(error)).toBe(true)
    expect(isUniqueViolation(error, 'item_name')).toBe(true)
    expect(isUniqueViolation(error, 'item_id')).toBe(false)
    expect(isUniqueViolation(await failureOf(run(`insert into item values (1, 'x', 1)`)), 'item_id')).toBe(
      true
    )
    expectNothingElse(error, isUniqueViolation)
  })

  it('takes a check violation for nothing else', async () => {
    expectNothingElse(await failureOf(run('update item set room = -1')))
  })

  it('recognises a statement timeout as unavailability', async () => {
    const error = await failureOf(run('select pg_sleep(60)'))
    expect(isUnavailable(error)).toBe(true)
    expectNothingElse(error, isUnavailable)
  })

  it('recognises a session ended by an administrator', async () => {
    const error = await failureOf(run('select pg_terminate_backend(pg_backend_pid())'))
    expect(isUnavailable(error)).toBe(true)
    expectNothingElse(error, isUnavailable)
  })

  it('does not classify a faulty statement', async () => {
    expectNothingElse(await failureOf(run('select nothing_like_this')))
    expectNothingElse(await failureOf(run('select 1 / 0')))
  })

  it('recognises it as the cause of another error', async () => {
    const cause = await failureOf(run(`insert into item values (1, 'x', 1)`))
    expect(isUniqueViolation(new Error('could not keep it', { cause }), 'item_id')).toBe(true)
  })
})

describe('lost transactions', () => {
  it('recognises a serialization failure', async () => {
    await expect(race('begin isolation level repeatable read', 'select')).resolves.toBe('40001')
  })

  it('recognises a deadlock', async () => {
    await expect(race('begin', 'update')).resolves.toBe('40P01')
  })
})

describe('databases that cannot be reached', () => {
  it.each([
    ['nobody listens', 'postgresql://postgres@127.0.0.1:1/postgres'],
    ['the name leads nowhere', 'postgresql://postgres@nowhere.invalid/postgres']
  ])('recognises that %s', async (_reason, unreachable) => {
    const unreachablePool = newPool({ url: unreachable })
    for (const attempt of [
      () => unreachablePool.query('select 1'),
      () => throughAdapter(unreachablePool, 'select 1')
    ]) {
      const error = await failureOf(attempt())
      expect(isUnavailable(error)).toBe(true)
      expectNothingElse(error, isUnavailable)
    }
    await unreachablePool.end()
  })

  it('recognises that no connection was free in time', async () => {
    const small = newPool({ connectionsMax: 1, connectTimeoutMs: 2_000 })
    const taken = await small.connect()
    expect(isUnavailable(await failureOf(small.query('select 1')))).toBe(true)
    expect(isUnavailable(await failureOf(throughAdapter(small, 'select 1')))).toBe(true)
    taken.release()
    await small.end()
  })

  it('does not take a wrong password for unavailability: waiting does not help', async () => {
    const wrong = newPool({ url: Object.assign(new URL(url), { password: 'wrong' }).href })
    expectNothingElse(await failureOf(wrong.query('select 1')))
    await wrong.end()
  })

  it('does not classify errors that are not of a database', () => {
    for (const value of [
      undefined,
      null,
      'P2002',
      23505,
      new Error('expired'),
      { code: 23505 },
      new TypeError()
    ]) {
      expectNothingElse(value)
    }
  })
})

describe('createPool', () => {
  it('names the service and sets every timeout on the server, too', async () => {
    const { rows } = await pool.query<
      Record<string, string>
    >(`select current_setting('application_name') as name,
      current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`)
    expect(rows).toEqual([{ name: 'errors-test', statement: '2s', idle: '2s' }])
  })

  it('survives broken idle connections, reports and replaces them', async () => {
    const lost: Error[] = []
    const surviving = createPool({ ...settings, url, onIdleConnectionLost: (error) => lost.push(error) })
    const { rows } = await surviving.query<{ pid: number }>('select pg_backend_pid() as pid')
    const closed = new Promise((resolve) => surviving.once('remove', resolve))
    await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
    await closed
    expect(lost.map(({ message }) => message)).toEqual([expect.stringContaining('terminating connection')])
    await expect(surviving.query('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] })
    await surviving.end()
  })
})

const settings = {
  url,
  connectionsMax: 3,
  applicationName: 'errors-test',
  statementTimeoutMs: 2_000,
  // Long enough to connect on a busy machine.
  connectTimeoutMs: 10_000
}

function newPool(options: Partial<PoolOptions> = {}): pg.Pool {
  return createPool({ ...settings, ...options })
}

async function throughAdapter(target: pg.Pool, sql: string): Promise<unknown> {
  return (await new PrismaPg(target).connect()).queryRaw({ sql, args: [], argTypes: [] })
}

const all = [isUniqueViolation, isSerializationFailure, isUnavailable]

function expectNothingElse(error: unknown, except?: (typeof all)[number]): void {
  expect(all.filter((one) => one !== except && one(error)).map(({ name: which }) => which)).toEqual([])
}

/** Two transactions that each touch one row and then that of the other. Resolves with the code of the loser. */
async function race(begin: string, touch: 'select' | 'update'): Promise<string | undefined> {
  const statements = {
    select: (id: number) => `select * from item where id = ${String(id)}`,
    update: (id: number) => `update item set room = room + 1 where id = ${String(id)}`
  }
  const [one, two] = await Promise.all([openSession(), openSession()])
  for (const [session, id] of [
    [one, 1],
    [two, 2]
  ] as const) {
    await session.query(begin)
    await session.query(statements[touch](id))
  }
  const crossing =
    touch === 'select'
      ? [one.query(`${statements.update(2)}; commit`).then(() => two.query(statements.update(2)))]
      : [one.query(statements.update(2)), two.query(statements.update(1))]
  const results = await Promise.allSettled(crossing)
  const losers = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(losers).toHaveLength(1)
  expect(isSerializationFailure(losers[0])).toBe(true)
  expectNothingElse(losers[0], isSerializationFailure)
  await Promise.all([one.end(), two.end()])
  return (losers[0] as pg.DatabaseError).code
}

async function openSession(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
