import { IntervalError } from './interval-error.js'

/**
 * A duration as it takes part in calendar arithmetic, in UTC: whole months (years are twelve), and then a fixed time
 * (weeks, days and below; in UTC every day has 24 hours). Neither is negative, and not both are zero.
 */
export interface Duration {
  readonly months: number
  readonly milliseconds: number
}

export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const WEEK_MS = 7 * DAY_MS

/** The longest duration, for each of its two parts: 10,000 years. No interval of the years 1970 to 9999 is longer. */
const MONTHS_MAX = 120_000n
const MILLISECONDS_MAX = 3_652_425n * BigInt(DAY_MS)

const COMPONENT = String.raw`(\d+(?:[.,]\d{1,9})?)`
const DURATION = new RegExp(
  `^P(?=.)(?:${COMPONENT}Y)?(?:${COMPONENT}M)?(?:${COMPONENT}W)?(?:${COMPONENT}D)?` +
    `(?:T(?=.)(?:${COMPONENT}H)?(?:${COMPONENT}M)?(?:${COMPONENT}S)?)?$`
)

/** What one of each component is, in the order of the text: first months, then milliseconds. */
const COMPONENT_MONTHS = [12, 1]
const COMPONENT_MS = [WEEK_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS]

/**
 * Reads an ISO 8601 duration such as `P1M`, `P2W`, `P1Y2M10DT2H30M` or `PT0.5S`. Weeks may stand beside other
 * components. The last component may have a fraction where that comes to whole milliseconds; years and months may
 * not, since the calendar has no half month.
 *
 * @throws IntervalError for any other text, an empty duration such as `PT0S`, or one longer than 10,000 years
 */
export function parseDuration(text: string): Duration {
  const match = DURATION.exec(text)
  if (match === null) {
    throw new IntervalError('the duration of an interval must be an ISO 8601 duration, for example P1M')
  }
  const components = match.slice(1) as (string | undefined)[]
  const lastIndex = components.findLastIndex((component) => component !== undefined)
  const fractionIndex = components.findIndex((component) => component !== undefined && /[.,]/.test(component))
  if (fractionIndex !== -1 && (fractionIndex !== lastIndex || fractionIndex < COMPONENT_MONTHS.length)) {
    throw new IntervalError('only the last component of a duration may have a fraction, and no year or month')
  }
  const months = sumOf(components.slice(0, COMPONENT_MONTHS.length), COMPONENT_MONTHS)
  const milliseconds = sumOf(components.slice(COMPONENT_MONTHS.length), COMPONENT_MS)
  if (months === 0n && milliseconds === 0n) {
    throw new IntervalError('the duration of an interval must not be empty')
  }
  if (months > MONTHS_MAX || milliseconds > MILLISECONDS_MAX) {
    throw new IntervalError('the duration of an interval must not be longer than 10,000 years')
  }
  return { months: Number(months), milliseconds: Number(milliseconds) }
}

function sumOf(components: (string | undefined)[], units: readonly number[]): bigint {
  return units.reduce((sum, unit, index) => sum + wholeUnits(components[index] ?? '0', BigInt(unit)), 0n)
}

/** `component × unit`, exactly; the component is a decimal. */
function wholeUnits(component: string, unit: bigint): bigint {
  const [whole = '0', fraction = ''] = component.split(/[.,]/)
  const scale = 10n ** BigInt(fraction.length)
  const product = BigInt(whole + fraction) * unit
  if (product % scale !== 0n) {
    throw new IntervalError('the duration of an interval must come to whole milliseconds')
  }
  return product / scale
}
