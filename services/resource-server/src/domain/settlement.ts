import { debitForPartialReceive, type QuotedAmounts } from '@open-payments-server/value-types/amounts'
import type { FailureReason } from './failure-reasons.js'
import type { SendingTerms } from './outgoing-method.js'
import type { ReceiverRoom } from './receiver.js'

/** How a payment ended. */
export interface Settlement {
  readonly state: 'completed' | 'failed'
  /** undefined unless it failed. */
  readonly failureReason: FailureReason | undefined
  /** Amount actually debited from the sender, including the fee, in the debit asset: the `sentAmount` that clients read. */
  readonly settledDebitValue: bigint
  /** Part of `settledDebitValue` that is the provider's fee. */
  readonly settledFeeValue: bigint
  /** Amount actually received, in the receive asset. */
  readonly settledReceiveValue: bigint
}

/**
 * Settles a payment whose sender has the money.
 *
 * The receiver gets what fits, and the sender pays its share of the debit, rounded up. Of that, the part that covers the
 * delivered amount (the same share of the debit less the fee, rounded up) is delivered or converted; the rest is the fee.
 * In one asset: `settledDebitValue` = `settledFeeValue` + `settledReceiveValue`.
 *
 * If necessary, a part is reduced so that the sender keeps at least one unit: a failed payment has not sent its whole debit
 * (existing clients refuse one that says so).
 *
 * @param receiver undefined when there is no such incoming payment
 */
export function settle(quoted: QuotedAmounts, receiver: ReceiverRoom | undefined): Settlement {
  if (receiver === undefined) return nothingSent('receiver_not_found')
  if (receiver.completed) return nothingSent('receiver_completed')
  if (receiver.expired) return nothingSent('receiver_expired')
  const { debitValue, feeValue, receiveValue } = quoted
  if (receiver.room >= receiveValue) {
    return {
      state: 'completed',
      failureReason: undefined,
      settledDebitValue: debitValue,
      settledFeeValue: feeValue,
      settledReceiveValue: receiveValue
    }
  }
  const coveredPart = largestPart(quoted)
  const settledReceiveValue = receiver.room < coveredPart ? receiver.room : coveredPart
  if (settledReceiveValue === 0n) return nothingSent('receiver_full')
  const settledDebitValue = debitForPartialReceive(quoted, settledReceiveValue)
  const net = { ...quoted, debitValue: debitValue - feeValue, feeValue: 0n }
  return {
    state: 'failed',
    failureReason: 'partially_delivered',
    settledDebitValue,
    settledFeeValue: settledDebitValue - debitForPartialReceive(net, settledReceiveValue),
    settledReceiveValue
  }
}

/** The most that can be delivered while the sender keeps a unit of the debit. */
function largestPart({ debitValue, receiveValue }: QuotedAmounts): bigint {
  return ((debitValue - 1n) * receiveValue) / debitValue
}

/**
 * Settles a payment that was sent elsewhere, by what was delivered of it: as if the receiver had had room for just that, but for the fixed
 * part of the fee, which is paid whole. What the way took less or more than the payment's terms say is the provider's.
 *
 * The receiver has it already, so it cannot be reduced. Where its share of the debit, rounded up, is all of it, the sender pays all of it, and
 * the payment is completed: what the receiver lacks is less than one unit of the debit brings.
 *
 * @param failureReason why nothing more was delivered; it is told if nothing was
 */
export function settleSent(
  quoted: QuotedAmounts & Pick<SendingTerms, 'fixedFeeValue'>,
  deliveredValue: bigint,
  failureReason: FailureReason
): Settlement {
  const { fixedFeeValue, receiveValue } = quoted
  const shared = {
    debitValue: quoted.debitValue - fixedFeeValue,
    feeValue: quoted.feeValue - fixedFeeValue,
    receiveValue
  }
  const room = deliveredValue > largestPart(shared) ? receiveValue : deliveredValue
  const settled = settle(shared, { completed: false, expired: false, room })
  if (settled.settledReceiveValue === 0n) return nothingSent(failureReason)
  return {
    ...settled,
    settledDebitValue: settled.settledDebitValue + fixedFeeValue,
    settledFeeValue: settled.settledFeeValue + fixedFeeValue
  }
}

/** A payment whose sender does not have the money. */
export function insufficientFunds(): Settlement {
  return nothingSent('insufficient_funds')
}

/**
 * A payment that was not begun in time: its terms no longer stand.
 *
 * @param isPeerFull whether it waited because too much was owed to the peer already
 */
export function notBegun(isPeerFull: boolean): Settlement {
  return nothingSent(isPeerFull ? 'receiver_unreachable' : 'rate_changed')
}

/** A payment that a freeze held until it could no longer go on. */
export function frozenTooLong(): Settlement {
  return nothingSent('account_frozen')
}

function nothingSent(failureReason: FailureReason): Settlement {
  return {
    state: 'failed',
    failureReason,
    settledDebitValue: 0n,
    settledFeeValue: 0n,
    settledReceiveValue: 0n
  }
}
