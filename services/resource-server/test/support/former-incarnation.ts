import type { TestResourceServer } from './resource-server.js'

const DAY_SECONDS = 86_400

/** What the database was before. */
export interface FormerIncarnation {
  /** What differs from what it is: an earlier timeline, unless something else is said. */
  readonly differsIn?: 'system_identifier' | 'database_oid' | 'table_oid' | 'timeline_id'
  /** How long ago it was last seen; default: a day. */
  readonly lastSeenSecondsAgo?: number
}

/** Has the database know that it was something else before, since a day ago. */
export async function recordFormerIncarnation(
  database: TestResourceServer['database'],
  { differsIn = 'timeline_id', lastSeenSecondsAgo = DAY_SECONDS }: FormerIncarnation = {}
): Promise<void> {
  const differing = (column: FormerIncarnation['differsIn']) => (column === differsIn ? 1 : 0)
  await database.query(
    `insert into database_incarnation (system_identifier, database_oid, table_oid, timeline_id, first_seen_at, last_seen_at)
     select c.system_identifier + $1::integer, d.oid::bigint + $2::integer, 'database_incarnation'::regclass::oid::bigint + $3::integer,
            case when $4::integer = 1 then 0 else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint end,
            now() - $5::integer * interval '1 second', now() - $6::integer * interval '1 second'
       from pg_control_system() c, pg_database d where d.datname = current_database()
     on conflict do nothing`,
    [
      differing('system_identifier'),
      differing('database_oid'),
      differing('table_oid'),
      differing('timeline_id'),
      DAY_SECONDS,
      lastSeenSecondsAgo
    ]
  )
}
