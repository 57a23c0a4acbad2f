import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type Fraction, isLess, roundestBetween, simplestBetween } from './fraction.js'

const fraction = fc.record({
  numerator: fc.bigInt({ min: 0n, max: 60n }),
  denominator: fc.bigInt({ min: 1n, max: 60n })
})

/** By trying every denominator. */
function searched(low: Fraction, high: Fraction): Fraction {
  for (let denominator = 1n; ; denominator++) {
    const numerator = (low.numerator * denominator + low.denominator - 1n) / low.denominator
    if (isLess({ numerator, denominator }, high)) return { numerator, denominator }
  }
}

describe('the simplest fraction between two', () => {
  it('has the smallest denominator of all', () => {
    fc.assert(
      fc.property(fraction, fraction, (one, other) => {
        const [low, high] = isLess(one, other) ? [one, other] : [other, one]
        fc.pre(isLess(low, high))
        expect(simplestBetween(low, high)).toEqual(searched(low, high))
      }),
      { numRuns: 2000 }
    )
  })

  it('finds a rate from what one packet of 10^12 brought', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 5n }),
        fc.bigInt({ min: 1n, max: 10n ** 5n }),
        (numerator, denominator) => {
          const received = (10n ** 12n * numerator) / denominator
          const found = simplestBetween(
            { numerator: received, denominator: 10n ** 12n },
            { numerator: received + 1n, denominator: 10n ** 12n }
          )
          expect(found.numerator * denominator).toBe(found.denominator * numerator)
        }
      )
    )
  })
})

describe('the roundest fraction between two', () => {
  it('is between them', () => {
    const value = fc.bigInt({ min: 1n, max: 10n ** 30n })
    const any = fc.record({ numerator: value, denominator: value })
    fc.assert(
      fc.property(any, any, (one, other) => {
        const [low, high] = isLess(one, other) ? [one, other] : [other, one]
        fc.pre(isLess(low, high))
        const found = roundestBetween(low, high)
        expect([isLess(found, low), isLess(found, high)]).toEqual([false, true])
      })
    )
  })

  it.each([
    [1n, 10n ** 7n],
    [92137n, 10n ** 12n],
    [2n, 1n],
    [107653n, 100n],
    [5n, 10n ** 9n]
  ])('finds a rate of few digits from what one packet of 10^12 brought: %s/%s', (numerator, denominator) => {
    const received = (10n ** 12n * numerator) / denominator
    const found = roundestBetween(
      { numerator: received, denominator: 10n ** 12n },
      { numerator: received + 1n, denominator: 10n ** 12n }
    )
    expect(found.numerator * denominator).toBe(found.denominator * numerator)
  })
})
