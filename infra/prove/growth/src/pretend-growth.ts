import type { TestDatabase } from '@open-payments-server/testing'
import { SMALL_TABLES } from './few-rows.js'

/** Number of rows that tables pretend to have. */
const PRETENDED_ROWS = 1_000_000

/**
 * Makes PostgreSQL plan as if every table had a million rows, except those that stay small. PostgreSQL multiplies the rows per
 * page by the actual number of pages, so the statistics of a table say that one page contains all rows, and an empty table gets
 * a row. Without statistics of columns, the planner uses its default selectivities.
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

/** The tables that actually have more rows, by PostgreSQL's last count. */
export async function findBigTables(database: TestDatabase, rowsMin: number): Promise<ReadonlySet<string>> {
  const tables = await database.query<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples > $1`,
    [rowsMin]
  )
  return new Set(tables.map(({ name }) => name))
}
