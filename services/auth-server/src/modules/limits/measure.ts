import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** Maximum number of open reservations that are counted: beyond that the exact number does not matter. */
export const OPEN_COUNTED_MAX = 10_000

/** Open reservations, and their age. */
export interface ReservationMeasures {
  /** Number of open reservations, up to {@link OPEN_COUNTED_MAX}. */
  readonly openCount: number
  /** Age of the oldest open one, in seconds; 0 when there is none. */
  readonly openOldestAgeSeconds: number
}

/** Reads the end of a partial index, and a count with a limit: the cost does not grow with the table. */
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

/** Measures open reservations, with one statement. */
export async function measureReservations(on: Queries): Promise<ReservationMeasures> {
  const [measures] = await MEASURE.rows(on, { countMax: OPEN_COUNTED_MAX })
  if (measures === undefined) throw new Error('a statement without tables answered no row')
  return measures
}
