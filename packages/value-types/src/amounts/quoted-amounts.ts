import { AmountError } from './amount-error.js'
import { type Asset, assertUint64 } from './amount.js'
import { type FeeSchedule, feeFor, smallestDebitLeaving } from './fees.js'
import { convertRoundedDown, convertRoundedUp, divideRoundedUp, type Rate } from './rate.js'

/**
 * What a payment takes and gives. `debit` and `fee` are in the smallest units of the source asset, the fee being part
 * of the debit; `receive` is in those of the target asset.
 *
 * `receive` is never more than `debit − fee` covers at the quoted rate. With one asset at rate one, `debit` is
 * exactly `fee + receive`: no unit is left over.
 */
export interface QuotedAmounts {
  readonly debit: bigint
  readonly fee: bigint
  readonly receive: bigint
}

/** The terms of a quote: both assets, the rate from source to target, and the sender's fees. */
export interface QuoteTerms {
  readonly source: Asset
  readonly target: Asset
  readonly rate: Rate
  readonly fees: FeeSchedule
}

/**
 * Quotes a payment from what its sender pays in all. `receive` is rounded down, and may be `0n` when the debit is too
 * small to deliver anything: the caller decides what to answer then (see {@link minimumDebit}).
 *
 * @throws AmountError when an amount leaves the unsigned 64-bit range
 */
export function quoteFromDebit(debit: bigint, terms: QuoteTerms): QuotedAmounts {
  const fee = feeFor(debit, terms.fees)
  return { debit, fee, receive: convertRoundedDown(debit - fee, terms.source, terms.target, terms.rate) }
}

/**
 * Quotes a payment from what its receiver is to get: `debit` is the smallest that delivers `receive` after the fee,
 * and `receive` in the result is exactly the amount asked for. Conversion and fee are rounded up.
 *
 * @throws AmountError when an amount leaves the unsigned 64-bit range
 */
export function quoteFromReceive(receive: bigint, terms: QuoteTerms): QuotedAmounts {
  const net = convertRoundedUp(receive, terms.source, terms.target, terms.rate)
  const debit = assertUint64(smallestDebitLeaving(net, terms.fees), 'value')
  return { debit, fee: feeFor(debit, terms.fees), receive }
}

/**
 * The smallest debit that delivers at least one of the target's smallest units.
 *
 * @throws AmountError when not even the largest amount does
 */
export function minimumDebit(terms: QuoteTerms): bigint {
  return quoteFromReceive(1n, terms).debit
}

/**
 * The share of a debit that is kept when only part of a payment could be delivered: `ceil(debit × received /
 * receive)`. It is the whole debit when all was delivered, and `0n` when nothing was.
 *
 * @throws AmountError with field `received` when more was received than quoted
 */
export function debitForPartialReceive(quoted: QuotedAmounts, received: bigint): bigint {
  if (received < 0n || received > quoted.receive) {
    throw new AmountError('received', 'must be from 0 to the quoted receive amount')
  }
  return received === 0n ? 0n : divideRoundedUp(quoted.debit * received, quoted.receive)
}
