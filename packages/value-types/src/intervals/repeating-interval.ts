import {
  addMonths,
  assertInRange,
  INSTANT_MAX_MS,
  INSTANT_MIN_MS,
  MEAN_MONTH_MS,
  parseInstant
} from './calendar.js'
import { type Duration, parseDuration } from './duration.js'
import { IntervalError } from './interval-error.js'

/** The longest text of an interval, in characters. */
export const INTERVAL_LENGTH_MAX = 128

/**
 * An ISO 8601 repeating interval: a chain of intervals without gap or overlap, each with a number.
 *
 * Boundary `k` of the chain is `anchorMs + (k − anchorBoundary) × duration`, always counted from the one instant that
 * the text names, in UTC: months first, then the fixed time. So `R/2026-01-31T00:00:00Z/P1M` begins on 31 January, 28
 * February, 31 March. Interval `k` runs from boundary `k`, inclusive, to boundary `k + 1`, exclusive.
 *
 * The first interval has number 0. A chain without a first one, `R/<duration>/<end>`, is numbered backwards: its last
 * interval has number −1.
 */
export interface RepeatingInterval {
  /** The text this was read from. */
  readonly text: string
  /** How many intervals there are in all; `undefined` when they are without number. */
  readonly count: number | undefined
  readonly duration: Duration
  /** The instant the text names, in milliseconds since 1970. */
  readonly anchorMs: number
  /** Whether that instant starts the first interval or ends the last. */
  readonly anchor: 'start' | 'end'
}

/**
 * Reads a repeating interval (interface 2.4, ISO 8601-1 §5.6).
 *
 * - `R<n>/<start>/<duration>`.
 * - `R<n>/<start>/<end>`: every interval is exactly as many milliseconds long as the first.
 * - `R<n>/<duration>/<end>`: `<end>` is the end of the *last* interval, as ISO 8601 defines it; the others come before.
 *
 * `R<n>` means exactly n intervals in all. `R` and `R-1` mean that they go on for ever: forwards from a start, backwards
 * from an end.
 *
 * @throws IntervalError when the text is malformed, longer than 128 characters, has zero repetitions or an empty
 *   duration, or when the interval that the named instant bounds does not lie in the years 1970 to 9999
 */
export function parseRepeatingInterval(text: string): RepeatingInterval {
  if (typeof text !== 'string' || text.length > INTERVAL_LENGTH_MAX) {
    throw new IntervalError(`an interval must be a text of at most ${INTERVAL_LENGTH_MAX} characters`)
  }
  const [repetitions = '', first = '', second = '', ...others] = text.split('/')
  if (first === '' || second === '' || others.length > 0) {
    throw new IntervalError('an interval must have the form R<count>/<start>/<duration>')
  }
  const interval: RepeatingInterval = { text, count: parseCount(repetitions), ...parseChain(first, second) }
  const anchorBoundary = anchorBoundaryOf(interval)
  assertInRange(boundaryMs(interval, anchorBoundary))
  assertInRange(boundaryMs(interval, anchorBoundary + (interval.anchor === 'start' ? 1 : -1)))
  return interval
}

/**
 * The number of the interval that contains an instant; `undefined` when none does, because the instant is before the
 * first, after the last, or outside the years 1970 to 9999. Takes the same few steps however far away the instant is.
 *
 * @param instantMs milliseconds since 1970
 * @throws IntervalError for NaN
 */
export function intervalIndexAt(interval: RepeatingInterval, instantMs: number): bigint | undefined {
  if (Number.isNaN(instantMs)) {
    throw new IntervalError('the instant is not a number')
  }
  const isBeyondAnchor =
    interval.anchor === 'start' ? instantMs < interval.anchorMs : instantMs >= interval.anchorMs
  if (isBeyondAnchor || instantMs < INSTANT_MIN_MS || instantMs > INSTANT_MAX_MS) {
    return undefined
  }
  const { months, milliseconds } = interval.duration
  const meanLengthMs = months * MEAN_MONTH_MS + milliseconds
  let index = Math.floor((instantMs - interval.anchorMs) / meanLengthMs) + anchorBoundaryOf(interval)
  // The estimate is off by at most one: the mean drifts from the calendar by less than the shortest month.
  while (boundaryMs(interval, index) > instantMs) {
    index -= 1
  }
  while (boundaryMs(interval, index + 1) <= instantMs) {
    index += 1
  }
  return isNumberOf(interval, index) ? BigInt(index) : undefined
}

