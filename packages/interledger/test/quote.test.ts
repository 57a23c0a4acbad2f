import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { DEFAULT_SLIPPAGE_BASIS_POINTS, termsFromDeliver, termsFromSend } from '../src/index.js'
import { rateOfPacket, updateRate } from '../src/path-rate.js'

const rateOf = (numerator: bigint, denominator: bigint): ReturnType<typeof rateOfPacket> =>
  rateOfPacket(10n ** 12n, (10n ** 12n * numerator) / denominator)

describe('terms of a payment', () => {
  it('keep the reserve back', () => {
    expect(DEFAULT_SLIPPAGE_BASIS_POINTS).toBe(50)
    expect(termsFromSend(10_000n, rateOf(1n, 1n), 50)).toEqual({ sendMaxValue: 10_000n, deliverValue: 9950n })
    expect(termsFromDeliver(9950n, rateOf(1n, 1n), 50)).toEqual({
      sendMaxValue: 10_000n,
      deliverValue: 9950n
    })
  })

  it('are equal on both sides of a path in one asset without a reserve', () => {
    expect(termsFromSend(12_345n, rateOf(1n, 1n), 0)).toEqual(termsFromDeliver(12_345n, rateOf(1n, 1n), 0))
  })

  it('can be kept at any rate within the reserve, with one packet', () => {
    const part = fc.bigInt({ min: 1n, max: 10n ** 6n })
    fc.assert(
      fc.property(
        part,
        part,
        fc.bigInt({ min: 1n, max: 10n ** 12n }),
        fc.nat({ max: 9_999 }),
        (numerator, denominator, value, slippage) => {
          const rate = rateOf(numerator, denominator)
          const worst = (sent: bigint): bigint =>
            (sent * numerator * BigInt(10_000 - slippage)) / (denominator * 10_000n)
          const fromSend = termsFromSend(value, rate, slippage)
          expect(worst(fromSend.sendMaxValue)).toBeGreaterThanOrEqual(fromSend.deliverValue)
          const fromDeliver = termsFromDeliver(value, rate, slippage)
          if (fromDeliver !== undefined) {
            expect(worst(fromDeliver.sendMaxValue)).toBeGreaterThanOrEqual(value)
          }
        }
      )
    )
  })

  it('do not exist over a path where nothing arrives, or beyond 64 bits', () => {
    expect(termsFromDeliver(1n, rateOf(0n, 1n), 50)).toBeUndefined()
    expect(termsFromSend(100n, rateOf(0n, 1n), 50).deliverValue).toBe(0n)
    expect(termsFromDeliver(UINT64_MAX, rateOf(1n, 2n), 50)).toBeUndefined()
    expect(termsFromSend(UINT64_MAX, rateOf(3n, 1n), 0).deliverValue).toBe(UINT64_MAX)
  })

  it.each([-1, 10_000, 0.5, NaN])('have no reserve of %s basis points', (slippage) => {
    expect(() => termsFromSend(1n, rateOf(1n, 1n), slippage)).toThrow('slippageBasisPoints')
  })
})

describe('the rate of a path', () => {
  const known = rateOfPacket(1000n, 900n)

  it('is made more exact by what agrees with it', () => {
    expect(updateRate(known, 10_000n, 9005n)).toEqual(rateOfPacket(10_000n, 9005n))
    expect(updateRate(known, 10n, 9n)).toBe(known)
  })

  it('is not changed by what rounding explains', () => {
    expect(updateRate(known, 10n, 7n)).toBe(known)
    expect(updateRate(known, 10n, 12n)).toBe(known)
  })

  it('has changed when a packet brings something else', () => {
    expect(updateRate(known, 1000n, 890n)).toEqual(rateOfPacket(1000n, 890n))
    expect(updateRate(known, 1000n, 910n)).toEqual(rateOfPacket(1000n, 910n))
  })
})
