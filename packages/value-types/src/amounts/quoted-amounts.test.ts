import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { answerOf, feeSchedule, ordinaryTerms, quoteTerms, uint64 } from '../../test/amounts/arbitraries.js'
import {
  AmountError,
  debitForPartialReceive,
  minimumDebit,
  NO_FEES,
  parseRate,
  quoteFromDebit,
  quoteFromReceive,
  type QuoteTerms,
  RATE_ONE,
  UINT64_MAX
} from './index.js'
import { feeFor } from './fees.js'

const USD = { code: 'USD', scale: 2 }
const EUR = { code: 'EUR', scale: 2 }
const ordinaryAmount = fc.bigInt({ min: 0n, max: 100_000_000n })

describe('a fee', () => {
  it.each([
    [10_000n, 25n, 100, 125n],
    [10_001n, 0n, 100, 101n],
    [1n, 0n, 1, 1n],
    [0n, 25n, 100, 0n],
    [20n, 25n, 0, 20n],
    [UINT64_MAX, 0n, 9_999, 18_444_899_399_302_180_660n]
  ])('of a debit of %s at %s and %s basis points is exact', (debit, fixed, basisPoints, fee) => {
    expect(feeFor(debit, { fixed, basisPoints })).toBe(fee)
  })

  it('never exceeds the debit, and the remainder never shrinks as the debit grows', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: UINT64_MAX - 1n }), feeSchedule, (debit, fees) => {
        const left = debit - feeFor(debit, fees)
        expect(left >= 0n).toBe(true)
        expect(debit + 1n - feeFor(debit + 1n, fees) >= left).toBe(true)
      })
    )
  })

  it.each([
    ['fees.fixed', { fixed: -1n, basisPoints: 0 }],
    ['fees.fixed', { fixed: UINT64_MAX + 1n, basisPoints: 0 }],
    ['fees.basisPoints', { fixed: 0n, basisPoints: -1 }],
    ['fees.basisPoints', { fixed: 0n, basisPoints: 10_000 }],
    ['fees.basisPoints', { fixed: 0n, basisPoints: 1.5 }],
    ['fees.basisPoints', { fixed: 0n, basisPoints: NaN }]
  ])('with a wrong %s is refused', (field, fees) => {
    expect(() => feeFor(1n, fees)).toThrow(expect.objectContaining({ field }))
  })
})

