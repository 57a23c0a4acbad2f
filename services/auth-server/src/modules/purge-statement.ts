import { placeholder, Statement } from '@open-payments-server/database'
import type { PurgeStatement } from '@open-payments-server/service-kit/purge'
import { Prisma } from './database.js'

/** A clock that runs ahead must not delete anything, so the earlier of the service's and the database's clocks counts. */
export const PURGE_NOW = Prisma.sql`least(${placeholder('now')}::timestamptz, now())`

/** A number of seconds as an interval. */
export function interval(seconds: number): Prisma.Sql {
  return Prisma.raw(`make_interval(secs => ${String(seconds)})`)
}

/**
 * Deletes rows that each expire at their own instant.
 *
 * @param options.table the table
 * @param options.id its primary key
 * @param options.due selects the expired rows, oldest first
 */
export function purgeStatement(options: {
  readonly name: string
  readonly table: Prisma.Sql
  readonly id: Prisma.Sql
  readonly due: Prisma.Sql
}): PurgeStatement {
  const { name, table, id, due } = options
  return new Statement(
    name,
    Prisma.sql`
    with due as (${due} limit ${placeholder('countMax')}::integer for update skip locked),
    purged as (
      delete from ${table} r using due where r.${id} = due.${id}
      returning 1)
    select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`,
    { prepared: false }
  )
}
