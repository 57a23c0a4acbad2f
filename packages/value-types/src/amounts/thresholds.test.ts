import { describe, expect, it } from '@jest/globals'
import { parseThresholds, reachesThreshold } from './index.js'

const USD = { code: 'USD', scale: 2 }

describe('thresholds', () => {
  const thresholds = parseThresholds('100.00 USD, 90 EUR,0.0000005 BTC', 'FROM')

  it('are reached at the amount, exactly, whatever the scale of the asset', () => {
    expect(reachesThreshold({ asset: USD, value: 9_999n }, thresholds)).toBe(false)
    expect(reachesThreshold({ asset: USD, value: 10_000n }, thresholds)).toBe(true)
    expect(reachesThreshold({ asset: { code: 'USD', scale: 0 }, value: 99n }, thresholds)).toBe(false)
    expect(reachesThreshold({ asset: { code: 'USD', scale: 0 }, value: 100n }, thresholds)).toBe(true)
    expect(reachesThreshold({ asset: { code: 'EUR', scale: 3 }, value: 89_999n }, thresholds)).toBe(false)
    expect(reachesThreshold({ asset: { code: 'BTC', scale: 8 }, value: 49n }, thresholds)).toBe(false)
    expect(reachesThreshold({ asset: { code: 'BTC', scale: 8 }, value: 50n }, thresholds)).toBe(true)
  })

  it('are always reached where none is given', () => {
    expect(reachesThreshold({ asset: { code: 'GBP', scale: 2 }, value: 0n }, thresholds)).toBe(true)
    expect(reachesThreshold({ asset: USD, value: 0n }, parseThresholds('always', 'FROM'))).toBe(true)
  })

  it.each(['', '100', '100 USD,', '-1 USD', '1,000 USD', '01 USD', 'USD 100', 'Always'])(
    'are refused as %j',
    (text) => {
      expect(() => parseThresholds(text, 'FROM')).toThrow('FROM: "')
    }
  )
})
