import { instantText, Statement } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { dueExpiries } from '../../modules/expiries/index.js'
import { expiredIncomingPaymentEvents } from '../../modules/incoming-payments/index.js'
import { expiredQuoteEvents } from '../../modules/quotes/index.js'

/**
 * How long after its end an expiry is told, in milliseconds. What began in time may still be under way, such as a payment that was
 * checked and is not persisted yet, or that a replica whose clock is behind makes: nothing happens after `expired`.
 */
export const TOLD_AFTER_MS = 60_000

/** Entries and events in one statement: an expiry is told once, by whichever replica. */
const TELL = new Statement<{ readonly due: number; readonly told: number }>(
  'tell-expiries',
  Prisma.sql`
  with ${dueExpiries}, expired as (
    ${expiredQuoteEvents} union all ${expiredIncomingPaymentEvents}
  ), ${appended(Prisma.sql`select * from expired`)}
  select (select count(*) from due)::integer as due, (select count(*) from expired)::integer as told`,
  { prepared: false }
)

/** What telling of expiries needs. */
export interface TellExpiriesDependencies {
  readonly database: Queries
  readonly clock: Clock
}

/**
 * Tells that quotes expired unused, and incoming payments before they were completed. Safe to run in several processes at once.
 *
 * @param countMax maximum number of expiries to look at
 * @returns how many were looked at, and how many of them are told
 */
export async function tellExpiries(
  countMax: number,
  { database, clock }: TellExpiriesDependencies
): Promise<{ readonly due: number; readonly told: number }> {
  const expiredBefore = instantText(clock.now() - TOLD_AFTER_MS)
  const [counted] = await TELL.rows(database, { expiredBefore, countMax })
  return counted ?? { due: 0, told: 0 }
}
