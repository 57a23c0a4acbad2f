import { DateTime } from 'luxon'
import { DAY_MS, type Duration, HOUR_MS, MINUTE_MS, SECOND_MS, WEEK_MS } from './duration.js'
import { intervalBounds, type RepeatingInterval } from './repeating-interval.js'

/**
 * A repeating interval in plain words, for the person who is asked to consent: `every month from 1 January 2026, 12
 * times`, `every month until 1 January 2027, 12 times`, `every 2 weeks from 1 January 2026, 09:30 UTC, without end`,
 * `once, from 1 January 2026 to 1 February 2026`. All times are in UTC; midnight is left out.
 */
export function describeInterval(interval: RepeatingInterval): string {
  if (interval.count === 1) {
    const { startMs, endMs } = intervalBounds(interval, 0n)
    return `once, from ${describeInstant(startMs)} to ${describeInstant(endMs)}`
  }
  const every = `every ${describeDuration(interval.duration)}`
  const anchor = describeInstant(interval.anchorMs)
  const times = interval.count === undefined ? undefined : `${interval.count} times`
  return interval.anchor === 'start'
    ? `${every} from ${anchor}, ${times ?? 'without end'}`
    : [`${every} until ${anchor}`, times].filter((part) => part !== undefined).join(', ')
}

function describeInstant(instantMs: number): string {
  const instant = DateTime.fromMillis(instantMs, { zone: 'utc' }).setLocale('en-GB')
  const day = instant.toFormat('d LLLL yyyy')
  const { hour, minute, second, millisecond } = instant
  if (hour + minute + second + millisecond === 0) {
    return day
  }
  const seconds = millisecond > 0 ? ':ss.SSS' : second > 0 ? ':ss' : ''
  return `${day}, ${instant.toFormat(`HH:mm${seconds}`)} UTC`
}

/** The duration in the largest units that fit: `2 weeks`, `year and 6 months`; `month` alone for one month. */
function describeDuration({ months, milliseconds }: Duration): string {
  if (months === 0 && milliseconds % WEEK_MS === 0) {
    return joinWords([[milliseconds / WEEK_MS, 'week']])
  }
  return joinWords([
    [Math.floor(months / 12), 'year'],
    [months % 12, 'month'],
    [Math.floor(milliseconds / DAY_MS), 'day'],
    [Math.floor((milliseconds % DAY_MS) / HOUR_MS), 'hour'],
    [Math.floor((milliseconds % HOUR_MS) / MINUTE_MS), 'minute'],
    [(milliseconds % MINUTE_MS) / SECOND_MS, 'second']
  ])
}

function joinWords(units: readonly (readonly [count: number, unit: string])[]): string {
  const present = units.filter(([count]) => count > 0)
  const words = present.map(([count, unit]) => {
    if (count !== 1) {
      return `${count} ${unit}s`
    }
    return present.length === 1 ? unit : `1 ${unit}`
  })
  return words.length === 1 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.slice(-1).join()}`
}
