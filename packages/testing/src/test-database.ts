import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { migrateDatabase } from '@open-payments-server/database'
import pg from 'pg'

/** The advisory lock of the test process that creates a template; the others wait for it. */
const TEMPLATE_LOCK_KEY = 7_281_904_536

/** The migrations of a service. */
export interface ServiceSchema {
  /** Folder of its migrations. */
  readonly migrationsPath: string
}

/** Runs a statement, and returns its rows. */
export type TestQuery = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>

/** A database for one test file. */
export interface TestDatabase {
  /** URL for connecting as its owner. */
  readonly url: string
  /** Runs a statement over a separate pool, to inspect what the service wrote. */
  query: TestQuery
  /** Runs statements in a transaction on a connection of its own: committed when `work` resolves, rolled back when it rejects. */
  inTransaction<Result>(work: (query: TestQuery) => Promise<Result>): Promise<Result>
  /** Closes the connections and drops the database. May be called again. */
  drop(): Promise<void>
}

/**
 * Creates a fresh, migrated database. The migrations run once per content of their folder, in a template that each test
 * file copies.
 *
 * @param adminUrl the server, as a superuser; default: that of the test run
 * @throws Error when the test run has no PostgreSQL (`TEST_POSTGRES_URL`)
 */
export async function createTestDatabase(
  service: ServiceSchema,
  adminUrl = process.env.TEST_POSTGRES_URL
): Promise<TestDatabase> {
  if (adminUrl === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests through jest')
  const name = `test_${randomBytes(8).toString('hex')}`
  await withClient(adminUrl, async (admin) => {
    // A session lock: one process creates the template while the others wait, so no incomplete template is copied.
    await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK_KEY])
    const template = await ensureTemplate(admin, adminUrl, service)
    await admin.query(`create database ${name} template ${template}`)
  })
  const url = databaseUrl(adminUrl, name)
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => undefined) // dropping the database ends its connections
  return {
    url,
    query: queryOn(pool),
    async inTransaction(work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const result = await work(queryOn(client))
        await client.query('commit')
        client.release()
        return result
      } catch (error) {
        client.release(true) // rolls back
        throw error
      }
    },
    async drop() {
      if (!pool.ended) await pool.end()
      await withClient(adminUrl, async (admin) => {
        await admin.query(`drop database if exists ${name} with (force)`)
      })
    }
  }
}

async function ensureTemplate(admin: pg.Client, adminUrl: string, service: ServiceSchema): Promise<string> {
  const name = `template_${await hashFolder(service.migrationsPath)}`
  const found = await admin.query<{ migrated: boolean }>(
    'select datistemplate as migrated from pg_database where datname = $1',
    [name]
  )
  if (found.rows[0]?.migrated === true) return name
  // One that is not marked as a template was left incomplete by a process that died.
  await admin.query(`drop database if exists ${name} with (force)`)
  await admin.query(`create database ${name} template template0`)
  await migrateDatabase({ url: databaseUrl(adminUrl, name), ...service })
  await admin.query(`alter database ${name} is_template true`)
  return name
}

async function hashFolder(folder: string): Promise<string> {
  const hash = createHash('sha256')
  for (const entry of (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name))
    .sort()) {
    hash.update(relative(folder, entry)).update(await readFile(entry))
  }
  return hash.digest('hex').slice(0, 16)
}

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function queryOn(connection: pg.Pool | pg.PoolClient): TestQuery {
  return async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
    (await connection.query<Row>(text, values)).rows
}

function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}
