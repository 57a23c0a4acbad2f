import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  INTERVAL_LENGTH_MAX,
  intervalBounds,
  IntervalError,
  intervalIndexAt,
  lastIntervalEnd,
  nextIntervalStart,
  parseRepeatingInterval
} from './index.js'

/** The starts of the first intervals of a chain, as ISO texts. */
function startsOf(text: string, count: number): string[] {
  const interval = parseRepeatingInterval(text)
  return Array.from({ length: count }, (_, index) =>
    new Date(intervalBounds(interval, BigInt(index)).startMs).toISOString()
  )
}

function indexAt(text: string, instant: string): bigint | undefined {
  return intervalIndexAt(parseRepeatingInterval(text), Date.parse(instant))
}

describe('the intervals of a grant', () => {
  it('of a month count from the original start, so that short months do not shorten later ones', () => {
    expect(startsOf('R/2026-01-31T00:00:00Z/P1M', 5)).toEqual([
      '2026-01-31T00:00:00.000Z',
      '2026-02-28T00:00:00.000Z',
      '2026-03-31T00:00:00.000Z',
      '2026-04-30T00:00:00.000Z',
      '2026-05-31T00:00:00.000Z'
    ])
  })

  it('of every year from a leap day begin on 28 February, and on the leap day again when there is one', () => {
    expect(startsOf('R/2096-02-29T12:00:00Z/P1Y', 9).map((start) => start.slice(0, 10))).toEqual([
      '2096-02-29',
      '2097-02-28',
      '2098-02-28',
      '2099-02-28',
      '2100-02-28', // 2100 is no leap year
      '2101-02-28',
      '2102-02-28',
      '2103-02-28',
      '2104-02-29'
    ])
  })

  it('of mixed durations add the months first', () => {
    expect(startsOf('R/2026-01-31T00:00:00Z/P1M1DT1H', 3)).toEqual([
      '2026-01-31T00:00:00.000Z',
      '2026-03-01T01:00:00.000Z', // 28 February and a day and an hour
      '2026-04-02T02:00:00.000Z' // 31 March and two days and two hours
    ])
  })

  it('given by start and end all have exactly the length of the first', () => {
    expect(startsOf('R3/2026-01-01T00:00:00Z/2026-02-01T00:00:00Z', 3)).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-02-01T00:00:00.000Z',
      '2026-03-04T00:00:00.000Z'
    ])
  })

  it('given by duration and end come before that end, the last one ending there', () => {
    const interval = parseRepeatingInterval('R3/P1M/2026-03-31T00:00:00Z')
    expect([0n, 1n, 2n].map((index) => intervalBounds(interval, index))).toEqual([
      { startMs: Date.parse('2025-12-31T00:00:00Z'), endMs: Date.parse('2026-01-31T00:00:00Z') },
      { startMs: Date.parse('2026-01-31T00:00:00Z'), endMs: Date.parse('2026-02-28T00:00:00Z') },
      { startMs: Date.parse('2026-02-28T00:00:00Z'), endMs: Date.parse('2026-03-31T00:00:00Z') }
    ])
    expect(intervalIndexAt(interval, Date.parse('2025-12-30T23:59:59.999Z'))).toBeUndefined()
    expect(intervalIndexAt(interval, Date.parse('2025-12-31T00:00:00Z'))).toBe(0n)
    expect(intervalIndexAt(interval, Date.parse('2026-03-30T23:59:59.999Z'))).toBe(2n)
    expect(intervalIndexAt(interval, Date.parse('2026-03-31T00:00:00Z'))).toBeUndefined()
  })

  it.each(['R', 'R-1'])(
    'given by %s, duration and end have no first, and are numbered backwards from the last',
    (repetitions) => {
      const interval = parseRepeatingInterval(`${repetitions}/P1M/2026-03-31T00:00:00Z`)
      expect(intervalIndexAt(interval, Date.parse('2026-03-30T00:00:00Z'))).toBe(-1n)
      expect(intervalIndexAt(interval, Date.parse('2026-02-27T00:00:00Z'))).toBe(-2n)
      expect(intervalIndexAt(interval, Date.parse('1970-01-01T00:00:00Z'))).toBe(-675n)
      expect(intervalIndexAt(interval, Date.parse('2026-03-31T00:00:00Z'))).toBeUndefined()
      expect(intervalBounds(interval, -1n).startMs).toBe(Date.parse('2026-02-28T00:00:00Z'))
      expect(() => intervalBounds(interval, 0n)).toThrow(IntervalError)
      expect(() => intervalBounds(interval, -676n)).toThrow(IntervalError)
    }
  )

  it('include their start and exclude their end', () => {
    const monthly = 'R12/2019-08-24T14:15:22Z/P1M'
    expect(indexAt(monthly, '2019-08-24T14:15:21.999Z')).toBeUndefined()
    expect(indexAt(monthly, '2019-08-24T14:15:22.000Z')).toBe(0n)
    expect(indexAt(monthly, '2019-09-24T14:15:21.999Z')).toBe(0n)
    expect(indexAt(monthly, '2019-09-24T14:15:22.000Z')).toBe(1n)
  })

  it('number exactly the stated count', () => {
    const monthly = 'R12/2019-08-24T14:15:22Z/P1M'
    expect(indexAt(monthly, '2020-08-24T14:15:21.999Z')).toBe(11n)
    expect(indexAt(monthly, '2020-08-24T14:15:22.000Z')).toBeUndefined()
    expect(() => intervalBounds(parseRepeatingInterval(monthly), 12n)).toThrow(IntervalError)
    expect(indexAt('R1/2026-01-01T00:00:00Z/P1D', '2026-01-01T23:59:59.999Z')).toBe(0n)
    expect(indexAt('R1/2026-01-01T00:00:00Z/P1D', '2026-01-02T00:00:00Z')).toBeUndefined()
  })

  it.each(['R', 'R-1'])('with %s never end', (repetitions) => {
    expect(indexAt(`${repetitions}/1970-01-01T00:00:00Z/P1M`, '9999-12-31T23:59:59.999Z')).toBe(96_359n)
    expect(parseRepeatingInterval(`${repetitions}/1970-01-01T00:00:00Z/P1M`).count).toBeUndefined()
  })

  it('are found in constant time', () => {
    const everyMillisecond = parseRepeatingInterval('R9007199254740991/1970-01-01T00:00:00Z/PT0.001S')
    const lastMs = Date.parse('9999-12-31T23:59:59.999Z')
    expect(intervalIndexAt(everyMillisecond, lastMs)).toBe(BigInt(lastMs))
    expect(intervalBounds(everyMillisecond, BigInt(lastMs)).startMs).toBe(lastMs)
  })

  it('are counted back from their end exactly, in constant time', () => {
    const monthly = 'R9007199254740991/P1M/2026-03-31T00:00:00Z'
    expect(indexAt(monthly, '2026-03-30T23:59:59.999Z')).toBe(9_007_199_254_740_990n)
    expect(indexAt(monthly, '2026-02-27T23:59:59.999Z')).toBe(9_007_199_254_740_989n)
    expect(indexAt(monthly, '1970-01-01T00:00:00Z')).toBe(9_007_199_254_740_991n - 675n)
    expect(indexAt(monthly, '2026-03-31T00:00:00Z')).toBeUndefined()
  })

  it('have no bounds before the first or after the year 9999', () => {
    const monthly = parseRepeatingInterval('R/2026-01-01T00:00:00Z/P1M')
    for (const index of [-1n, 95_688n, 10n ** 12n, 10n ** 400n]) {
      expect(() => intervalBounds(monthly, index)).toThrow(IntervalError)
    }
    expect(intervalBounds(monthly, 95_687n).startMs).toBe(Date.parse('9999-12-01T00:00:00Z'))
    expect(() => intervalBounds(parseRepeatingInterval('R/2026-01-01T00:00:00Z/PT1S'), 10n ** 400n)).toThrow(
      IntervalError
    )
  })

  it('hold no instant after the year 9999, and NaN is refused', () => {
    const monthly = parseRepeatingInterval('R/2026-01-01T00:00:00Z/P1M')
    expect(intervalIndexAt(monthly, 253_402_300_800_000)).toBeUndefined()
    expect(intervalIndexAt(monthly, 8.64e15)).toBeUndefined()
    expect(intervalIndexAt(monthly, -8.64e15)).toBeUndefined()
    expect(() => intervalIndexAt(monthly, NaN)).toThrow(IntervalError)
  })
})

