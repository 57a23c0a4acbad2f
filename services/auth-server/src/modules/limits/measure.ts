import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** Most open reservations that are counted: beyond that it matters no more how many they are. */
export const OPEN_COUNTED_MAX = 10_000

/** What holds room under grants, and since when. */
export interface ReservationMeasures {
  /** How many reservations are open, up to {@link OPEN_COUNTED_MAX}. */
  readonly openCount: number
  /** Age of the oldest open one, in seconds; 0 when there is none. */
  readonly openOldestAgeSeconds: number
}

/** The end of a partial index, and a count that stops: the cost does not grow with what the table holds. */
const MEASURE = new Statement<ReservationMeasures>(
  'measure-reservations',
  Prisma.sql`
  select (select count(*) from (
           select 1 from reservation where state = 'open' limit ${placeholder('countMax')}::integer
         ) opened)::integer as "openCount",
         greatest(0, extract(epoch from now() - (
           select created_at from reservation where state = 'open'
            order by created_at, payment_id limit 1)))::float8 as "openOldestAgeSeconds"`
)

/** Measures what is reserved, with one statement. */
export async function measureReservations(on: Queries): Promise<ReservationMeasures> {
  const [measures] = await MEASURE.rows(on, { countMax: OPEN_COUNTED_MAX })
  if (measures === undefined) throw new Error('a statement without tables answered no row')
  return measures
}
