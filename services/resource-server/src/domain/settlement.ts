import { debitForPartialReceive, type QuotedAmounts } from '@open-payments-server/value-types/amounts'
import type { FailureReason } from './failure-reasons.js'
import type { ReceiverRoom } from './receiver.js'

/** How a payment ended. */
export interface Settlement {
  readonly state: 'completed' | 'failed'
  /** undefined unless it failed. */
  readonly failureReason: FailureReason | undefined
  /** Amount actually debited from the sender, including the fee, in the debit asset. */
  readonly sentValue: bigint
  /** Part of `sentValue` that is the provider's fee. */
  readonly feeValue: bigint
  /** Amount actually received, in the receive asset. */
  readonly deliveredValue: bigint
}

/**
 * Settles a payment whose sender has the money.
 *
 * The receiver gets what fits, and the sender pays its share of the debit, rounded up. Of that, the part that covers the
 * delivered amount (the same share of the debit less the fee, rounded up) is delivered or converted; the rest is the fee.
 * In one asset: `sentValue` = `feeValue` + `deliveredValue`.
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
  if (receiver.room >= quoted.receive) {
    const { debit: sentValue, fee: feeValue, receive: deliveredValue } = quoted
    return { state: 'completed', failureReason: undefined, sentValue, feeValue, deliveredValue }
  }
  const coveredPart = ((quoted.debit - 1n) * quoted.receive) / quoted.debit
  const deliveredValue = receiver.room < coveredPart ? receiver.room : coveredPart
  if (deliveredValue === 0n) return nothingSent('receiver_full')
  const sentValue = debitForPartialReceive(quoted, deliveredValue)
  const net = { ...quoted, debit: quoted.debit - quoted.fee, fee: 0n }
  const feeValue = sentValue - debitForPartialReceive(net, deliveredValue)
  return {
    state: 'failed',
    failureReason: 'partially_delivered',
    sentValue,
    feeValue,
    deliveredValue
  }
}

/** A payment whose sender does not have the money. */
export function insufficientFunds(): Settlement {
  return nothingSent('insufficient_funds')
}

function nothingSent(failureReason: FailureReason): Settlement {
  return { state: 'failed', failureReason, sentValue: 0n, feeValue: 0n, deliveredValue: 0n }
}
