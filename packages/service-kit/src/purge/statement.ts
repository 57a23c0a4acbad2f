import { placeholder, rawSql, sql, type Sql, Statement } from '@open-payments-server/database'
import type { PurgedBatch, PurgeStatement } from './repository.js'

/** A clock that runs ahead must not delete anything, so the earlier of the service's and the database's clocks counts. */
export const PURGE_NOW = sql`least(${placeholder('now')}::timestamptz, now())`

/** How long rows are kept after they ended, as an interval. */
export const RETENTION = sql`make_interval(secs => ${placeholder('retentionSeconds')}::integer)`

/** A number of seconds as an interval. */
export function interval(seconds: number): Sql {
  return rawSql(`make_interval(secs => ${String(seconds)})`)
}

/** A batch locks its rows; those that are locked are in use, or of another batch. */
const BATCH = sql`limit ${placeholder('countMax')}::integer for update skip locked`

/** Fragment: the main part of a statement that purges, by its parts `due` and `purged`. */
export const PURGED_COUNTS = sql`
  select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`

/** A table that is purged: its module names it. It has an `id`, and `alive_until`, before which no row has ended. */
export interface PurgedTable {
  /** `from quote` */
  readonly from: Sql
  /** `update quote` */
  readonly update: Sql
  /** `delete from quote` */
  readonly deleteFrom: Sql
}

/**
 * Fragment: the part `due`, the rows that may have ended before `instant (cutoff)`, oldest first, locked.
 *
 * @param columns that it has, such as `id, expires_at`
 */
export function dueRows({ from }: PurgedTable, columns: Sql): Sql {
  return sql`
  due as (
    select ${columns} ${from} where alive_until < (select cutoff from instant) order by alive_until ${BATCH})`
}

/**
 * Fragment: deletes those rows of `looked_at (id, alive_until)` that ended before `instant (cutoff)`. Postpones the others to
 * when they may have ended, and never looks again at those without an instant: so a batch never meets the same row twice, and
 * kept rows cost nothing. Returns `purged`, a row for each deleted one.
 */
export function purgedRows({ update, deleteFrom }: PurgedTable): Sql {
  return sql`
  put_off as (
    ${update} r set alive_until = looked_at.alive_until
      from looked_at cross join instant
     where r.id = looked_at.id and (looked_at.alive_until is null or looked_at.alive_until >= instant.cutoff)),
  purged as (
    ${deleteFrom} r using looked_at cross join instant
     where r.id = looked_at.id and looked_at.alive_until < instant.cutoff
    returning 1)`
}

/**
 * Purges rows that expire: each that may have expired is deleted, kept for good, or postponed to when it may expire next.
 *
 * @param options.table with `expires_at`
 * @param options.isKept the condition under which a row `due` is kept for good
 */
export function purgeExpired(options: {
  readonly name: string
  readonly table: PurgedTable
  readonly isKept: Sql
}): PurgeStatement {
  const { name, table, isKept } = options
  return new Statement<PurgedBatch>(
    name,
    sql`
  with instant as (select ${PURGE_NOW} - ${RETENTION} as cutoff),
  ${dueRows(table, sql`*`)},
  looked_at as (select due.id, case when ${isKept} then null else due.expires_at end as alive_until from due),
  ${purgedRows(table)}
  ${PURGED_COUNTS}`,
    { prepared: false }
  )
}

/**
 * Purges rows that each end at their own instant, and are deleted then.
 *
 * @param options.due selects the keys of those that ended, oldest first
 * @param options.deleted deletes the rows of `due`
 */
export function purgeEnded(options: {
  readonly name: string
  readonly due: Sql
  readonly deleted: Sql
}): PurgeStatement {
  const { name, due, deleted } = options
  return new Statement<PurgedBatch>(
    name,
    sql`with due as (${due} ${BATCH}), purged as (${deleted} returning 1) ${PURGED_COUNTS}`,
    { prepared: false }
  )
}
