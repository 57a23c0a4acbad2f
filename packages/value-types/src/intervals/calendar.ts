import { DateTime } from 'luxon'
import { IntervalError } from './interval-error.js'

/** The first instant an interval may start at, in milliseconds since 1970: 1970-01-01T00:00:00Z. */
export const INSTANT_MIN_MS = 0

/** The last instant an interval may start at: 9999-12-31T23:59:59.999Z. */
export const INSTANT_MAX_MS = 253_402_300_799_999

/**
 * The mean length of a Gregorian month, in milliseconds: 146,097 days in 4,800 months. Multiplied by a number of
 * months it stays within a few days of the calendar, however many they are.
 */
export const MEAN_MONTH_MS = (146_097 / 4_800) * 86_400_000

const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?:[.,](\d{1,9}))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * Reads an ISO 8601 date and time with its offset from UTC: `2026-01-31T00:00:00Z`, `2026-01-31T01:00:00.5+01:00`.
 * Seconds may be left out. A fraction of a second may have up to nine digits; what is finer than a millisecond is cut
 * off. A time without an offset would mean another instant to every reader and is refused.
 *
 * @returns milliseconds since 1970
 * @throws IntervalError for any other text, a day the calendar does not have, or a year outside 1970 to 9999
 */
export function parseInstant(text: string): number {
  const match = DATE_TIME.exec(text)
  if (match === null || (match[2] !== undefined && match[1]?.length !== 'yyyy-MM-ddTHH:mm:ss'.length)) {
    throw new IntervalError(
      'a timestamp of an interval must be a date and time with an offset, for example 2026-01-31T00:00:00Z'
    )
  }
  const milliseconds = (match[2] ?? '').padEnd(3, '0').slice(0, 3)
  const instant = DateTime.fromISO(`${match[1] ?? ''}${match[3] ?? ''}`, { zone: 'utc' })
  if (!instant.isValid) {
    throw new IntervalError('a timestamp of an interval names a day that does not exist')
  }
  return assertInRange(instant.toMillis() + Number(milliseconds))
}

/**
 * Adds calendar months in UTC. A day that the month reached does not have becomes that month's last: 31 January and
 * one month is 28 or 29 February.
 *
 * @param instantMs milliseconds since 1970
 * @param months may be negative
 */
export function addMonths(instantMs: number, months: number): number {
  // Not luxon: every reservation on a grant comes through here, and this takes a tenth of the time.
  const instant = new Date(instantMs)
  const day = instant.getUTCDate()
  instant.setUTCMonth(instant.getUTCMonth() + months)
  if (instant.getUTCDate() !== day) {
    // The month is too short and Date has counted on into the next one; its day 0 is the last of the month meant.
    instant.setUTCDate(0)
  }
  return instant.getTime()
}

/**
 * Answers the instant when it lies in the years 1970 to 9999.
 *
 * @throws IntervalError otherwise, also for NaN
 */
export function assertInRange(instantMs: number): number {
  if (!(instantMs >= INSTANT_MIN_MS && instantMs <= INSTANT_MAX_MS)) {
    throw new IntervalError('an interval must lie in the years 1970 to 9999')
  }
  return instantMs
}
