import { sql } from './sql.js'

/**
 * Fragment: `system_identifier` and `timeline_id` of the database. A new timeline begins when a standby is promoted or a backup is restored
 * to a moment. The name of the WAL file is exact from the promotion on, whereas `pg_control_checkpoint` waits for the next checkpoint. Any
 * user may query it, on a primary.
 */
export const currentTimeline = sql`
  select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline_id
    from pg_control_system() c`
