import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { raw } from '@prisma/client/runtime/client'
import type pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { openRawClient } from '../test/support/raw-client.js'
import { type RawQueries, readSnapshot, type TransactionalClient } from './index.js'

let pool: pg.Pool
let client: RawQueries & TransactionalClient
const table = `snapshot_${randomUUID().replaceAll('-', '')}`

beforeAll(async () => {
  pool = openPool({ connectionsMax: 1 })
  client = openRawClient(pool)
  await pool.query(`create table ${table} (id integer primary key)`)
})

afterAll(async () => {
  await pool.query(`drop table ${table}`)
  await pool.end()
})

const COUNT = raw(`select count(*)::integer as count from ${table}`)

it('sees one consistent snapshot', async () => {
  const writer = openPool()
  const counts = await readSnapshot(client, async (snapshot) => {
    const before = await snapshot.$queryRaw(COUNT)
    await writer.query(`insert into ${table} values (1)`)
    return [before, await snapshot.$queryRaw(COUNT)]
  })
  await writer.end()
  expect(counts).toEqual([[{ count: 0 }], [{ count: 0 }]])
  expect(await client.$queryRaw(COUNT)).toEqual([{ count: 1 }])
})

it('writes nothing', async () => {
  const attempt = readSnapshot(client, async (snapshot) =>
    snapshot.$queryRaw(raw(`insert into ${table} values (2)`))
  )
  expect(await failureOf(attempt)).toMatchObject({ cause: { originalCode: '25006' } })
})

it('restores its connection, even after a failure', async () => {
  const settings = raw(`select pg_backend_pid() as pid, current_setting('enable_seqscan') as scans,
                               current_setting('plan_cache_mode') as plans`)
  const [before] = await client.$queryRaw<object[]>(settings)
  const within = await readSnapshot(client, async (snapshot) => snapshot.$queryRaw(settings))
  await failureOf(
    readSnapshot(client, async (snapshot) => snapshot.$queryRaw(raw('select nothing_like_this')))
  )
  expect(within).toEqual([{ ...before, scans: 'on', plans: 'auto' }])
  expect(await client.$queryRaw(settings)).toEqual([before])
})
