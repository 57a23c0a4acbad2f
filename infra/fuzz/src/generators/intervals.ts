import fc from 'fast-check'

const YEARS = ['1969', '1970', '1999', '2000', '2024', '2026', '2027', '9999', '0000', '10000'] as const
const DAYS = [
  '01-01',
  '01-31',
  '02-28',
  '02-29',
  '02-30',
  '03-31',
  '12-31',
  '13-01',
  '00-00',
  '11-21'
] as const
const TIMES = [
  '00:00:00',
  '23:59:59',
  '23:59:60',
  '24:00:00',
  '12:30',
  '12:00:00.5',
  '12:00:00.123456789',
  '00:00:00,001'
] as const
const OFFSETS = ['Z', 'Z', 'Z', '+00:00', '-00:00', '+23:59', '-12:00', '', 'z', '+24:00'] as const

/** An instant in ISO 8601, in the present or at an edge. */
export const instant: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .integer({ min: 0, max: 4_000_000_000 })
      .map((seconds) => new Date(seconds * 1_000).toISOString())
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...YEARS),
        fc.constantFrom(...DAYS),
        fc.constantFrom(...TIMES),
        fc.constantFrom(...OFFSETS)
      )
      .map(([year, day, time, offset]) => `${year}-${day}T${time}${offset}`)
  }
)

const quantity = fc.oneof(
  { weight: 6, arbitrary: fc.nat(100).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '0',
      '00001',
      '120000',
      '120001',
      '9'.repeat(40),
      '0.5',
      '1,5',
      '0.123456789',
      '1.'
    )
  }
)

/** A duration in ISO 8601, of any of its parts. */
export const duration: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('P1M', 'P1D', 'P1Y', 'P2W', 'PT1H', 'PT0.001S', 'P1Y2M3W4DT5H6M7S', 'P10000Y')
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        ...['Y', 'M', 'W', 'D', 'H', 'M', 'S'].map((unit) =>
          fc.option(
            quantity.map((text) => text + unit),
            { freq: 1 }
          )
        )
      )
      .map((parts) => {
        const [days, times] = [parts.slice(0, 4), parts.slice(4)].map((some) => some.join(''))
        return `P${days ?? ''}${times === '' ? '' : `T${times ?? ''}`}`
      })
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'P',
      'PT',
      'PT0S',
      'P-1D',
      'P1S',
      'P1H',
      'PT1D',
      'P1M1Y',
      'p1d',
      'P10001Y',
      'P1.5M'
    )
  }
)

const count = fc.oneof(
  { weight: 4, arbitrary: fc.nat(50).map((number) => `R${String(number)}`) },
  { weight: 2, arbitrary: fc.constantFrom('R', 'R-1') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'R9007199254740991',
      'R9007199254740992',
      'R0',
      'R00',
      'R+1',
      'R1.0',
      'r1',
      'R-2',
      ''
    )
  }
)

/** A repeating interval in ISO 8601, of any of its forms. */
export const interval: fc.Arbitrary<string> = fc
  .tuple(
    count,
    fc.oneof(
      { weight: 3, arbitrary: fc.tuple(instant, duration) },
      { weight: 1, arbitrary: fc.tuple(instant, instant) },
      { weight: 2, arbitrary: fc.tuple(duration, instant) }
    )
  )
  .map(([repetitions, parts]) => [repetitions, ...parts].join('/'))
