import { AmountError } from './amount-error.js'
import { type Asset, assertUint64 } from './amount.js'
import { type FeeSchedule, feeFor, smallestDebitLeaving } from './fees.js'
import { convertRoundedDown, convertRoundedUp, divideRoundedUp, type Rate } from './rate.js'

/**
 * What a payment takes and gives. `debitValue` and `feeValue` are in the smallest units of the source asset, the fee being
 * part of the debit; `receiveValue` is in those of the target asset.
 *
 * `receiveValue` is never more than `debitValue − feeValue` covers at the quoted rate. With one asset at rate one,
 * `debitValue` is exactly `feeValue + receiveValue`: no unit is left over.
 */
export interface QuotedAmounts {
  readonly debitValue: bigint
  readonly feeValue: bigint
  readonly receiveValue: bigint
}

/** The terms of a quote: both assets, the rate from source to target, and the sender's fees. */
export interface QuoteTerms {
  readonly source: Asset
  readonly target: Asset
  readonly rate: Rate
  readonly fees: FeeSchedule
}

/**
 * Quotes a payment from what its sender pays in all. `receiveValue` is rounded down, and may be `0n` when the debit is too
 * small to deliver anything: the caller decides what to answer then (see {@link minimumDebit}).
 *
 * @throws AmountError when an amount leaves the unsigned 64-bit range
 */
export function quoteFromDebit(debitValue: bigint, terms: QuoteTerms): QuotedAmounts {
  const feeValue = feeFor(debitValue, terms.fees)
  const receiveValue = convertRoundedDown(debitValue - feeValue, terms.source, terms.target, terms.rate)
  return { debitValue, feeValue, receiveValue }
}

/**
 * Quotes a payment from what its receiver is to get: `debitValue` is the smallest that delivers `receiveValue` after the
 * fee, and `receiveValue` in the result is exactly the amount asked for. Conversion and fee are rounded up.
 *
 * @throws AmountError when an amount leaves the unsigned 64-bit range
 */
export function quoteFromReceive(receiveValue: bigint, terms: QuoteTerms): QuotedAmounts {
  const net = convertRoundedUp(receiveValue, terms.source, terms.target, terms.rate)
  const debitValue = assertUint64(smallestDebitLeaving(net, terms.fees), 'value')
  return { debitValue, feeValue: feeFor(debitValue, terms.fees), receiveValue }
}

/**
 * The smallest debit that delivers at least one of the target's smallest units.
 *
 * @throws AmountError when not even the largest amount does
 */
export function minimumDebit(terms: QuoteTerms): bigint {
  return quoteFromReceive(1n, terms).debitValue
}

/**
 * The share of a debit that is kept when only part of a payment could be delivered: `ceil(debitValue × received /
 * receiveValue)`. It is the whole debit when all was delivered, and `0n` when nothing was.
 *
 * @throws AmountError with field `received` when more was received than quoted
 */
export function debitForPartialReceive(quoted: QuotedAmounts, received: bigint): bigint {
  if (received < 0n || received > quoted.receiveValue) {
    throw new AmountError('received', 'must be from 0 to the quoted receive amount')
  }
  return received === 0n ? 0n : divideRoundedUp(quoted.debitValue * received, quoted.receiveValue)
}
