import type { TestDatabase } from './test-database.js'

/** Begins the names of tables that are left as they are: those of migrations, and of events, which go on all the time. */
const LEFT_ALONE = `'^(_prisma|event|webhook)'`

const TABLES = `
  select relname as name from pg_class
   where relkind = 'r' and relnamespace = 'public'::regnamespace and relname !~ ${LEFT_ALONE}`

/** SQLSTATE of a statement that a running one of the service waited for, and the other way round. */
const DEADLOCK = '40P01'

const CHECKS = `
  select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace and conrelid::regclass::text !~ ${LEFT_ALONE}`

/** Unique indexes that neither a primary nor a foreign key needs. */
const UNIQUE_INDEXES = `
  select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index i join pg_class c on c.oid = i.indrelid
   where c.relnamespace = 'public'::regnamespace and i.indisunique and c.relname !~ ${LEFT_ALONE}
     and not exists (select 1 from pg_constraint where conindid = i.indexrelid)`

/**
 * Runs statements that nothing hinders, as whoever may change tables can: no foreign key is looked at, and check constraints
 * and unique indexes are gone.
 *
 * @returns puts all rows, constraints and indexes back
 */
export async function damageDatabase(
  database: TestDatabase,
  statements: string
): Promise<() => Promise<void>> {
  const tables = await database.query<{ name: string }>(TABLES)
  const checks = await database.query<{ table: string; name: string; definition: string }>(CHECKS)
  const indexes = await database.query<{ name: string; definition: string }>(UNIQUE_INDEXES)
  await run(database, [
    'create schema undamaged',
    ...tables.map(({ name }) => `create table undamaged.${name} as table ${name}`),
    ...checks.map(({ table, name }) => `alter table ${table} drop constraint ${name}`),
    ...indexes.map(({ name }) => `drop index ${name}`),
    statements
  ])
  return () =>
    run(database, [
      ...tables.flatMap(({ name }) => [
        `delete from ${name}`,
        `insert into ${name} overriding system value table undamaged.${name}`
      ]),
      'drop schema undamaged cascade',
      ...checks.map(
        ({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`
      ),
      ...indexes.map(({ definition }) => definition)
    ])
}

/** Runs statements as one transaction, without the triggers that look at foreign keys. */
async function run(database: TestDatabase, statements: readonly string[]): Promise<void> {
  for (;;) {
    try {
      await database.inTransaction((query) =>
        query(`set local session_replication_role = replica; ${statements.join(';\n')}`)
      )
      return
    } catch (error) {
      if ((error as { code?: string }).code !== DEADLOCK) throw error
    }
  }
}
