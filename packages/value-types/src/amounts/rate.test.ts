import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { answerOf, asset, rate, rateText, uint64 } from '../../test/amounts/arbitraries.js'
import { AmountError, type Asset, parseRate, type Rate, RATE_ONE, UINT64_MAX } from './index.js'
import { convertRoundedDown, convertRoundedUp } from './rate.js'

const USD = { code: 'USD', scale: 2 }
const JPY = { code: 'JPY', scale: 0 }
const XRP = { code: 'XRP', scale: 6 }

/** Whether `source` units are worth at least `target` units: no division, so nothing is rounded. */
function covers(source: bigint, target: bigint, from: Asset, to: Asset, at: Rate): boolean {
  return (
    source * at.numerator * 10n ** BigInt(to.scale) >= target * at.denominator * 10n ** BigInt(from.scale)
  )
}

describe('a rate', () => {
  it.each([
    ['1', 1n, 1n],
    ['1.0825', 433n, 400n],
    ['0.5', 1n, 2n],
    ['1.50', 3n, 2n],
    [`0.${'0'.repeat(38)}1`, 1n, 10n ** 39n],
    ['9'.repeat(40), 10n ** 40n - 1n, 1n]
  ])('%s is read exactly', (text, numerator, denominator) => {
    expect(parseRate(text)).toEqual({ numerator, denominator })
  })

  it.each([
    '',
    '0',
    '0.0',
    '-1',
    '+1',
    '1e3',
    '1.',
    '.5',
    '01',
    '1,5',
    ' 1',
    'NaN',
    'Infinity',
    '0x1',
    '9'.repeat(41),
    `1.${'0'.repeat(40)}`,
    '9'.repeat(1_000_000)
  ])('%j is refused', (text) => {
    expect(() => parseRate(text)).toThrow(
      new AmountError('rate', 'must be a positive decimal of at most 40 digits')
    )
  })

  it('of up to 30 digits is exact', () => {
    fc.assert(
      fc.property(rateText, (text) => {
        const { numerator, denominator } = parseRate(text)
        const [whole = '', decimals = ''] = text.split('.')
        expect(numerator * 10n ** BigInt(decimals.length)).toBe(BigInt(whole + decimals) * denominator)
      })
    )
  })
})

describe('converting between assets', () => {
  it('moves the point between scales', () => {
    expect(convertRoundedDown(1234n, USD, XRP, RATE_ONE)).toBe(12_340_000n)
    expect(convertRoundedDown(1299n, USD, JPY, RATE_ONE)).toBe(12n)
    expect(convertRoundedUp(12n, USD, JPY, RATE_ONE)).toBe(1200n)
  })

  it('rounds against the receiver by less than one unit', () => {
    const euroToDollar = parseRate('1.0825')
    expect(convertRoundedDown(99n, USD, USD, euroToDollar)).toBe(107n) // 107.1675
    expect(convertRoundedUp(107n, USD, USD, euroToDollar)).toBe(99n) // 98.845…
    expect(convertRoundedUp(108n, USD, USD, euroToDollar)).toBe(100n) // 99.769…
  })

  it('gives the maximum that the source covers', () => {
    fc.assert(
      fc.property(uint64, asset, asset, rate, (value, from, to, at) => {
        const converted = answerOf(() => convertRoundedDown(value, from, to, at), AmountError)
        const most = converted ?? UINT64_MAX + 1n // a refusal must mean: more than the range
        expect(covers(value, most, from, to, at)).toBe(true)
        expect(converted === undefined || !covers(value, converted + 1n, from, to, at)).toBe(true)
      }),
      { numRuns: 1_000 }
    )
  })

  it('needs the minimum that covers the target', () => {
    fc.assert(
      fc.property(uint64, asset, asset, rate, (value, from, to, at) => {
        const needed = answerOf(() => convertRoundedUp(value, from, to, at), AmountError)
        if (needed === undefined) {
          expect(covers(UINT64_MAX, value, from, to, at)).toBe(false)
        } else {
          expect(covers(needed, value, from, to, at)).toBe(true)
          expect(needed === 0n || !covers(needed - 1n, value, from, to, at)).toBe(true)
        }
      }),
      { numRuns: 1_000 }
    )
  })

  it('gives more for more', () => {
    fc.assert(
      fc.property(uint64, uint64, asset, asset, rate, (a, b, from, to, at) => {
        const [less, more] = a < b ? [a, b] : [b, a]
        const forMore = answerOf(() => convertRoundedDown(more, from, to, at), AmountError)
        fc.pre(forMore !== undefined)
        expect(convertRoundedDown(less, from, to, at) <= (forMore ?? 0n)).toBe(true)
      })
    )
  })

  it('refuses values outside the unsigned 64-bit range, before and after', () => {
    for (const convert of [convertRoundedDown, convertRoundedUp]) {
      expect(() => convert(UINT64_MAX + 1n, USD, USD, RATE_ONE)).toThrow(AmountError)
      expect(() => convert(-1n, USD, USD, RATE_ONE)).toThrow(AmountError)
      expect(convert(UINT64_MAX, USD, USD, RATE_ONE)).toBe(UINT64_MAX)
    }
    expect(() => convertRoundedDown(UINT64_MAX, USD, USD, parseRate('1.1'))).toThrow(AmountError)
    expect(() => convertRoundedUp(UINT64_MAX, USD, USD, parseRate('0.9'))).toThrow(AmountError)
  })

  it('refuses a rate that is not positive and a scale that does not exist', () => {
    const fraction = (numerator: bigint, denominator: bigint): Rate => ({ numerator, denominator })
    expect(() => convertRoundedDown(1n, USD, USD, fraction(0n, 1n))).toThrow(AmountError)
    expect(() => convertRoundedDown(1n, USD, USD, fraction(1n, 0n))).toThrow(AmountError)
    expect(() => convertRoundedDown(1n, USD, { code: 'USD', scale: 256 }, RATE_ONE)).toThrow(AmountError)
    expect(() => convertRoundedUp(1n, { code: 'USD', scale: -1 }, USD, RATE_ONE)).toThrow(AmountError)
  })
})
