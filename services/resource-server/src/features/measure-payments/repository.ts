import type { Pool } from 'pg'

/** Most undelivered outcomes that are counted: beyond that it matters no more how many they are. */
export const UNDELIVERED_COUNTED_MAX = 10_000

/** What waits, and since when. An age is 0 where nothing waits. */
export interface PaymentMeasures {
  /** Age of the oldest outcome that the auth server has not acknowledged, in seconds. */
  readonly outboxOldestAgeSeconds: number
  /** How many outcomes it has not acknowledged, up to {@link UNDELIVERED_COUNTED_MAX}. */
  readonly undeliveredCount: number
  /** Age of the oldest pending payment, in seconds. */
  readonly pendingOldestAgeSeconds: number
}

/** Ends of partial indexes, and a count that stops: the cost does not grow with what the tables hold. */
const MEASURE = `
  select greatest(0, extract(epoch from now() - (
           select outcome_since from grant_reservation where outcome is not null and delivered_at is null
            order by outcome_since limit 1)))::float8 as "outboxOldestAgeSeconds",
         (select count(*) from (
           select 1 from grant_reservation where outcome is not null and delivered_at is null limit $1
         ) undelivered)::integer as "undeliveredCount",
         greatest(0, extract(epoch from now() - (
           select created_at from outgoing_payment where state = 'pending'
            order by created_at, id limit 1)))::float8 as "pendingOldestAgeSeconds"`

/** Measures what waits, with one statement. */
export async function measurePayments(pool: Pool): Promise<PaymentMeasures> {
  const { rows } = await pool.query<PaymentMeasures>({
    name: 'measure-payments',
    text: MEASURE,
    values: [UNDELIVERED_COUNTED_MAX]
  })
  const [measures] = rows
  if (measures === undefined) throw new Error('a statement without tables answered no row')
  return measures
}
