import { placeholder, Statement } from '@open-payments-server/database'
import type { PurgeStatement } from '@open-payments-server/service-kit/purge'
import { Prisma } from './database.js'

/**
 * Checks rows that may have expired, oldest first. Each is deleted, kept for good, or postponed to when it may expire next.
 * So a batch never meets the same row twice, and kept rows cost nothing.
 *
 * A clock that runs ahead must not delete anything, so the earlier of the service's and the database's clocks counts.
 *
 * @param options.table the table, with `id`, `expires_at` and `alive_until`
 * @param options.isKept the condition under which a row `due` is kept for good
 */
export function purgeStatement(options: {
  readonly name: string
  readonly table: Prisma.Sql
  readonly isKept: Prisma.Sql
}): PurgeStatement {
  const { name, table, isKept } = options
  return new Statement(
    name,
    Prisma.sql`
    with instant as (
      select least(${placeholder('now')}::timestamptz, now())
             - make_interval(secs => ${placeholder('retentionSeconds')}::integer) as cutoff),
    due as (
      select *
        from ${table}
       where alive_until < (select cutoff from instant)
       order by alive_until
       limit ${placeholder('countMax')}::integer
         for update skip locked),
    looked_at as (
      select due.id, case when ${isKept} then null else due.expires_at end as alive_until from due),
    put_off as (
      update ${table} r set alive_until = looked_at.alive_until
        from looked_at cross join instant
       where r.id = looked_at.id and (looked_at.alive_until is null or looked_at.alive_until >= instant.cutoff)),
    purged as (
      delete from ${table} r using looked_at cross join instant
       where r.id = looked_at.id and looked_at.alive_until < instant.cutoff
      returning 1)
    select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`,
    { prepared: false }
  )
}