describe('the text of an interval', () => {
  it.each([
    ['R11/2022-08-24T14:15:22Z/P1M', 11],
    ['R/2017-03-01T13:00:00Z/2018-05-11T15:30:00Z', undefined],
    ['R-1/P1Y2M10DT2H30M/2022-05-11T15:30:00Z', undefined],
    ['R5/2008-03-01T13:00:00Z/P1Y2M10DT2H30M', 5],
    ['R007/2026-01-01T00:00:00Z/P1D', 7]
  ])('%s is read', (text, count) => {
    expect(parseRepeatingInterval(text)).toMatchObject({ text, count })
  })

  it.each([
    ['2026-01-31T01:00:00+01:00', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T00:00:00-05:30', '2026-01-31T05:30:00.000Z'],
    ['2026-01-31T00:00Z', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T00:00:00.5Z', '2026-01-31T00:00:00.500Z'],
    ['2026-01-31T00:00:00,25Z', '2026-01-31T00:00:00.250Z'],
    ['2026-01-31T00:00:00.123456789Z', '2026-01-31T00:00:00.123Z']
  ])('may start at %s', (timestamp, start) => {
    expect(startsOf(`R/${timestamp}/P1D`, 1)).toEqual([start])
  })

  it('counts months in UTC when the start is given with another offset', () => {
    // 1 March 00:30 at +01:00 is still February in UTC.
    expect(startsOf('R/2026-03-01T00:30:00+01:00/P1M', 2)[1]).toBe('2026-03-28T23:30:00.000Z')
  })

  it.each([
    ['P2W', 14 * 86_400_000],
    ['P1W1D', 8 * 86_400_000],
    ['PT36H', 36 * 3_600_000],
    ['PT1.5H', 5_400_000],
    ['PT0,5S', 500],
    ['PT0.0010S', 1],
    ['P0Y0M1DT0H', 86_400_000],
    ['P0.5D', 43_200_000]
  ])('may have the duration %s', (duration, milliseconds) => {
    expect(parseRepeatingInterval(`R/2026-01-01T00:00:00Z/${duration}`).duration).toEqual({
      months: 0,
      milliseconds
    })
  })

  it.each([
    'PT0S',
    'P0D',
    'P0Y0M0DT0H0M0S',
    'PT0.000S',
    'PT0.0001S',
    'PT1.0001S',
    'P',
    'PT',
    'P1',
    'P1DT',
    '1M',
    'P-1M',
    '-P1M',
    'P+1M',
    'p1m',
    'P1M1Y',
    'P1H',
    'PT1D',
    'P0.5M',
    'P1.5Y',
    'P1.5DT1.5H',
    'PT1.5H30M',
    'P1S',
    'P 1M',
    'P1M ',
    'P١M',
    'P10000Y',
    'P120001M',
    'PT99999999999999999999999999999999S',
    `P${'9'.repeat(80)}M`
  ])('with the duration %s is refused', (duration) => {
    expect(() => parseRepeatingInterval(`R/2026-01-01T00:00:00Z/${duration}`)).toThrow(IntervalError)
    expect(() => parseRepeatingInterval(`R/${duration}/2026-01-01T00:00:00Z`)).toThrow(IntervalError)
  })

  it.each([
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+1:00',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00 Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01t00:00:00z',
    '2026-01-01T00:00.5Z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00.1234567890Z',
    '2026-01-01',
    '20260101T000000Z',
    '2026-W01-1T00:00:00Z',
    '2026-001T00:00:00Z',
    '+012026-01-01T00:00:00Z',
    '-2026-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '0000-01-01T00:00:00Z',
    'today',
    'null'
  ])('with the timestamp %s is refused', (timestamp) => {
    expect(() => parseRepeatingInterval(`R/${timestamp}/P1M`)).toThrow(IntervalError)
    expect(() => parseRepeatingInterval(`R/P1M/${timestamp}`)).toThrow(IntervalError)
  })

  it.each([
    'R0',
    'R00',
    'R-0',
    'R-2',
    'R+1',
    'R1.5',
    'R1e3',
    'r5',
    '5',
    '',
    ' R',
    'R 5',
    'RR',
    'R9007199254740992'
  ])('with the repetitions %j is refused', (repetitions) => {
    expect(() => parseRepeatingInterval(`${repetitions}/2026-01-01T00:00:00Z/P1M`)).toThrow(IntervalError)
  })

  it.each([
    '',
    '/',
    '//',
    'R',
    'R/',
    'R//',
    'R5/2026-01-01T00:00:00Z',
    'R5/P1M',
    'R5/P1M/P1M',
    'R5/2026-01-01T00:00:00Z/P1M/',
    'R5/2026-01-01T00:00:00Z/P1M/R5',
    'R5/2026-01-01T00:00:00Z/2026-01-01T00:00:00Z',
    'R5/2026-01-02T00:00:00Z/2026-01-01T00:00:00Z',
    'R5/2026-01-01T00:00:00Z/31T00:00:00Z',
    'R5/2026-01-01T00:00:00Z--P1M',
    '2026-01-01T00:00:00Z/P1M',
    'R5/2026-01-01T00:00:00Z/P1M\n',
    `R5/2026-01-01T00:00:00Z/P${'0'.repeat(INTERVAL_LENGTH_MAX)}1M`
  ])('%j is refused', (text) => {
    expect(() => parseRepeatingInterval(text)).toThrow(IntervalError)
  })

  it.each([[undefined], [null], [5], [{}], [['R/2026-01-01T00:00:00Z/P1M']]])('%p is refused', (value) => {
    expect(() => parseRepeatingInterval(value as unknown as string)).toThrow(IntervalError)
  })

  it('is refused when its first interval does not lie in the years 1970 to 9999', () => {
    expect(() => parseRepeatingInterval('R/1970-01-01T00:00:00+00:01/P1D')).toThrow(IntervalError)
    expect(() => parseRepeatingInterval('R/P1D/1970-01-01T12:00:00Z')).toThrow(IntervalError)
    expect(() => parseRepeatingInterval('R/2026-01-01T00:00:00Z/P8000Y')).toThrow(IntervalError)
    expect(() => parseRepeatingInterval('R1/9999-12-31T00:00:00Z/P1D')).toThrow(IntervalError)
    expect(() => parseRepeatingInterval('R1/9999-12-31T23:00:00-02:00/PT1S')).toThrow(IntervalError)
    expect(parseRepeatingInterval('R1/9999-12-30T00:00:00Z/P1D').count).toBe(1)
  })

  it('of any kind is read or refused with its own error, never another', () => {
    const near = fc
      .tuple(
        fc.constantFrom('R', 'R-1', 'R3', 'R0', 'R99999999999', ''),
        fc.constantFrom('2026-01-31T00:00:00Z', '9999-12-31T23:59:59Z', 'P1M', 'P9999Y', 'PT0S', ''),
        fc.oneof(
          fc.constantFrom('P1M', 'P1Y1D', '2026-02-28T00:00:00Z'),
          fc.string({ unit: fc.constantFrom(...'PT0123456789YMWDHS.,-+Z:') })
        )
      )
      .map((parts) => parts.join('/'))
    fc.assert(
      fc.property(fc.oneof(fc.string(), near), (text) => {
        try {
          expect(parseRepeatingInterval(text).text).toBe(text)
        } catch (error) {
          expect(error).toBeInstanceOf(IntervalError)
        }
      }),
      { numRuns: 2_000 }
    )
  })
})

describe('the end of the last interval', () => {
  it.each([
    ['counted from a start', 'R3/2026-01-31T00:00:00Z/P1M', '2026-04-30T00:00:00.000Z'],
    ['of a start and an end', 'R2/2026-01-01T00:00:00Z/2026-01-02T00:00:00Z', '2026-01-03T00:00:00.000Z'],
    ['counted to an end', 'R3/P1M/2026-04-30T00:00:00Z', '2026-04-30T00:00:00.000Z'],
    ['for ever to an end', 'R/P1M/2026-04-30T00:00:00Z', '2026-04-30T00:00:00.000Z'],
    ['for ever from a start', 'R/2026-01-31T00:00:00Z/P1M', undefined],
    ['beyond the year 9999', 'R9007199254740991/2026-01-31T00:00:00Z/P1Y', undefined]
  ])('is known, or there is none: %s', (_what, text, end) => {
    const endMs = lastIntervalEnd(parseRepeatingInterval(text))
    expect(endMs === undefined ? undefined : new Date(endMs).toISOString()).toBe(end)
  })
})

describe('the start of the next interval', () => {
  const nextOf = (text: string, instant: string): string | undefined => {
    const startMs = nextIntervalStart(parseRepeatingInterval(text), Date.parse(instant))
    return startMs === undefined ? undefined : new Date(startMs).toISOString()
  }

  it.each([
    ['before the first', 'R2/2026-02-01T00:00:00Z/P1M', '2026-01-15T00:00:00Z', '2026-02-01T00:00:00.000Z'],
    ['at a start', 'R2/2026-02-01T00:00:00Z/P1M', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00.000Z'],
    ['within one', 'R/2026-01-31T00:00:00Z/P1M', '2026-02-27T23:59:59Z', '2026-02-28T00:00:00.000Z'],
    ['in the last', 'R2/2026-02-01T00:00:00Z/P1M', '2026-03-01T00:00:00Z', undefined],
    ['after the last', 'R2/2026-02-01T00:00:00Z/P1M', '2030-01-01T00:00:00Z', undefined],
    [
      'before a chain with an end',
      'R2/P1M/2026-03-01T00:00:00Z',
      '2025-01-01T00:00:00Z',
      '2026-01-01T00:00:00.000Z'
    ],
    [
      'in a chain without a first',
      'R/P1M/2026-03-01T00:00:00Z',
      '2026-01-15T00:00:00Z',
      '2026-02-01T00:00:00.000Z'
    ],
    ['in the last without a first', 'R/P1M/2026-03-01T00:00:00Z', '2026-02-15T00:00:00Z', undefined],
    ['after a chain without a first', 'R/P1M/2026-03-01T00:00:00Z', '2026-03-01T00:00:00Z', undefined],
    ['in the year 9999', 'R/2026-01-01T00:00:00Z/P1Y', '9999-06-01T00:00:00Z', undefined]
  ])('%s', (_where, text, instant, start) => {
    expect(nextOf(text, instant)).toBe(start)
  })

  it('is where the interval of any instant ends, unless it is the last', () => {
    const interval = parseRepeatingInterval('R/2026-01-31T12:00:00Z/P1M3D')
    fc.assert(
      fc.property(
        fc.integer({ min: Date.parse('2026-02-01'), max: Date.parse('2400-01-01') }),
        (instantMs) => {
          const index = intervalIndexAt(interval, instantMs)
          expect(index).toBeDefined()
          expect(nextIntervalStart(interval, instantMs)).toBe(intervalBounds(interval, index ?? 0n).endMs)
        }
      )
    )
  })
})
