import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { insufficientFunds, settle } from './settlement.js'

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
