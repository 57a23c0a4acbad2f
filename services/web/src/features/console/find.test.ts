import { describe, expect, it } from '@jest/globals'
import { readAmount, readMoved } from './find.js'

const USD = { code: 'USD', scale: 2 }

describe('an amount that is moved', () => {
  it.each<[string, '.' | ',', string]>([
    ['12.50', '.', '1250'],
    ['12,50', ',', '1250'],
    [' 1250 USD ', '.', '125000'],
    ['0.01', '.', '1']
  ])('typed as %j with the decimal sign %s is read exactly', (text, sign, value) => {
    expect(readMoved(text, USD, sign)).toBe(value)
  })

  it.each<[string, '.' | ',']>([
    ['12,50', '.'],
    ['1,250.00', '.'],
    ['12.50', ','],
    ['1250.00', ','],
    ['1.250', ','],
    ['1 250', '.'],
    ["1'250", '.'],
    ['12.505', '.'],
    ['12.50 EUR', '.'],
    ['', '.']
  ])('is not made out of %j with the decimal sign %s', (text, sign) => {
    expect(readMoved(text, USD, sign)).toBeUndefined()
  })
})

describe('an amount that is looked for', () => {
  it.each<[string, '.' | ',', string | undefined]>([
    ['1,250.00 USD', '.', '125000'],
    ['1.250,00\u00a0USD', ',', '125000'],
    ["1'234'567", '.', '123456700'],
    ['12,50', '.', undefined],
    ['1250.00', ',', undefined],
    ['1,25,000', '.', undefined]
  ])('as %j with the decimal sign %s may have groups of three digits', (text, sign, value) => {
    expect(readAmount(text, [USD], sign)).toBe(value)
  })
})
