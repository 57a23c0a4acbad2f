import { describe, expect, it } from '@jest/globals'
import { parseFeeTable } from './fee-table.js'
import { createRateTable } from './rate-table.js'

const USD = { code: 'USD', scale: 2 }
const EUR = { code: 'EUR', scale: 2 }

describe('EXCHANGE_RATES', () => {
  it('gives each direction its own rate, and assets of one code one to one', async () => {
    const rates = createRateTable('USD/EUR=0.92, EUR/USD=1.08')
    expect(await rates.getRate(USD, EUR)).toEqual({ numerator: 23n, denominator: 25n })
    expect(await rates.getRate(EUR, USD)).toEqual({ numerator: 27n, denominator: 25n })
    expect(await rates.getRate(USD, { code: 'USD', scale: 9 })).toEqual({ numerator: 1n, denominator: 1n })
    expect(await rates.getRate(USD, { code: 'MXN', scale: 2 })).toBeUndefined()
  })

  it.each([
    ['USD/EUR=0.93,EUR/USD=1.09', 'EUR → USD → EUR'],
    ['EUR/USD=1.1,USD/GBP=0.8,GBP/EUR=1.14,GBP/USD=1.2', 'EUR'],
    ['A/B=2,B/C=2,C/D=2,D/A=0.12500000000000000001', 'A']
  ])('stops the start where going round gains, and names the way: %s', (text, way) => {
    expect(() => createRateTable(text)).toThrow(new RegExp(`EXCHANGE_RATES: going round .*${way}`))
  })

  it.each(['USD/EUR=0.8,EUR/USD=1.25', 'A/B=2,B/C=2,C/D=2,D/A=0.125', 'A/B=7,B/C=9'])(
    'may come out even, and may have no way back: %s',
    (text) => {
      expect(() => createRateTable(text)).not.toThrow()
    }
  )

  it('may be left out', async () => {
    expect(await createRateTable(undefined).getRate(USD, EUR)).toBeUndefined()
  })

  it.each([
    'USD',
    'USD/EUR',
    'USD/EUR=',
    'USD/EUR=0',
    'USD/EUR=-1',
    'USD/EUR=1e3',
    'USD/EUR=0.92;EUR/USD=1.08',
    'USD/USD=1',
    'USD/EUR=0.92,USD/EUR=0.93',
    `${'A'.repeat(33)}/EUR=1`,
    '/EUR=1'
  ])('stops the start, naming itself and the entry, for %s', (text) => {
    expect(() => createRateTable(text)).toThrow(/EXCHANGE_RATES: .+Example: EXCHANGE_RATES=/)
  })
})

describe('FEES', () => {
  it('give each asset a fixed part and basis points', () => {
    const fees = parseFeeTable('USD=10+50,EUR=0+25')
    expect(fees.get('USD')).toEqual({ fixed: 10n, basisPoints: 50 })
    expect(fees.get('EUR')).toEqual({ fixed: 0n, basisPoints: 25 })
    expect(parseFeeTable(undefined).size).toBe(0)
  })

  it.each([
    'USD',
    'USD=10',
    'USD=10+',
    'USD=+50',
    'USD=-1+0',
    'USD=1.5+0',
    'USD=0+10000',
    'USD=01+0',
    'USD=18446744073709551616+0',
    'USD=1+1,USD=2+2',
    '=1+1'
  ])('stop the start, naming themselves and the entry, for %s', (text) => {
    expect(() => parseFeeTable(text)).toThrow(/FEES: .+Example: FEES=/)
  })
})
