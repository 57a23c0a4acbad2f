import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPool, type RawQueries } from '@open-payments-server/database'
import pg from 'pg'
import { databaseDependency } from './database-dependency.js'

const adminUrl = process.env.TEST_POSTGRES_URL ?? ''
const database = `health_${randomBytes(6).toString('hex')}`
const url = Object.assign(new URL(adminUrl), { pathname: `/${database}` }).href
const pool = createPool({
  url,
  connectionsMax: 2,
  applicationName: 'health-test',
  statementTimeoutMs: 2_000,
  connectTimeoutMs: 2_000
})

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'health-test-'))
  for (const name of ['20260101000000_first', '20260202000000_second']) await mkdir(join(folder, name))
  await asAdmin(`create database ${database}`)
})
afterAll(async () => {
  await pool.end()
  await asAdmin(`drop database ${database} with (force)`)
  await rm(folder, { recursive: true })
})

/** What a client of Prisma does with raw statements. */
const queries: RawQueries = {
  $queryRaw: async <Rows>({ text, values }: { text: string; values: unknown[] }) =>
    (await pool.query<object>(text, values)).rows as Rows
}
const look = (): Promise<string | undefined> => databaseDependency(queries, folder).check()

describe('a database', () => {
  it('without any migration has not been migrated', async () => {
    expect(await look()).toBe('has not been migrated to this version')
  })

  it('with the previous migration, or half of the newest, has not been migrated either', async () => {
    // As Prisma keeps it, as far as it is read.
    await pool.query(`create table _prisma_migrations
      (migration_name text, finished_at timestamptz, rolled_back_at timestamptz)`)
    await pool.query(`insert into _prisma_migrations values ('20260101000000_first', now(), null),
      ('20260202000000_second', null, null)`)
    expect(await look()).toBe('has not been migrated to this version')
  })

  it('with the newest migration has no problem, even if there are newer ones', async () => {
    await pool.query(`update _prisma_migrations set finished_at = now()`)
    await pool.query(`insert into _prisma_migrations values ('20260303000000_third', now(), null)`)
    expect(await look()).toBeUndefined()
  })

  it('that refuses writes is read-only', async () => {
    await pool.query(`alter database ${database} set default_transaction_read_only = on`)
    await asAdmin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
    await expect(look().catch(look)).resolves.toBe('is read-only')
  })

  it('that commits alone is none to start with, and stays one for whoever has used it', async () => {
    await asAdmin(`alter database ${database} set default_transaction_read_only = off`)
    const refusing: RawQueries = {
      $queryRaw: () => Promise.reject(Object.assign(new Error('alone'), { code: 'NOT_SYNCHRONOUS' }))
    }
    let used = refusing
    const either: RawQueries = { $queryRaw: (statement) => used.$queryRaw(statement) }
    const dependency = databaseDependency(either, folder)
    expect(await dependency.check()).toBe('commits without a standby')
    used = queries
    await asAdmin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
    await expect(dependency.check().catch(() => dependency.check())).resolves.toBeUndefined()
    used = refusing
    expect(await dependency.check()).toBeUndefined()
  })

  it('that has stopped does not answer', async () => {
    await asAdmin(`drop database ${database} with (force)`)
    await expect(look().catch(look)).rejects.toThrow()
    await asAdmin(`create database ${database}`)
  })
})

async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  await client.query(statement)
  await client.end()
}
