import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHash, randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { createDatabaseIfMissing } from './create-database.js'
import { type SchemaEngine, withSchemaEngine } from '../test/support/schema-engine.js'
import { migrateDatabase, MigrationFailed, type MigrateOptions } from './migrate.js'

const NO_FILTERS = { externalTables: [], externalEnums: [] }
const adminUrl = process.env.TEST_POSTGRES_URL ?? ''
const firstMigration = 'create table wallet (id uuid primary key, balance numeric(20, 0) not null);'
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
  database = `migrate_${randomBytes(6).toString('hex')}`
  url = Object.assign(new URL(adminUrl), { pathname: `/${database}` }).href
  await createDatabaseIfMissing({ adminUrl, name: database })
  await addMigration('20260101000000_first', firstMigration)
})

afterEach(async () => {
  await rm(folder, { recursive: true })
  await query(adminUrl, `drop database "${database}" with (force)`)
})

describe('migrateDatabase', () => {
  it('applies the migrations to an empty database', async () => {
    await expect(migrate()).resolves.toEqual({ applied: ['20260101000000_first'] })
    await query(
      url,
      `insert into wallet values ('00000000-0000-0000-0000-000000000001', 18446744073709551615)`
    )
    await expect(query(url, 'select balance from wallet')).resolves.toEqual([
      { balance: '18446744073709551615' }
    ])
  })

  it.each([
    ['has another port', { port: '1' }, 'correct its host, port or TLS'],
    ['names somebody else', { username: 'nobody', password: 'canary' }, 'correct its name or password'],
    ['names another database', { pathname: '/not_there' }, 'create it, or correct its name']
  ])('says what to do when its URL %s, and not what the URL contains', async (_what, changes, advice) => {
    const wrong = Object.assign(new URL(url), changes).href
    const failure = await failureOf(
      migrateDatabase({
        url: wrong,
        migrationsPath: join(folder, 'migrations')
      })
    )
    expect(failure).toBeInstanceOf(MigrationFailed)
    expect(String(failure)).toContain(advice)
    const { password } = new URL(wrong)
    expect(password).not.toBe('')
    expect(String(failure)).not.toContain(password)
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

  it('leaves nothing of a failed migration, and applies the corrected one', async () => {
    await migrate()
    const broken = 'create table kept (id int); insert into kept values (1 / 0);'
    await addMigration('20260102000000_broken', broken)
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(migrate()).rejects.toThrow(
        /^20260102000000_broken could not be applied, and nothing of it is left: division by zero.* migrate again$/
      )
      await expect(query(url, `select to_regclass('kept') as kept`)).resolves.toEqual([{ kept: null }])
    }
    await addMigration('20260102000000_broken', 'create table kept (id int)')
    await expect(migrate()).resolves.toEqual({ applied: ['20260102000000_broken'] })
  })

  it('reapplies a migration whose process ended before its end was recorded', async () => {
    await migrate()
    await addMigration('20260102000000_second', secondMigration)
    await query(
      url,
      `insert into _prisma_migrations (id, checksum, migration_name) values ('1', 'x', '20260102000000_second')`
    )
    const lines: string[] = []
    await expect(migrate((line) => lines.push(line))).resolves.toEqual({
      applied: ['20260102000000_second']
    })
    expect(lines[0]).toBe('20260102000000_second failed or was interrupted before: it is applied anew')
  })

  it('finds out whether a migration succeeded whose connection was lost', async () => {
    await migrate()
    await addMigration(
      '20260102000000_lost',
      'create table a (id int); select pg_terminate_backend(pg_backend_pid());'
    )
    await expect(migrate()).rejects.toThrow(
      /^the connection was lost while 20260102000000_lost was applied .* Migrate again/
    )
    await addMigration('20260102000000_lost', 'create table a (id int)')
    await expect(migrate()).resolves.toEqual({ applied: ['20260102000000_lost'] })
  })

  it('does not reapply a migration that was committed after its client was gone', async () => {
    await migrate()
    const slow = 'select pg_advisory_xact_lock(1); create table once (id int)'
    await addMigration('20260102000000_slow', slow)
    const checksum = createHash('sha256').update(slow).digest('hex')
    const record = `insert into _prisma_migrations (id, checksum, migration_name) values ('1', $1, '20260102000000_slow')`
    await query(url, record, [checksum])
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    await other.query('select pg_advisory_lock(1)')
    // The process is gone, and PostgreSQL still works for it.
    const abandoned = query(
      url,
      `update _prisma_migrations set finished_at = now() where finished_at is null; ${slow}`
    )
    await whenLocked(1)
    const migrated = migrate()
    await whenLocked(2)
    await other.end()
    await expect(migrated).resolves.toEqual({ applied: [] })
    await abandoned
  })

  it('blocks others only briefly, and continues when they end', async () => {
    await migrate()
    await addMigration('20260102000000_column', 'alter table wallet add column note text')
    const reader = new pg.Client({ connectionString: url })
    await reader.connect()
    await reader.query('begin; select * from wallet')
    const lines: string[] = []
    const migrated = migrate(
      (line) => {
        lines.push(line)
        // What came while the migration waited went on meanwhile: only now does the reader end.
        if (lines.length === 1) void query(url, 'select * from wallet').then(() => reader.end())
      },
      { lockTimeoutMs: 50, retryPauseMs: 20 }
    )
    await expect(migrated).resolves.toEqual({ applied: ['20260102000000_column'] })
    expect(lines[0]).toBe('others have taken a lock that the migration needs; it is tried again')
  })

  it('finally gives up, names the sessions that may have taken the locks, and leaves nothing', async () => {
    await migrate()
    await addMigration('20260102000000_column', 'alter table wallet add column note text')
    const reader = new pg.Client({ connectionString: url, application_name: 'report' })
    await reader.connect()
    await reader.query('begin; select * from wallet')
    await expect(migrate(undefined, { lockTimeoutMs: 20, lockWaitMaxMs: 0 })).rejects.toThrow(
      /^20260102000000_column could not be applied, and nothing of it is left: others have taken a lock .*pid \d+ \(report\)/
    )
    await reader.end()
    await expect(migrate()).resolves.toEqual({ applied: ['20260102000000_column'] })
  })

  describe('a migration that runs alone', () => {
    const name = '20260102000000_index'
    const index =
      '-- run: alone\ncreate unique index concurrently if not exists wallet_balance_idx on wallet (balance);'
    const isValid = () =>
      query(url, `select indisvalid from pg_index where indexrelid = to_regclass('wallet_balance_idx')`)

    it('builds an index while others write, also when several migrate at once', async () => {
      await migrate()
      await addMigration(name, index)
      const results = await Promise.all(Array.from({ length: 3 }, () => migrate()))
      expect(results.flatMap(({ applied }) => applied)).toEqual([name])
      await expect(isValid()).resolves.toEqual([{ indisvalid: true }])
    })

    it('replaces the invalid index of an interrupted attempt', async () => {
      await migrate()
      await addMigration(name, index)
      await query(
        url,
        `insert into wallet values ('00000000-0000-0000-0000-000000000001', 1), ('00000000-0000-0000-0000-000000000002', 1)`
      )
      await expect(migrate()).rejects.toThrow(
        /^20260102000000_index could not be applied, and what it left is taken up .*could not create unique index/
      )
      await expect(isValid()).resolves.toEqual([{ indisvalid: false }])
      await query(url, `delete from wallet where id = '00000000-0000-0000-0000-000000000002'`)
      await expect(migrate()).resolves.toEqual({ applied: [name] })
      await expect(isValid()).resolves.toEqual([{ indisvalid: true }])
    })
  })

  it('repeats a migration that runs in batches until there is nothing left to change', async () => {
    await migrate()
    await query(url, `insert into wallet select gen_random_uuid(), 0 from generate_series(1, 5)`)
    await addMigration(
      '20260102000000_fill',
      `-- run: in batches
       update wallet set balance = 7 where id in (select id from wallet where balance = 0 limit 2);`
    )
    await expect(migrate()).resolves.toEqual({ applied: ['20260102000000_fill'] })
    await expect(query(url, 'select distinct balance from wallet')).resolves.toEqual([{ balance: '7' }])
  })

  it('refuses a migration that was edited after it was applied', async () => {
    await migrate()
    await addMigration('20260101000000_first', `${firstMigration}\ncreate table more (id int);`)
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

describe("Prisma's own schema engine", () => {
  const UP_TO_DATE = {
    editedMigrationNames: [],
    failedMigrationNames: [],
    hasMigrationsTable: true,
    history: null
  }
  const migrations = async () => ({
    baseDir: folder,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"' },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      (await readdir(join(folder, 'migrations'))).sort().map(async (path) => ({
        path,
        migrationFile: {
          path: 'migration.sql',
          content: {
            tag: 'ok' as const,
            value: await readFile(join(folder, 'migrations', path, 'migration.sql'), 'utf8')
          }
        }
      }))
    )
  })
  const diagnose = async (engine: SchemaEngine) =>
    engine.diagnoseMigrationHistory({
      migrationsList: await migrations(),
      optInToShadowDatabase: false,
      filters: NO_FILTERS
    })
  const apply = async (engine: SchemaEngine) =>
    (await engine.applyMigrations({ migrationsList: await migrations(), filters: NO_FILTERS }))
      .appliedMigrationNames
  const historyColumns = () =>
    query(
      url,
      `select column_name, data_type, character_maximum_length, is_nullable, column_default
         from information_schema.columns where table_name = '_prisma_migrations' order by ordinal_position`
    )

  it('agrees with the recorded history: nothing is missing, edited or failed', async () => {
    await addMigration('20260102000000_second', secondMigration)
    await addMigration(
      '20260103000000_fill',
      '-- run: in batches\nupdate wallet set balance = 0 where false;'
    )
    await migrate()
    await withSchemaEngine(url, async (engine) => {
      expect(await diagnose(engine)).toEqual(UP_TO_DATE)
      expect(await apply(engine)).toEqual([])
    })
  })

  it('applies the next migration, and this runner continues from its history', async () => {
    await migrate()
    await addMigration('20260102000000_second', 'create table second (id int)')
    await withSchemaEngine(url, async (engine) => {
      expect(await apply(engine)).toEqual(['20260102000000_second'])
    })
    await expect(migrate()).resolves.toEqual({ applied: [] })
  })

  it('creates the same history table and rows', async () => {
    const row = 'select checksum, logs, rolled_back_at, applied_steps_count from _prisma_migrations'
    await migrate()
    const ours = [await historyColumns(), await query(url, row)]
    await query(url, 'drop table wallet, _prisma_migrations')
    await withSchemaEngine(url, apply)
    expect([await historyColumns(), await query(url, row)]).toEqual(ours)
  })

  it('reports a migration that failed here as failed', async () => {
    await migrate()
    await addMigration('20260102000000_broken', 'select 1 / 0')
    await failureOf(migrate())
    await withSchemaEngine(url, async (engine) => {
      expect(await diagnose(engine)).toMatchObject({ failedMigrationNames: ['20260102000000_broken'] })
    })
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

  it('refuses a name that PostgreSQL would truncate', async () => {
    await expect(createDatabaseIfMissing({ adminUrl, name: 'x'.repeat(64) })).rejects.toThrow(
      'longer than 63 bytes'
    )
  })
})

/** Waits until so many sessions of the database wait for locks. */
async function whenLocked(count: number): Promise<void> {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await query(url, waiting)).length < count);
}

function migrate(log?: (line: string) => void, lockWaiting?: MigrateOptions['lockWaiting']) {
  return migrateDatabase({
    url,
    migrationsPath: join(folder, 'migrations'),
    ...(log && { log }),
    ...(lockWaiting && { lockWaiting })
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
