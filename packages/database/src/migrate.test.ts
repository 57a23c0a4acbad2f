import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { createDatabaseIfMissing } from './create-database.js'
import { migrateDatabase, migrationSql } from './migrate.js'

const adminUrl = process.env.TEST_POSTGRES_URL ?? ''
const schema = `
datasource db {
  provider = "postgresql"
}
model Wallet {
  id      String @id @db.Uuid
  balance Decimal @db.Decimal(20, 0)
  @@map("wallet")
}
`
/** Semicolons where they do not end a statement, and a function body. */
const secondMigration = `
alter table wallet add column note text not null default 'a;b'; -- why; because
create function double(amount numeric) returns numeric language plpgsql as $$
begin
  amount := amount * 2;
  return amount;
end $$;
`

let folder: string
let database: string
let url: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'migrate-test-'))
  await writeFile(join(folder, 'schema.prisma'), schema)
  database = `migrate_${randomBytes(6).toString('hex')}`
  url = Object.assign(new URL(adminUrl), { pathname: `/${database}` }).href
  await createDatabaseIfMissing({ adminUrl, name: database })
  await addMigration('20260101000000_first', await migrationSql(schema))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
  await query(adminUrl, `drop database "${database}" with (force)`)
})

describe('migrateDatabase', () => {
  it('makes an empty database into what the schema describes', async () => {
    await expect(migrate()).resolves.toEqual({ applied: ['20260101000000_first'] })
    await query(
      url,
      `insert into wallet values ('00000000-0000-0000-0000-000000000001', 18446744073709551615)`
    )
    await expect(query(url, 'select balance from wallet')).resolves.toEqual([
      { balance: '18446744073709551615' }
    ])
  })

  it('applies nothing the second time', async () => {
    await migrate()
    await expect(migrate()).resolves.toEqual({ applied: [] })
    await expect(recorded()).resolves.toEqual(['20260101000000_first'])
  })

  it('applies only what is new, in the order of the names, function bodies included', async () => {
    await migrate()
    await addMigration('20260103000000_third', 'create table third (id int)')
    await addMigration('20260102000000_second', secondMigration)
    const lines: string[] = []
    await expect(migrate((line) => lines.push(line))).resolves.toEqual({
      applied: ['20260102000000_second', '20260103000000_third']
    })
    expect(lines).toEqual(['applied 20260102000000_second', 'applied 20260103000000_third'])
    await expect(query(url, 'select double(21)::text as answer')).resolves.toEqual([{ answer: '42' }])
  })

  it('applies once when five run at once', async () => {
    await addMigration('20260102000000_second', secondMigration)
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate()))
    expect(results.flatMap(({ applied }) => applied)).toEqual([
      '20260101000000_first',
      '20260102000000_second'
    ])
    await expect(recorded()).resolves.toEqual(['20260101000000_first', '20260102000000_second'])
  })

  it('leaves nothing of a migration that fails, and does not repeat it on its own', async () => {
    await migrate()
    await addMigration(
      '20260102000000_broken',
      'create table kept (id int); insert into kept values (1 / 0);'
    )
    await expect(migrate()).rejects.toThrow(
      /^20260102000000_broken could not be applied[^]*division by zero$/
    )
    await expect(query(url, `select to_regclass('kept') as kept`)).resolves.toEqual([{ kept: null }])
    await expect(migrate()).rejects.toThrow('earlier failed')
  })

  it('refuses a migration that was edited after it was applied', async () => {
    await migrate()
    await addMigration('20260101000000_first', `${await migrationSql(schema)}\ncreate table more (id int);`)
    await expect(migrate()).rejects.toThrow(
      'edited after it was applied to this database: 20260101000000_first'
    )
  })

  it('lets an older release run on a database that is ahead of it', async () => {
    await addMigration('20260102000000_second', secondMigration)
    await migrate()
    await rm(join(folder, 'migrations', '20260102000000_second'), { recursive: true })
    await expect(migrate()).resolves.toEqual({ applied: [] })
  })
})

describe('createDatabaseIfMissing', () => {
  it('creates a database once when ten do it at once', async () => {
    const name = `${database}_more "quoted"`
    await Promise.all(Array.from({ length: 10 }, () => createDatabaseIfMissing({ adminUrl, name })))
    await expect(
      query(adminUrl, 'select 1 as one from pg_database where datname = $1', [name])
    ).resolves.toHaveLength(1)
    await query(adminUrl, `drop database ${pg.escapeIdentifier(name)}`)
  })

  it('refuses a name that PostgreSQL would cut off', async () => {
    await expect(createDatabaseIfMissing({ adminUrl, name: 'x'.repeat(64) })).rejects.toThrow(
      'longer than 63 bytes'
    )
  })
})

function migrate(log?: (line: string) => void) {
  return migrateDatabase({
    url,
    schemaPath: join(folder, 'schema.prisma'),
    migrationsPath: join(folder, 'migrations'),
    ...(log && { log })
  })
}

async function addMigration(name: string, sql: string): Promise<void> {
  await mkdir(join(folder, 'migrations', name), { recursive: true })
  await writeFile(join(folder, 'migrations', name, 'migration.sql'), sql)
}

async function recorded(): Promise<unknown[]> {
  const rows = await query(url, 'select migration_name from _prisma_migrations order by started_at')
  return rows.map((row) => row.migration_name)
}

async function query(
  databaseUrl: string,
  text: string,
  values?: unknown[]
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows
  } finally {
    await client.end()
  }
}
