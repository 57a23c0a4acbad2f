import { rawSql, sql, type Sql } from './sql.js'

/**
 * Fragment: `system_identifier` and `timeline_id` of the database. A new timeline begins when a standby is promoted or a backup is restored
 * to a moment. The name of the WAL file is exact from the promotion on, whereas `pg_control_checkpoint` waits for the next checkpoint. Any
 * user may query it, on a primary.
 */
const CURRENT_TIMELINE = sql`
  select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline_id
    from pg_control_system() c`

/**
 * Fragment, a query with one row: the incarnation that the database is (`system_identifier`, `database_oid`, `table_oid`, `timeline_id`). It is
 * its timeline, and what a copy within one cluster does not have in common with its original: a dump that is restored makes another table, and
 * a database that is created from another one is another database. A standby and a recovery to a moment have both, and so has a table
 * that is rewritten.
 *
 * @param table name of the table that remembers incarnations
 */
export const currentIncarnation = (table: string): Sql => sql`
  select t.system_identifier, d.oid::bigint as database_oid, ${rawSql(`'${table}'::regclass::oid::bigint`)} as table_oid, t.timeline_id
    from (${CURRENT_TIMELINE}) t join pg_database d on d.datname = current_database()`
