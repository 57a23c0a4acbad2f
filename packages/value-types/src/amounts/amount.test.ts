import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { asset, uint64 } from '../../test/amounts/arbitraries.js'
import {
  AmountError,
  describeAmount,
  formatAmount,
  isSameAsset,
  parseAmount,
  parseAmountValue,
  parseMajorUnits,
  UINT64_MAX
} from './index.js'

const USD = { code: 'USD', scale: 2 }

function fieldRefused(compute: () => unknown): string {
  try {
    compute()
  } catch (error) {
    if (error instanceof AmountError) {
      return error.field
    }
    throw error
  }
  return 'nothing was refused'
}

describe('the value of an amount on the wire', () => {
  it.each([
    ['0', 0n],
    ['1', 1n],
    ['9223372036854775808', 2n ** 63n],
    ['18446744073709551615', UINT64_MAX]
  ])('%s is read exactly', (text, value) => {
    expect(parseAmountValue(text)).toBe(value)
  })

  it.each([
    '',
    '18446744073709551616',
    '99999999999999999999',
    '100000000000000000000',
    '-1',
    '-0',
    '+1',
    '01',
    '00',
    '1.0',
    '1e3',
    '0x10',
    ' 1',
    '1 ',
    '1\n',
    '1_000',
    '１',
    'NaN',
    '9'.repeat(100_000)
  ])('%j is refused', (text) => {
    expect(fieldRefused(() => parseAmountValue(text))).toBe('value')
  })

  it.each([[5], [5n], [null], [undefined], [['5']], [{}]])('%p, which is no string, is refused', (value) => {
    expect(fieldRefused(() => parseAmountValue(value as unknown as string))).toBe('value')
  })

  it('every unsigned 64-bit integer round-trips', () => {
    fc.assert(
      fc.property(uint64, asset, (value, ofAsset) => {
        const amount = { value, asset: ofAsset }
        expect(parseAmount(formatAmount(amount))).toEqual(amount)
      })
    )
  })

  it('any other text is refused with an error that names the value', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const isCanonical = /^(0|[1-9][0-9]*)$/.test(text) && BigInt(text) <= UINT64_MAX
        expect(fieldRefused(() => parseAmountValue(text))).toBe(isCanonical ? 'nothing was refused' : 'value')
      })
    )
  })
})

describe('an amount on the wire', () => {
  it.each([
    ['assetCode', { assetCode: '' }],
    ['assetCode', { assetCode: 'U SD' }],
    ['assetCode', { assetCode: 'USD\u202e' }],
    ['assetCode', { assetCode: 'A'.repeat(33) }],
    ['assetCode', { assetCode: 840 as unknown as string }],
    ['assetScale', { assetScale: -1 }],
    ['assetScale', { assetScale: 256 }],
    ['assetScale', { assetScale: 1.5 }],
    ['assetScale', { assetScale: NaN }],
    ['assetScale', { assetScale: '2' as unknown as number }],
    ['value', { value: '-5' }]
  ])('a wrong %s is named: %j', (field, wrong) => {
    expect(fieldRefused(() => parseAmount({ value: '5', assetCode: 'USD', assetScale: 2, ...wrong }))).toBe(
      field
    )
  })

  it('two assets are equal only if code and scale are', () => {
    expect(isSameAsset(USD, { code: 'USD', scale: 2 })).toBe(true)
    expect(isSameAsset(USD, { code: 'USD', scale: 6 })).toBe(false)
    expect(isSameAsset(USD, { code: 'usd', scale: 2 })).toBe(false)
  })
})

describe('an amount for people', () => {
  it.each([
    [1250n, 2, '12.50 USD'],
    [0n, 2, '0.00 USD'],
    [5n, 2, '0.05 USD'],
    [12n, 0, '12 USD'],
    [UINT64_MAX, 9, '18446744073.709551615 USD'],
    [1n, 255, `0.${'0'.repeat(254)}1 USD`]
  ])('%s at scale %s is shown exactly', (value, scale, text) => {
    expect(describeAmount({ value, asset: { code: 'USD', scale } })).toBe(text)
  })

  it.each([
    ['1000.00', 100_000n],
    ['1000', 100_000n],
    ['0.5', 50n],
    ['0', 0n],
    ['184467440737095516.15', UINT64_MAX]
  ])('%s as typed is read exactly', (text, value) => {
    expect(parseMajorUnits(text, USD)).toEqual({ value, asset: USD })
  })

  it.each([
    '',
    '.5',
    '5.',
    '-1',
    '+1',
    '1,000',
    '1e3',
    '01',
    '1.000',
    '184467440737095516.16',
    '1'.repeat(10_000)
  ])('%j as typed is refused', (text) => {
    expect(fieldRefused(() => parseMajorUnits(text, USD))).toBe('value')
  })

  it('round-trips at every scale', () => {
    fc.assert(
      fc.property(uint64, asset, (value, ofAsset) => {
        const [text = ''] = describeAmount({ value, asset: ofAsset }).split(' ')
        expect(parseMajorUnits(text, ofAsset)).toEqual({ value, asset: ofAsset })
      })
    )
  })
})
