import { Prisma } from '../database.js'

/** Fragment: the approvals that wait, of which the one whose time is over first comes first. */
const WAITING = Prisma.sql`from payment_approval where decision is null`

/** Fragments over the payments that await approval. They read only the ends of a partial index, whatever the size of the table. */
export const approvalsWaiting = {
  /** The number of them, counted up to a limit. */
  count: (limit: number): Prisma.Sql =>
    Prisma.sql`(select count(*) from (select 1 ${WAITING} limit ${limit}::integer) waiting)::integer`,
  /** How long that whose time is over first has waited, in seconds; null when none waits. */
  longestWait: Prisma.sql`(
    select extract(epoch from now() - requested_at) ${WAITING} order by expires_at, payment_id limit 1)`,
  /** How much of its time that whose time is over first has used, from 0 to 1; above 1 when it is over; null when none waits. */
  mostUsed: Prisma.sql`(
    select extract(epoch from now() - requested_at) / extract(epoch from expires_at - requested_at) ${WAITING}
     order by expires_at, payment_id limit 1)`
}
