import fc from 'fast-check'
import {
  type Asset,
  type FeeSchedule,
  parseRate,
  type QuoteTerms,
  type Rate,
  UINT64_MAX
} from '../../src/amounts/index.js'

/** Any unsigned 64-bit integer, with the bounds and powers of two drawn often. */
export const uint64: fc.Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(0n, 1n, 2n, 2n ** 32n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, UINT64_MAX - 1n, UINT64_MAX),
  fc.bigInt({ min: 0n, max: 100_000n }),
  fc.bigInt({ min: 0n, max: UINT64_MAX })
)

/** An asset of any scale, with the usual ones drawn often. */
export const asset: fc.Arbitrary<Asset> = fc.record({
  code: fc.constantFrom('USD', 'EUR', 'JPY', 'XRP'),
  scale: fc.oneof(fc.constantFrom(0, 2, 6, 9, 255), fc.integer({ min: 0, max: 255 }))
})

/** A rate as text, of at most 30 digits, on either side of one. */
export const rateText: fc.Arbitrary<string> = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 30n - 1n }), fc.nat({ max: 29 }))
  .map(([digits, decimals]) => {
    const text = digits.toString().padStart(decimals + 1, '0')
    return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
  })

export const rate: fc.Arbitrary<Rate> = fc.oneof(
  fc.constant({ numerator: 1n, denominator: 1n }),
  rateText.map(parseRate)
)

export const feeSchedule: fc.Arbitrary<FeeSchedule> = fc.record({
  fixed: fc.oneof(fc.constantFrom(0n, 1n, UINT64_MAX), fc.bigInt({ min: 0n, max: 10_000n })),
  basisPoints: fc.oneof(fc.constantFrom(0, 1, 100, 9_999), fc.integer({ min: 0, max: 9_999 }))
})

/** Terms between any two assets. */
export const quoteTerms: fc.Arbitrary<QuoteTerms> = fc.record({
  source: asset,
  target: asset,
  rate,
  fees: feeSchedule
})

/** Terms as payments have them: near scales, ordinary rates and fees, so that every amount up to 10^8 has an answer. */
export const ordinaryTerms: fc.Arbitrary<QuoteTerms> = fc.record({
  source: fc.record({ code: fc.constant('USD'), scale: fc.integer({ min: 0, max: 4 }) }),
  target: fc.record({ code: fc.constant('EUR'), scale: fc.integer({ min: 0, max: 4 }) }),
  rate: fc
    .integer({ min: 10_000, max: 5_000_000 })
    .map((millionths) =>
      parseRate(`${Math.floor(millionths / 1e6)}.${String(millionths % 1e6).padStart(6, '0')}`)
    ),
  fees: fc.record({
    fixed: fc.bigInt({ min: 0n, max: 500n }),
    basisPoints: fc.integer({ min: 0, max: 5_000 })
  })
})

/** What a computation answers, or `undefined` when it refuses with an error of the given class. */
export function answerOf<T>(compute: () => T, refusal: new (...args: never[]) => Error): T | undefined {
  try {
    return compute()
  } catch (error) {
    if (error instanceof refusal) {
      return undefined
    }
    throw error
  }
}
