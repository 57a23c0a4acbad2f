import type { TestDatabase } from '@open-payments-server/testing'

/** Rows that tables are said to have. */
const PRETENDED_ROWS = 1_000_000

/** Tables that stay small, however many payments there are: assets, and one timeline for each failover. */
const SMALL_TABLES: readonly string[] = ['_prisma_migrations', 'asset', 'database_timeline']

/**
 * Makes PostgreSQL plan as if every table held a million rows, except those that stay small. It goes by how many rows a page holds, times the pages that
 * there really are: a table of one page is said to hold all of them there, and is given a row where it has none. Which rows are
 * alike is not known then, so that what it expects of a condition is its default.
 *
 * @returns the tables
 */
export async function pretendGrowth(database: TestDatabase): Promise<ReadonlySet<string>> {
  const tables = await database.query<{ name: string; pages: number }>(
    `select c.relname as name, greatest(1, pg_relation_size(c.oid) / current_setting('block_size')::integer)::integer as pages
       from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> all ($1)`,
    [SMALL_TABLES]
  )
  for (const { name, pages } of tables) {
    await database.query(`alter table "${name}" set (autovacuum_enabled = off)`)
    await database.query(
      `select pg_restore_relation_stats('schemaname', 'public', 'relname', $1::text, 'relpages', $2::integer,
                                        'reltuples', ${PRETENDED_ROWS}::real)`,
      [name, pages]
    )
  }
  return new Set(tables.map(({ name }) => name))
}

/** The tables that really have more rows than this, as PostgreSQL last counted them. */
export async function findBigTables(database: TestDatabase, rowsMin: number): Promise<ReadonlySet<string>> {
  const tables = await database.query<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples > $1`,
    [rowsMin]
  )
  return new Set(tables.map(({ name }) => name))
}
