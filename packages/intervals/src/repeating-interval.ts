import { addMonths, assertInRange, INSTANT_MAX_MS, MEAN_MONTH_MS, parseInstant } from './calendar.js'
import { type Duration, parseDuration } from './duration.js'
import { IntervalError } from './interval-error.js'

/** The longest text of an interval, in characters. */
export const INTERVAL_LENGTH_MAX = 128

/**
 * An ISO 8601 repeating interval: a chain of intervals without gap or overlap, numbered from 0.
 *
 * Boundary `k` of the chain is `anchorMs + (k − anchorBoundary) × duration`, always counted from the one instant that
 * the text names, in UTC: months first, then the fixed time. So `R/2026-01-31T00:00:00Z/P1M` begins on 31 January, 28
 * February, 31 March. Interval `k` runs from boundary `k`, inclusive, to boundary `k + 1`, exclusive.
 */
export interface RepeatingInterval {
  /** The text this was read from. */
  readonly text: string
  /** How many intervals there are in all; `undefined` when they never end. */
  readonly count: number | undefined
  readonly duration: Duration
  /** The instant the text names, in milliseconds since 1970. */
  readonly anchorMs: number
  /** Which boundary that instant is: 0, the start of the first interval; 1, its end (`R<n>/<duration>/<end>`). */
  readonly anchorBoundary: 0 | 1
}

/**
 * Reads a repeating interval (interface 2.4, ISO 8601-1 §5.6).
 *
 * - `R<n>/<start>/<duration>`.
 * - `R<n>/<start>/<end>`: every interval is exactly as many milliseconds long as the first.
 * - `R<n>/<duration>/<end>`: `<end>` is the end of the *first* interval, as ISO 8601 defines it; the others follow.
 *
 * `R<n>` means exactly n intervals in all. `R` and `R-1` mean that they never end.
 *
 * @throws IntervalError when the text is malformed, longer than 128 characters, has zero repetitions or an empty
 *   duration, or when its first interval does not lie in the years 1970 to 9999
 */
export function parseRepeatingInterval(text: string): RepeatingInterval {
  if (typeof text !== 'string' || text.length > INTERVAL_LENGTH_MAX) {
    throw new IntervalError(`an interval must be a text of at most ${INTERVAL_LENGTH_MAX} characters`)
  }
  const [repetitions = '', first = '', second = '', ...others] = text.split('/')
  if (first === '' || second === '' || others.length > 0) {
    throw new IntervalError('an interval must have the form R<count>/<start>/<duration>')
  }
  const interval = { text, count: parseCount(repetitions), ...parseChain(first, second) }
  assertInRange(boundaryMs(interval, 0))
  assertInRange(boundaryMs(interval, 1))
  return interval
}

/**
 * The number of the interval that contains an instant, from 0; `undefined` when none does, because the instant is
 * before the first, after the last, or after the year 9999. Takes the same few steps however far away the instant is.
 *
 * @throws IntervalError for an invalid date
 */
export function intervalIndexAt(interval: RepeatingInterval, instant: Date): bigint | undefined {
  const instantMs = instant.getTime()
  if (Number.isNaN(instantMs)) {
    throw new IntervalError('the instant is not a valid date')
  }
  if (instantMs < boundaryMs(interval, 0) || instantMs > INSTANT_MAX_MS) {
    return undefined
  }
  const { months, milliseconds } = interval.duration
  const meanLengthMs = months * MEAN_MONTH_MS + milliseconds
  let index = Math.max(
    0,
    Math.floor((instantMs - interval.anchorMs) / meanLengthMs) + interval.anchorBoundary
  )
  // The estimate is off by at most one: the mean drifts from the calendar by less than the shortest month.
  while (boundaryMs(interval, index) > instantMs) {
    index -= 1
  }
  while (boundaryMs(interval, index + 1) <= instantMs) {
    index += 1
  }
  return interval.count === undefined || index < interval.count ? BigInt(index) : undefined
}

/**
 * The bounds of an interval: `start` inclusive, `end` exclusive.
 *
 * @param index from 0
 * @throws IntervalError when there is no interval of that number, or it starts after the year 9999
 */
export function intervalBounds(interval: RepeatingInterval, index: bigint): { start: Date; end: Date } {
  if (index < 0n || (interval.count !== undefined && index >= BigInt(interval.count))) {
    throw new IntervalError('the interval has no repetition of that number')
  }
  // Every interval is at least a millisecond long, so that a greater number would start after the last instant.
  const isBeyond = index > BigInt(INSTANT_MAX_MS)
  const start = assertInRange(isBeyond ? Infinity : boundaryMs(interval, Number(index)))
  return { start: new Date(start), end: new Date(boundaryMs(interval, Number(index) + 1)) }
}

/** Boundary `k` of the chain, in milliseconds since 1970. Strictly increasing in `k`. */
function boundaryMs(
  { anchorMs, anchorBoundary, duration }: Omit<RepeatingInterval, 'text' | 'count'>,
  boundary: number
): number {
  const steps = boundary - anchorBoundary
  return addMonths(anchorMs, steps * duration.months) + steps * duration.milliseconds
}

function parseCount(text: string): number | undefined {
  if (text === 'R' || text === 'R-1') {
    return undefined
  }
  const count = /^R\d+$/.test(text) ? Number(text.slice(1)) : 0
  if (count === 0) {
    throw new IntervalError('an interval must begin with R, or with R and a number of repetitions above zero')
  }
  if (!Number.isSafeInteger(count)) {
    throw new IntervalError(`an interval must have at most ${Number.MAX_SAFE_INTEGER} repetitions`)
  }
  return count
}

function parseChain(
  first: string,
  second: string
): Pick<RepeatingInterval, 'duration' | 'anchorMs' | 'anchorBoundary'> {
  if (first.startsWith('P')) {
    return { duration: parseDuration(first), anchorMs: parseInstant(second), anchorBoundary: 1 }
  }
  const anchorMs = parseInstant(first)
  if (second.startsWith('P')) {
    return { duration: parseDuration(second), anchorMs, anchorBoundary: 0 }
  }
  const milliseconds = parseInstant(second) - anchorMs
  if (milliseconds <= 0) {
    throw new IntervalError('an interval must end after it starts')
  }
  return { duration: { months: 0, milliseconds }, anchorMs, anchorBoundary: 0 }
}
