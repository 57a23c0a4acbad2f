import { type AmountWire, parseAmount } from '@open-payments-server/value-types/amounts'

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
  const list = new Intl.ListFormat(locale, { type: 'conjunction' })
  const withSign = (amount: AmountWire, writeWhole: (value: bigint) => string): string => {
    const { value, asset } = parseAmount(amount)
    const digits = value.toString().padStart(asset.scale + 1, '0')
    const units = writeWhole(BigInt(digits.slice(0, digits.length - asset.scale)))
    return asset.scale === 0 ? units : `${units}${decimalSign}${digits.slice(digits.length - asset.scale)}`
  }
  return {
    amount: (amount) => `${withSign(amount, (value) => whole.format(value))}${NO_BREAK}${amount.assetCode}`,
    plainAmount: (amount) => withSign(amount, String),
    date: (instantMs) => date.format(instantMs),
    instant: (instantMs) => instant.format(instantMs),
    duration: (parts) =>
      list.format(
        parts.map(([count, unit]) =>
          new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
        )
      ),
    list: (parts) => list.format(parts)
  }
}
