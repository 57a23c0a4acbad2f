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

/** A database for one test file. */
export interface TestDatabase {
  /** URL for connecting as its owner. */
  readonly url: string
  /** Runs a statement over a separate pool, to inspect what the service wrote. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
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
  await withAdmin(adminUrl, async (admin) => {
    // A session lock: one process creates the template while the others wait, so no incomplete template is copied.
    await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK_KEY])
    const template = await ensureTemplate(admin, adminUrl, service)
    await admin.query(`create database ${name} template ${template}`)
  })
  const url = databaseUrl(adminUrl, name)
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => undefined) // dropping the database ends its connections
  return {
    url,
    async query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]) {
      const { rows } = await pool.query<Row>(text, values)
      return rows
    },
    async drop() {
      if (!pool.ended) await pool.end()
      await withAdmin(adminUrl, async (admin) => {
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

async function withAdmin<Result>(url: string, work: (admin: pg.Client) => Promise<Result>): Promise<Result> {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}
