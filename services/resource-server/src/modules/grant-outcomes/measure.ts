import { Prisma } from '../database.js'

/** Fragments over what the auth server has not acknowledged: ends of partial indexes, whatever the table holds. */
export const undelivered = {
  /** Since when the oldest waits. */
  oldest: Prisma.sql`(
    select outcome_since from grant_reservation where outcome is not null and delivered_at is null
     order by outcome_since limit 1)`,
  /** How many wait, counted up to a limit. */
  count: (limit: number): Prisma.Sql => Prisma.sql`(
    select count(*) from (
      select 1 from grant_reservation where outcome is not null and delivered_at is null limit ${limit}::integer
    ) undelivered)::integer`
}