/**
 * The bounds of an interval in milliseconds since 1970: the start inclusive, the end exclusive.
 *
 * @param index its number, as {@link intervalIndexAt} answers it
 * @throws IntervalError when there is no interval of that number, or no part of it lies in the years 1970 to 9999
 */
export function intervalBounds(
  interval: RepeatingInterval,
  index: bigint
): { startMs: number; endMs: number } {
  const number = Number(index)
  if (!isNumberOf(interval, number)) {
    throw new IntervalError('the interval has no repetition of that number')
  }
  // Every interval is at least a millisecond long, so that a number further away would lie outside the years meant.
  const isFar = Math.abs(number - anchorBoundaryOf(interval)) > INSTANT_MAX_MS
  const startMs = isFar ? NaN : boundaryMs(interval, number)
  const endMs = isFar ? NaN : boundaryMs(interval, number + 1)
  if (!(startMs <= INSTANT_MAX_MS && endMs > INSTANT_MIN_MS)) {
    throw new IntervalError('an interval must lie in the years 1970 to 9999')
  }
  return { startMs, endMs }
}

/**
 * When the next interval after an instant begins, in milliseconds since 1970; `undefined` when none does, or not before the
 * year 10000.
 *
 * @param instantMs milliseconds since 1970
 * @throws IntervalError for NaN
 */
export function nextIntervalStart(interval: RepeatingInterval, instantMs: number): number | undefined {
  const index = intervalIndexAt(interval, instantMs)
  const next = index === undefined ? 0 : Number(index) + 1
  if (!isNumberOf(interval, next)) return undefined
  const startMs = boundaryMs(interval, next)
  return startMs > instantMs && startMs <= INSTANT_MAX_MS ? startMs : undefined
}

/**
 * When the last interval ends, exclusive, in milliseconds since 1970; `undefined` when there is no last one, or it ends beyond
 * the year 9999.
 */
export function lastIntervalEnd(interval: RepeatingInterval): number | undefined {
  const { anchor, count } = interval
  if (anchor === 'start' && count === undefined) return undefined
  const endMs = boundaryMs(interval, count ?? 0)
  return endMs <= INSTANT_MAX_MS ? endMs : undefined
}

/** Which boundary the named instant is. */
function anchorBoundaryOf({ anchor, count }: RepeatingInterval): number {
  return anchor === 'start' ? 0 : (count ?? 0)
}

function isNumberOf({ anchor, count }: RepeatingInterval, index: number): boolean {
  if (count !== undefined) {
    return index >= 0 && index < count
  }
  return anchor === 'start' ? index >= 0 : index < 0
}

/** Boundary `k` of the chain, in milliseconds since 1970. Strictly increasing in `k`. */
function boundaryMs(interval: RepeatingInterval, boundary: number): number {
  const steps = boundary - anchorBoundaryOf(interval)
  const { months, milliseconds } = interval.duration
  return addMonths(interval.anchorMs, steps * months) + steps * milliseconds
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
): Pick<RepeatingInterval, 'duration' | 'anchorMs' | 'anchor'> {
  if (first.startsWith('P')) {
    return { duration: parseDuration(first), anchorMs: parseInstant(second), anchor: 'end' }
  }
  const anchorMs = parseInstant(first)
  if (second.startsWith('P')) {
    return { duration: parseDuration(second), anchorMs, anchor: 'start' }
  }
  const milliseconds = parseInstant(second) - anchorMs
  if (milliseconds <= 0) {
    throw new IntervalError('an interval must end after it starts')
  }
  return { duration: { months: 0, milliseconds }, anchorMs, anchor: 'start' }
}
