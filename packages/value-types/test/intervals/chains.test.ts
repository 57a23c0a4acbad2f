import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { intervalBounds, intervalIndexAt, parseRepeatingInterval } from '../../src/intervals/index.js'

const FIRST_MS = 0
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

describe('any chain of intervals', () => {
  const instantMs = fc.oneof(
    fc.integer({ min: FIRST_MS, max: LAST_MS }),
    fc.constantFrom(
      FIRST_MS,
      LAST_MS,
      Date.UTC(2000, 1, 29),
      Date.UTC(2100, 1, 28, 23, 59, 59, 999),
      Date.UTC(2026, 0, 31)
    )
  )
  /** Starts at the ends of months, where clamping happens, as often as anywhere else. */
  const startMs = fc.oneof(
    fc.integer({ min: FIRST_MS, max: Date.UTC(2200, 0) }),
    fc.integer({ min: 1, max: 2_700 }).map((month) => Date.UTC(1970, month, 0))
  )
  const duration = fc
    .record({
      months: fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 20_000 })),
      days: fc.oneof(fc.constant(0), fc.nat({ max: 45 })),
      seconds: fc.oneof(fc.constant(0), fc.nat({ max: 200_000 })),
      milliseconds: fc.oneof(fc.constant(0), fc.nat({ max: 999 }))
    })
    .filter(({ months, days, seconds, milliseconds }) => months + days + seconds + milliseconds > 0)
    .map(({ months, days, seconds, milliseconds }) => {
      const fraction = String(milliseconds).padStart(3, '0')
      return `P${months}M${days}DT${seconds}.${fraction}S`
    })
  const interval = fc
    .tuple(duration, startMs, fc.boolean())
    .map(([length, start, isEnd]) => {
      const timestamp = new Date(start).toISOString()
      return isEnd ? `R/${length}/${timestamp}` : `R/${timestamp}/${length}`
    })
    .filter((text) => {
      try {
        parseRepeatingInterval(text)
        return true
      } catch {
        return false
      }
    })
    .map(parseRepeatingInterval)

  it('puts every instant into exactly the interval whose bounds contain it', () => {
    fc.assert(
      fc.property(interval, instantMs, (chain, at) => {
        const index = intervalIndexAt(chain, at)
        if (index === undefined) {
          expect(chain.anchor === 'start' ? at < chain.anchorMs : at >= chain.anchorMs).toBe(true)
        } else {
          const { startMs, endMs } = intervalBounds(chain, index)
          expect(startMs <= at && at < endMs).toBe(true)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it('has no gap and no overlap, and finds each interval at its first and last millisecond', () => {
    fc.assert(
      fc.property(interval, instantMs, (chain, at) => {
        const index = intervalIndexAt(chain, at)
        fc.pre(index !== undefined)
        const { startMs, endMs } = intervalBounds(chain, index)
        expect(startMs < endMs).toBe(true)
        if (startMs >= FIRST_MS) expect(intervalIndexAt(chain, startMs)).toBe(index)
        if (endMs <= LAST_MS) {
          expect(intervalIndexAt(chain, endMs - 1)).toBe(index)
          const next = chain.anchor === 'end' && endMs === chain.anchorMs ? undefined : index + 1n
          expect(intervalIndexAt(chain, endMs)).toBe(next)
          if (next !== undefined) expect(intervalBounds(chain, next).startMs).toBe(endMs)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it('agrees with the calendar of another library', () => {
    fc.assert(
      fc.property(interval, fc.nat({ max: 400 }), (chain, distance) => {
        const steps = chain.anchor === 'start' ? distance : -1 - distance
        const expected = DateTime.fromMillis(chain.anchorMs, { zone: 'utc' }).plus({
          months: steps * chain.duration.months,
          milliseconds: steps * chain.duration.milliseconds
        })
        fc.pre(expected.toMillis() <= LAST_MS && expected.toMillis() >= FIRST_MS)
        expect(intervalBounds(chain, BigInt(steps)).startMs).toBe(expected.toMillis())
      }),
      { numRuns: 2_000 }
    )
  })

  it('numbers a counted chain from 0, whether given by start or end', () => {
    fc.assert(
      fc.property(interval, fc.integer({ min: 1, max: 50 }), instantMs, (chain, count, at) => {
        const counted = parseRepeatingInterval(chain.text.replace(/^R/, `R${count}`))
        const index = intervalIndexAt(chain, at)
        const expected = index === undefined || chain.anchor === 'start' ? index : index + BigInt(count)
        const within = expected !== undefined && expected >= 0n && expected < BigInt(count)
        expect(intervalIndexAt(counted, at)).toBe(within ? expected : undefined)
      }),
      { numRuns: 2_000 }
    )
  })
})
