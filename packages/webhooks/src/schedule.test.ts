import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nextAttemptAtMs, readRetryAfter, TRIED_MS } from './schedule.js'

const NOW_MS = Date.parse('2026-11-25T10:00:00Z')

describe('an event that is not taken', () => {
  it('is tried again after ever longer waits, for three days, and then given up', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        let nowMs = NOW_MS
        let waitMs = 0
        let attempts = 1
        for (;;) {
          const nextMs = nextAttemptAtMs(
            { attempts, firstAttemptedAtMs: NOW_MS, nowMs, retryAfterMs: undefined },
            random
          )
          if (nextMs === undefined) break
          expect(nextMs - nowMs).toBeGreaterThanOrEqual(waitMs)
          waitMs = nextMs - nowMs
          nowMs = nextMs
          attempts += 1
        }
        expect(nowMs - NOW_MS).toBeLessThanOrEqual(TRIED_MS)
        // No wait is longer than five hours, so that it was tried until the end of the three days.
        expect(nowMs - NOW_MS).toBeGreaterThan(TRIED_MS - 5 * 3_600_000)
        expect(attempts).toBeLessThan(40)
      })
    )
  })

  it('waits as long as its endpoint asks, up to a day', () => {
    const wait = (retryAfterMs: number): number =>
      (nextAttemptAtMs({ attempts: 1, firstAttemptedAtMs: NOW_MS, nowMs: NOW_MS, retryAfterMs }, 0.5) ?? 0) -
      NOW_MS
    expect(wait(0)).toBe(5_000)
    expect(wait(60_000)).toBe(60_000)
    expect(wait(1e12)).toBe(86_400_000)
  })
})

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    ['Wed, 25 Nov 2026 10:01:00 GMT', 60_000],
    ['Wed, 25 Nov 2026 09:00:00 GMT', 0],
    ['-1', undefined],
    ['soon', undefined],
    [undefined, undefined]
  ])('of %s is %s ms', (header, waitMs) => {
    expect(readRetryAfter(header, NOW_MS)).toBe(waitMs)
  })
})
