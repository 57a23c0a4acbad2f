import { Prisma } from '../database.js'

/**
 * Fragments over the outcomes that the auth server has not acknowledged. They read only the ends of partial indexes,
 * whatever the size of the table.
 */
export const undelivered = {
  /** Since when the oldest has been waiting. */
  oldest: Prisma.sql`(
    select outcome_since from grant_reservation where outcome is not null and delivered_at is null
     order by outcome_since limit 1)`,
  /** The number of them, counted up to a limit. */
  count: (limit: number): Prisma.Sql => Prisma.sql`(
    select count(*) from (
      select 1 from grant_reservation where outcome is not null and delivered_at is null limit ${limit}::integer
    ) undelivered)::integer`
}
