import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { computeAmounts } from './quoting.js'
import { insufficientFunds, settle, settleSent } from './settlement.js'

const open = (room: bigint) => ({ completed: false, expired: false, room })

/** Amounts as quotes have them: a fee below the debit. */
const quoted = fc
  .record({
    debitValue: fc.bigInt(1n, 10n ** 12n),
    feeShare: fc.bigInt(0n, 9_999n),
    receiveValue: fc.bigInt(1n, 10n ** 12n)
  })
  .map(({ feeShare, ...values }) => ({ ...values, feeValue: (values.debitValue * feeShare) / 10_000n }))

/** Amounts within one asset: nothing but the fee is lost. */
const quotedInOneAsset = fc
  .record({ receiveValue: fc.bigInt(1n, 10n ** 12n), feeValue: fc.bigInt(0n, 10n ** 10n) })
  .map((values) => ({ ...values, debitValue: values.receiveValue + values.feeValue }))

describe('settling a payment', () => {
  it('sends and delivers all of it where there is room', () => {
    const amounts = { debitValue: 1000n, feeValue: 20n, receiveValue: 980n }
    const settlement = {
      state: 'completed',
      failureReason: undefined,
      settledDebitValue: 1000n,
      settledFeeValue: 20n,
      settledReceiveValue: 980n
    }
    expect(settle(amounts, open(980n))).toEqual(settlement)
    expect(settle(amounts, open(5000n))).toEqual(settlement)
  })

  it('sends nothing to a receiver that is missing, completed, expired or full, nor without the money', () => {
    const amounts = { debitValue: 1000n, feeValue: 20n, receiveValue: 980n }
    const settlements = [
      settle(amounts, undefined),
      settle(amounts, { ...open(980n), completed: true }),
      settle(amounts, { ...open(980n), expired: true }),
      settle(amounts, open(0n)),
      insufficientFunds()
    ]
    for (const settlement of settlements) {
      expect(settlement).toMatchObject({
        state: 'failed',
        settledDebitValue: 0n,
        settledFeeValue: 0n,
        settledReceiveValue: 0n
      })
    }
    expect(new Set(settlements.map(({ failureReason }) => failureReason)).size).toBe(settlements.length)
  })

  it('delivers what fits and sends its share', () => {
    expect(settle({ debitValue: 1000n, feeValue: 20n, receiveValue: 980n }, open(490n))).toMatchObject({
      state: 'failed',
      settledDebitValue: 500n,
      settledFeeValue: 10n,
      settledReceiveValue: 490n
    })
  })

  it('sends nothing rather than the whole debit for a part: a debit of one unit has no part', () => {
    expect(settle({ debitValue: 1n, feeValue: 0n, receiveValue: 100n }, open(99n))).toMatchObject({
      settledDebitValue: 0n,
      settledReceiveValue: 0n
    })
    expect(settle({ debitValue: 2n, feeValue: 0n, receiveValue: 100n }, open(99n))).toMatchObject({
      settledDebitValue: 1n,
      settledReceiveValue: 50n
    })
  })

  it('never gives the receiver more than fits, nor takes more than was agreed, at any amounts', () => {
    fc.assert(
      fc.property(quoted, fc.bigInt(0n, 10n ** 12n), (amounts, room) => {
        const {
          state,
          settledDebitValue: sent,
          settledFeeValue: fee,
          settledReceiveValue: delivered,
          failureReason
        } = settle(amounts, open(room))
        expect(delivered <= room && delivered <= amounts.receiveValue && sent <= amounts.debitValue).toBe(
          true
        )
        expect(state === 'completed').toBe(delivered === amounts.receiveValue)
        expect(state === 'completed').toBe(sent === amounts.debitValue)
        expect(state === 'completed').toBe(failureReason === undefined)
        // What is sent pays for what is delivered, at the terms of the whole; and each has the other.
        expect(sent * amounts.receiveValue >= amounts.debitValue * delivered).toBe(true)
        expect(sent === 0n).toBe(delivered === 0n)
        expect(fee >= 0n && (sent === 0n || fee < sent) && fee <= amounts.feeValue).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })

  it('adds up to the unit within one asset', () => {
    fc.assert(
      fc.property(quotedInOneAsset, fc.bigInt(0n, 10n ** 12n), (amounts, room) => {
        const {
          settledDebitValue: sent,
          settledFeeValue: fee,
          settledReceiveValue: delivered
        } = settle(amounts, open(room))
        expect(sent).toBe(fee + delivered)
      }),
      { numRuns: 2_000 }
    )
  })
})

/** Amounts of a payment that is sent elsewhere, of whose fee a part is fixed. */
const quotedElsewhere = fc
  .record({ amounts: quoted, fixedShare: fc.bigInt(0n, 10_000n) })
  .map(({ amounts, fixedShare }) => ({
    ...amounts,
    fixedFeeValue: (amounts.feeValue * fixedShare) / 10_000n
  }))

describe('settling a payment that was sent elsewhere', () => {
  it('costs the whole debit, and completes it, where the share of what the receiver has is that, rounded up', () => {
    const fine = { debitValue: 1n, feeValue: 0n, fixedFeeValue: 0n, receiveValue: 10_000_000n }
    const completed = { state: 'completed', settledDebitValue: 1n, settledReceiveValue: 10_000_000n }
    expect(settleSent(fine, 9_999_999n, 'receiver_completed')).toMatchObject(completed)
    const two = { debitValue: 2n, feeValue: 0n, fixedFeeValue: 0n, receiveValue: 100n }
    expect(settleSent(two, 51n, 'receiver_completed')).toMatchObject({
      state: 'completed',
      settledDebitValue: 2n
    })
    expect(settleSent(two, 50n, 'receiver_completed')).toMatchObject({
      failureReason: 'partially_delivered',
      settledDebitValue: 1n,
      settledReceiveValue: 50n
    })
  })

  it('costs nothing where nothing was delivered, and tells why', () => {
    const amounts = { debitValue: 1000n, feeValue: 20n, fixedFeeValue: 20n, receiveValue: 980n }
    expect(settleSent(amounts, 0n, 'rate_changed')).toMatchObject({
      state: 'failed',
      failureReason: 'rate_changed',
      settledDebitValue: 0n,
      settledFeeValue: 0n,
      settledReceiveValue: 0n
    })
  })

  it('costs the fixed part of the fee whole, however little was delivered, and its share of the rest', () => {
    const amounts = { debitValue: 50_530n, feeValue: 530n, fixedFeeValue: 30n, receiveValue: 50_000n }
    expect(settleSent(amounts, 1_000n, 'receiver_completed')).toEqual({
      state: 'failed',
      failureReason: 'partially_delivered',
      settledDebitValue: 1_040n,
      settledFeeValue: 40n,
      settledReceiveValue: 1_000n
    })
    expect(settleSent(amounts, 1n, 'receiver_completed')).toMatchObject({
      settledDebitValue: 32n,
      settledFeeValue: 31n
    })
    expect(settleSent(amounts, 50_000n, 'receiver_completed')).toMatchObject({
      state: 'completed',
      settledDebitValue: 50_530n,
      settledFeeValue: 530n
    })
  })

  it('never costs less than the fixed fee and the share of what was delivered, nor more than a unit above it, at any amounts', () => {
    fc.assert(
      fc.property(quotedElsewhere, fc.bigInt(0n, 2n * 10n ** 12n), (amounts, delivered) => {
        const { debitValue, feeValue, fixedFeeValue, receiveValue } = amounts
        const {
          state,
          settledDebitValue: sent,
          settledFeeValue: fee,
          settledReceiveValue: counted
        } = settleSent(amounts, delivered, 'receiver_completed')
        const paidFor = delivered < receiveValue ? delivered : receiveValue
        const fixed = delivered === 0n ? 0n : fixedFeeValue
        const shared = debitValue - fixedFeeValue
        expect((sent - fixed) * receiveValue >= shared * paidFor).toBe(true)
        expect((sent - fixed - 1n) * receiveValue < shared * paidFor || sent === 0n).toBe(true)
        expect(fee >= fixed && fee <= feeValue && (sent === 0n || fee < sent)).toBe(true)
        expect(state === 'completed').toBe(sent === debitValue)
        expect(counted).toBe(state === 'completed' ? receiveValue : delivered)
      }),
      { numRuns: 2_000 }
    )
  })

  it('covers what was sent of it, at any scales and rates, as the packets do that ask for what its terms want', () => {
    const scale = fc.integer({ min: 0, max: 9 })
    const payment = fc.record({
      source: scale,
      target: scale,
      rate: fc
        .tuple(fc.bigInt(1n, 10_000n), fc.bigInt(1n, 10_000n))
        .map(([numerator, denominator]) => ({ numerator, denominator })),
      fees: fc.record({ fixed: fc.bigInt(0n, 1_000n), basisPoints: fc.integer({ min: 0, max: 5_000 }) }),
      sendMaxValue: fc.bigInt(1n, 1_000_000n),
      receiveValue: fc.bigInt(1n, 1_000_000n),
      sentShare: fc.bigInt(1n, 10_000n),
      // What arrived beyond what the terms want.
      more: fc.oneof(fc.constant(0n), fc.bigInt(0n, 1_000n))
    })
    fc.assert(
      fc.property(payment, ({ rate, fees, sendMaxValue, receiveValue, sentShare, more, ...scales }) => {
        const source = { code: 'USD', scale: scales.source }
        const target = { code: 'EUR', scale: scales.target }
        const fixed = { side: 'receive', amount: { value: sendMaxValue, asset: target } } as const
        const { amounts } = computeAmounts(fixed, { source, target, rate, fees })
        fc.pre(amounts !== undefined)
        const sentValue = (sendMaxValue * sentShare + 9_999n) / 10_000n
        const deliveredValue = (sentValue * receiveValue + sendMaxValue - 1n) / sendMaxValue + more
        const { settledDebitValue, settledFeeValue } = settleSent(
          { ...amounts, receiveValue, fixedFeeValue: fees.fixed },
          deliveredValue,
          'receiver_completed'
        )
        // Sold at the rate of the quote, what was paid without the fee brings what is owed to the peer.
        const brings = (settledDebitValue - settledFeeValue) * rate.numerator * 10n ** BigInt(target.scale)
        expect(brings >= sentValue * rate.denominator * 10n ** BigInt(source.scale)).toBe(true)
        expect(settledDebitValue <= amounts.debitValue).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })
})
