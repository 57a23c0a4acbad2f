import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { readSnapshot } from './index.js'

let pool: pg.Pool
const table = `snapshot_${randomUUID().replaceAll('-', '')}`

beforeAll(async () => {
  pool = openPool({ statementTimeoutMs: 300 })
  await pool.query(`create table ${table} (id integer primary key)`)
})

afterAll(async () => {
  await pool.query(`drop table ${table}`)
  await pool.end()
})

const COUNT = `select count(*)::integer as count from ${table}`

it('sees one moment, whatever is written meanwhile', async () => {
  const counts = await readSnapshot(pool, 5_000, async (snapshot) => {
    const before = await snapshot.query<{ count: number }>(COUNT)
    await pool.query(`insert into ${table} values (1)`)
    return [before, await snapshot.query<{ count: number }>(COUNT)]
  })
  expect(counts).toEqual([[{ count: 0 }], [{ count: 0 }]])
  expect((await pool.query(COUNT)).rows).toEqual([{ count: 1 }])
})

it('writes nothing', async () => {
  const attempt = readSnapshot(pool, 5_000, (snapshot) =>
    snapshot.query(`insert into ${table} values ($1)`, [2])
  )
  expect(await failureOf(attempt)).toMatchObject({ code: '25006' })
})

it('waits as long as it was told for a statement, and no longer', async () => {
  const sleep = (seconds: number): Promise<unknown> =>
    readSnapshot(pool, 1_500, (snapshot) => snapshot.query('select pg_sleep($1)', [seconds]))
  await expect(sleep(1)).resolves.toHaveLength(1)
  expect(await failureOf(sleep(60))).toMatchObject({ code: '57014' })
})

it('leaves a connection as it was, also after a failure', async () => {
  const settings = `select pg_backend_pid() as pid, current_setting('enable_seqscan') as scans,
                           current_setting('plan_cache_mode') as plans, current_setting('statement_timeout') as longest`
  const before = await pool.query(settings)
  const within = await readSnapshot(pool, 1_500, (snapshot) => snapshot.query(settings))
  await failureOf(readSnapshot(pool, 1_500, (snapshot) => snapshot.query('select nothing_like_this')))
  expect(within).toEqual([{ ...before.rows[0], scans: 'on', plans: 'auto', longest: '1500ms' }])
  expect((await pool.query(settings)).rows).toEqual(before.rows)
})
