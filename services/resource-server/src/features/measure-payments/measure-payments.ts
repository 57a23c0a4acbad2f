import { Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../../modules/database.js'
import { undelivered } from '../../modules/grant-outcomes/index.js'
import { oldestPending } from '../../modules/outgoing-payments/index.js'

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
const MEASURE = new Statement<PaymentMeasures>(
  'measure-payments',
  Prisma.sql`
  select greatest(0, extract(epoch from now() - ${undelivered.oldest}))::float8 as "outboxOldestAgeSeconds",
         ${undelivered.count(UNDELIVERED_COUNTED_MAX)} as "undeliveredCount",
         greatest(0, extract(epoch from now() - ${oldestPending}))::float8 as "pendingOldestAgeSeconds"`
)

/** Measures what waits, with one statement. */
export async function measurePayments(on: Queries): Promise<PaymentMeasures> {
  const [measures] = await MEASURE.rows(on, {})
  if (measures === undefined) throw new Error('a statement without tables answered no row')
  return measures
}
