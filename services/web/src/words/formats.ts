import { type AmountWire, parseAmount } from '@open-payments-server/value-types/amounts'
import { DateTime } from 'luxon'

/** Values as a language writes them. */
export interface Formats {
  /** `1,234.50 USD`: exact, whatever its size. */
  amount(amount: AmountWire): string
  /** The same as somebody types it: without groups and code. */
  plainAmount(amount: AmountWire): string
  /** `1 March 2027`. */
  date(instantMs: number): string
  /** With hour, minute and time zone. */
  instant(instantMs: number): string
  /** The last day of what ends at an instant, exclusive; the instant, if a day does not end with it. */
  until(endMs: number): string
  /** The last day of what ends at an instant, exclusive, as forms have it: `2027-03-31`. */
  plainDay(endMs: number): string
  /** When a day ends that a form has, exclusive; undefined for what is none. */
  endOfDay(day: string): number | undefined
  /** `25 %` of a whole, 0 to 100. */
  percent(share: number): string
  /** `3 months`; a list for a mixed duration. */
  duration(
    parts: readonly (readonly [
      count: number,
      unit: 'year' | 'month' | 'week' | 'day' | 'hour' | 'minute' | 'second'
    ])[]
  ): string
  list(parts: readonly string[]): string
}

/** Does not break between the number and its code. */
const NO_BREAK = '\u00a0'

const DAY = /^[12]\d{3}-\d{2}-\d{2}$/

/** @param timeZone in which dates are shown (IANA) */
export function createFormats(language: string, timeZone: string, decimalSign: string): Formats {
  // British dates have the day first, as most of the world does.
  const locale = language === 'en' ? 'en-GB' : language
  const whole = new Intl.NumberFormat(language)
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone })
  const instant = new Intl.DateTimeFormat(locale, {
    ...({ day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' } as const),
    timeZone,
    timeZoneName: 'short'
  })
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 })
  const list = new Intl.ListFormat(locale, { type: 'conjunction' })
  const withSign = (amount: AmountWire, writeWhole: (value: bigint) => string): string => {
    const { value, asset } = parseAmount(amount)
    const digits = value.toString().padStart(asset.scale + 1, '0')
    const units = writeWhole(BigInt(digits.slice(0, digits.length - asset.scale)))
    return asset.scale === 0 ? units : `${units}${decimalSign}${digits.slice(digits.length - asset.scale)}`
  }
  const lastDay = (endMs: number): DateTime => DateTime.fromMillis(endMs - 1, { zone: timeZone })
  return {
    amount: (amount) => `${withSign(amount, (value) => whole.format(value))}${NO_BREAK}${amount.assetCode}`,
    plainAmount: (amount) => withSign(amount, String),
    date: (instantMs) => date.format(instantMs),
    instant: (instantMs) => instant.format(instantMs),
    until: (endMs) =>
      lastDay(endMs).endOf('day').toMillis() === endMs - 1 ? date.format(endMs - 1) : instant.format(endMs),
    plainDay: (endMs) => lastDay(endMs).toFormat('yyyy-MM-dd'),
    endOfDay: (day) => {
      if (!DAY.test(day)) return undefined
      const parsed = DateTime.fromISO(day, { zone: timeZone })
      return parsed.isValid ? parsed.endOf('day').toMillis() + 1 : undefined
    },
    percent: (share) => percent.format(share / 100),
    duration: (parts) =>
      list.format(
        parts.map(([count, unit]) =>
          new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
        )
      ),
    list: (parts) => list.format(parts)
  }
}
