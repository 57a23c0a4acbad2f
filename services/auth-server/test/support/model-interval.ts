/** A repeating interval of the model, by its parts. */
export interface ModelInterval {
  /** The instant in the text, in milliseconds since 1970. */
  readonly anchorMs: number
  /** Whether that instant starts the first interval or ends the last. */
  readonly anchor: 'start' | 'end'
  /** Number of intervals; unlimited when undefined. */
  readonly count: number | undefined
  /** Length of each, in its unit. */
  readonly length: number
  readonly unit: 'hour' | 'day' | 'month'
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The text of the interval in a grant request. */
export function textOf({ anchorMs, anchor, count, length, unit }: ModelInterval): string {
  const duration = { hour: `PT${String(length)}H`, day: `P${String(length)}D`, month: `P${String(length)}M` }[
    unit
  ]
  const instant = new Date(anchorMs).toISOString()
  const chain = anchor === 'start' ? [instant, duration] : [duration, instant]
  return [`R${String(count ?? '')}`, ...chain].join('/')
}

/**
 * Number of the interval that contains an instant, found by walking from the named instant, one interval after the other.
 *
 * @returns undefined when none contains it
 */
export function intervalAt(interval: ModelInterval, atMs: number): bigint | undefined {
  const { anchorMs, anchor, count = Infinity } = interval
  if (anchor === 'start') {
    if (atMs < anchorMs) return undefined
    for (let index = 0; index < count; index += 1) {
      if (atMs < boundaryMs(interval, index + 1)) return BigInt(index)
    }
    return undefined
  }
  if (atMs >= anchorMs) return undefined
  for (let back = 1; back <= count; back += 1) {
    // Without a first interval, the last one is number -1.
    if (atMs >= boundaryMs(interval, -back)) return BigInt((interval.count ?? 0) - back)
  }
  return undefined
}

/** The first boundary of the chain after an instant; undefined when there is none. */
export function boundaryAfter(interval: ModelInterval, atMs: number): number | undefined {
  const { anchorMs, anchor, count = Infinity } = interval
  if (anchor === 'start') {
    for (let index = 0; index <= count; index += 1) {
      const boundary = boundaryMs(interval, index)
      if (boundary > atMs) return boundary
    }
    return undefined
  }
  let next = anchorMs > atMs ? anchorMs : undefined
  for (let back = 1; back <= count && boundaryMs(interval, -back) > atMs; back += 1) {
    next = boundaryMs(interval, -back)
  }
  return next
}

/** The boundary this many intervals after the named instant, or before it, in milliseconds since 1970. */
function boundaryMs({ anchorMs, length, unit }: ModelInterval, steps: number): number {
  switch (unit) {
    case 'hour':
      return anchorMs + steps * length * HOUR_MS
    case 'day':
      return anchorMs + steps * length * DAY_MS
    case 'month':
      return plusMonths(anchorMs, steps * length)
  }
}

/** The same day this many months later, or the last of that month if it has no such day. */
function plusMonths(atMs: number, months: number): number {
  const date = new Date(atMs)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + months, date.getUTCDate()]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const timeOfDayMs = atMs - Date.UTC(year, date.getUTCMonth(), day)
  return Date.UTC(year, month, Math.min(day, lastDay)) + timeOfDayMs
}