describe('a quote', () => {
  const terms: QuoteTerms = {
    source: USD,
    target: EUR,
    rate: parseRate('0.92'),
    fees: { fixed: 30n, basisPoints: 50 }
  }

  it('from a debit takes the fee first and rounds what is received down', () => {
    // 100.00 − 0.30 − 0.50 = 99.20; × 0.92 = 91.264
    expect(quoteFromDebit(10_000n, terms)).toEqual({
      debitValue: 10_000n,
      feeValue: 80n,
      receiveValue: 9_126n
    })
  })

  it('from a receive amount delivers exactly that', () => {
    expect(quoteFromReceive(9_126n, terms)).toEqual({
      debitValue: 10_000n,
      feeValue: 80n,
      receiveValue: 9_126n
    })
  })

  it('from a debit too small delivers nothing, and from the minimum debit something', () => {
    expect(quoteFromDebit(31n, terms).receiveValue).toBe(0n)
    expect(minimumDebit(terms)).toBe(33n)
    expect(quoteFromDebit(33n, terms)).toEqual({ debitValue: 33n, feeValue: 31n, receiveValue: 1n })
    expect(quoteFromDebit(32n, terms).receiveValue).toBe(0n)
  })

  it('for nothing costs nothing', () => {
    expect(quoteFromReceive(0n, terms)).toEqual({ debitValue: 0n, feeValue: 0n, receiveValue: 0n })
    expect(quoteFromDebit(0n, terms)).toEqual({ debitValue: 0n, feeValue: 0n, receiveValue: 0n })
  })

  it('between accounts of one asset loses no unit, whatever the fee', () => {
    fc.assert(
      fc.property(uint64, feeSchedule, (amount, fees) => {
        const same = { source: USD, target: USD, rate: RATE_ONE, fees }
        const fromDebit = quoteFromDebit(amount, same)
        expect(fromDebit.feeValue + fromDebit.receiveValue).toBe(amount)
        const fromReceive = answerOf(() => quoteFromReceive(amount, same), AmountError)
        if (fromReceive !== undefined) {
          expect(fromReceive.feeValue + fromReceive.receiveValue).toBe(fromReceive.debitValue)
        }
      })
    )
  })

  it('takes the smallest debit that delivers the receive amount', () => {
    fc.assert(
      fc.property(ordinaryAmount, ordinaryTerms, (receive, between) => {
        const quoted = quoteFromReceive(receive, between)
        expect(quoted.receiveValue).toBe(receive)
        expect(quoted.feeValue).toBe(feeFor(quoted.debitValue, between.fees))
        expect(quoteFromDebit(quoted.debitValue, between).receiveValue >= receive).toBe(true)
        expect(
          quoted.debitValue === 0n || quoteFromDebit(quoted.debitValue - 1n, between).receiveValue < receive
        ).toBe(true)
      }),
      { numRuns: 1_000 }
    )
  })

  it('takes it over the whole range, and refuses only what no debit can deliver', () => {
    fc.assert(
      fc.property(uint64, quoteTerms, (receive, between) => {
        const quoted = answerOf(() => quoteFromReceive(receive, between), AmountError)
        const largest = quoted?.debitValue ?? UINT64_MAX + 1n
        // A debit that would deliver more than the range counts as delivering enough.
        const delivers = (debit: bigint): boolean =>
          (answerOf(() => quoteFromDebit(debit, between), AmountError)?.receiveValue ?? UINT64_MAX + 1n) >=
          receive
        expect(quoted === undefined || delivers(quoted.debitValue)).toBe(true)
        expect(largest === 0n || !delivers(largest - 1n)).toBe(true)
      }),
      { numRuns: 1_000 }
    )
  })

  it('never promises the receiver more than the debit covers after its fee', () => {
    fc.assert(
      fc.property(uint64, quoteTerms, (debit, between) => {
        const quoted = answerOf(() => quoteFromDebit(debit, between), AmountError)
        fc.pre(quoted !== undefined)
        const { feeValue, receiveValue } = quoted ?? { feeValue: 0n, receiveValue: 0n }
        const paid = (debit - feeValue) * between.rate.numerator * 10n ** BigInt(between.target.scale)
        expect(receiveValue * between.rate.denominator * 10n ** BigInt(between.source.scale) <= paid).toBe(
          true
        )
      })
    )
  })

  it('has a minimum debit that delivers, while one unit less delivers nothing', () => {
    fc.assert(
      fc.property(ordinaryTerms, (between) => {
        const least = minimumDebit(between)
        expect(quoteFromDebit(least, between).receiveValue >= 1n).toBe(true)
        expect(quoteFromDebit(least - 1n, between).receiveValue).toBe(0n)
      })
    )
  })

  it('is refused when the debit is out of range', () => {
    const same = { source: USD, target: USD, rate: RATE_ONE, fees: { fixed: 1n, basisPoints: 0 } }
    expect(quoteFromReceive(UINT64_MAX - 1n, same).debitValue).toBe(UINT64_MAX)
    expect(() => quoteFromReceive(UINT64_MAX, same)).toThrow(AmountError)
    expect(() => quoteFromReceive(UINT64_MAX + 1n, same)).toThrow(AmountError)
    expect(() => quoteFromDebit(UINT64_MAX + 1n, { ...same, fees: NO_FEES })).toThrow(AmountError)
    expect(() => quoteFromDebit(-1n, same)).toThrow(AmountError)
  })
})

describe('a payment delivered in part', () => {
  const quoted = { debitValue: 10_000n, feeValue: 80n, receiveValue: 9_126n }

  it('keeps the whole debit if all was delivered, and nothing if nothing was', () => {
    expect(debitForPartialReceive(quoted, 9_126n)).toBe(10_000n)
    expect(debitForPartialReceive(quoted, 0n)).toBe(0n)
    expect(debitForPartialReceive({ debitValue: 5n, feeValue: 5n, receiveValue: 0n }, 0n)).toBe(0n)
  })

  it('keeps its share, rounded up', () => {
    expect(debitForPartialReceive(quoted, 1n)).toBe(2n) // 1.0957…
    expect(debitForPartialReceive(quoted, 4_563n)).toBe(5_000n)
  })

  it('never keeps more than the debit, nor less for more', () => {
    fc.assert(
      fc.property(uint64, uint64, fc.tuple(uint64, uint64, uint64), (debitValue, feeValue, [a, b, c]) => {
        const [less = 0n, more = 0n, receiveValue = 0n] = [a, b, c].sort((x, y) =>
          x < y ? -1 : x > y ? 1 : 0
        )
        const kept = debitForPartialReceive({ debitValue, feeValue, receiveValue }, more)
        expect(kept <= debitValue).toBe(true)
        expect(kept * receiveValue >= debitValue * more || more === 0n).toBe(true)
        expect(debitForPartialReceive({ debitValue, feeValue, receiveValue }, less) <= kept).toBe(true)
      })
    )
  })

  it('cannot have delivered more than was quoted, or a negative amount', () => {
    expect(() => debitForPartialReceive(quoted, 9_127n)).toThrow(AmountError)
    expect(() => debitForPartialReceive(quoted, -1n)).toThrow(AmountError)
  })
})
