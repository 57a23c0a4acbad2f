import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { insufficientFunds, settle } from './settlement.js'

const open = (room: bigint) => ({ completed: false, expired: false, room })

/** Amounts as quotes have them: a fee below the debit. */
const quoted = fc
  .record({
    debit: fc.bigInt(1n, 10n ** 12n),
    feeShare: fc.bigInt(0n, 9_999n),
    receive: fc.bigInt(1n, 10n ** 12n)
  })
  .map(({ debit, feeShare, receive }) => ({ debit, fee: (debit * feeShare) / 10_000n, receive }))

/** Amounts within one asset: nothing but the fee is lost. */
const quotedInOneAsset = fc
  .record({ receive: fc.bigInt(1n, 10n ** 12n), fee: fc.bigInt(0n, 10n ** 10n) })
  .map(({ receive, fee }) => ({ debit: receive + fee, fee, receive }))

describe('settling a payment', () => {
  it('sends and delivers all of it where there is room', () => {
    const amounts = { debit: 1000n, fee: 20n, receive: 980n }
    const settlement = {
      state: 'completed',
      failureReason: undefined,
      sentValue: 1000n,
      feeValue: 20n,
      deliveredValue: 980n
    }
    expect(settle(amounts, open(980n))).toEqual(settlement)
    expect(settle(amounts, open(5000n))).toEqual(settlement)
  })

  it('sends nothing to a receiver that is missing, completed, expired or full, nor without the money', () => {
    const amounts = { debit: 1000n, fee: 20n, receive: 980n }
    const settlements = [
      settle(amounts, undefined),
      settle(amounts, { ...open(980n), completed: true }),
      settle(amounts, { ...open(980n), expired: true }),
      settle(amounts, open(0n)),
      insufficientFunds()
    ]
    for (const settlement of settlements) {
      expect(settlement).toMatchObject({ state: 'failed', sentValue: 0n, feeValue: 0n, deliveredValue: 0n })
    }
    expect(new Set(settlements.map(({ failureReason }) => failureReason)).size).toBe(settlements.length)
  })

  it('delivers what fits and sends its share', () => {
    expect(settle({ debit: 1000n, fee: 20n, receive: 980n }, open(490n))).toMatchObject({
      state: 'failed',
      sentValue: 500n,
      feeValue: 10n,
      deliveredValue: 490n
    })
  })

  it('sends nothing rather than the whole debit for a part: a debit of one unit has no part', () => {
    expect(settle({ debit: 1n, fee: 0n, receive: 100n }, open(99n))).toMatchObject({
      sentValue: 0n,
      deliveredValue: 0n
    })
    expect(settle({ debit: 2n, fee: 0n, receive: 100n }, open(99n))).toMatchObject({
      sentValue: 1n,
      deliveredValue: 50n
    })
  })

  it('never gives the receiver more than fits, nor takes more than was agreed, at any amounts', () => {
    fc.assert(
      fc.property(quoted, fc.bigInt(0n, 10n ** 12n), (amounts, room) => {
        const {
          state,
          sentValue: sent,
          feeValue: fee,
          deliveredValue: delivered,
          failureReason
        } = settle(amounts, open(room))
        expect(delivered <= room && delivered <= amounts.receive && sent <= amounts.debit).toBe(true)
        expect(state === 'completed').toBe(delivered === amounts.receive)
        expect(state === 'completed').toBe(sent === amounts.debit)
        expect(state === 'completed').toBe(failureReason === undefined)
        // What is sent pays for what is delivered, at the terms of the whole; and each has the other.
        expect(sent * amounts.receive >= amounts.debit * delivered).toBe(true)
        expect(sent === 0n).toBe(delivered === 0n)
        expect(fee >= 0n && (sent === 0n || fee < sent) && fee <= amounts.fee).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })

  it('adds up to the unit within one asset', () => {
    fc.assert(
      fc.property(quotedInOneAsset, fc.bigInt(0n, 10n ** 12n), (amounts, room) => {
        const { sentValue: sent, feeValue: fee, deliveredValue: delivered } = settle(amounts, open(room))
        expect(sent).toBe(fee + delivered)
      }),
      { numRuns: 2_000 }
    )
  })
})
