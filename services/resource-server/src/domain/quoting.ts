import {
  type Amount,
  AmountError,
  formatAmount,
  isSameAsset,
  minimumDebit,
  type QuotedAmounts,
  quoteFromDebit,
  quoteFromReceive,
  type QuoteTerms
} from '@open-payments-server/value-types/amounts'
import { assetMismatch, invalidField, invalidReceiver, nonPositiveReceiveAmount, noRate } from './errors.js'
import { type FeeTable, feesOf, type RateProvider } from './rates.js'
import { type Receiver, remainingRoom } from './receiver.js'
import type { WalletAddress } from './wallet-address.js'

/** The amount that is fixed: what the sender pays in total, or what the receiver gets. */
export type FixedAmount =
  { readonly side: 'debit'; readonly amount: Amount } | { readonly side: 'receive'; readonly amount: Amount }

/** The parameters of a payment. */
export interface PaymentRequest {
  readonly sender: Pick<WalletAddress, 'asset'>
  readonly receiver: Receiver
  readonly fixed: FixedAmount
  readonly nowMs: number
}

/** Where the terms of payments come from. */
export interface TermSources {
  readonly rates: RateProvider
  readonly fees: FeeTable
}

/** The amounts of a payment, or why it cannot be made. */
export type QuotingResult =
  | { readonly amounts: QuotedAmounts; readonly refusal?: undefined }
  | { readonly amounts?: undefined; readonly refusal: Error }

/**
 * Computes the amounts of a payment to a receiver, who must be able to take them in full: a payment that could only be made
 * in part is refused before it is promised.
 *
 * @returns a refusal for `invalid receiver`; an amount in another asset, beyond 64 bits, or too small to deliver anything;
 *   no exchange rate
 * @throws Refusal `rates-unavailable` when no rate is available now
 */
export async function quotePayment(request: PaymentRequest, sources: TermSources): Promise<QuotingResult> {
  const { sender, receiver, fixed } = request
  const room = remainingRoom(receiver, request.nowMs)
  if (room === 0n) return { refusal: invalidReceiver() }
  const mismatch = findMismatch(request)
  if (mismatch !== undefined) return { refusal: mismatch }
  const rate = await sources.rates.getRate(sender.asset, receiver.asset)
  if (rate === undefined) return { refusal: noRate(sender.asset.code, receiver.asset.code) }
  const terms = {
    source: sender.asset,
    target: receiver.asset,
    rate,
    fees: feesOf(sources.fees, sender.asset)
  }
  const quoted = computeAmounts(fixed, terms)
  if (quoted.amounts === undefined || quoted.amounts.receiveValue <= room) return quoted
  return { refusal: invalidReceiver(new Error('the receiver takes less than the amount')) }
}

/** The refusal of an amount in another asset than that of its side. */
export function findMismatch({
  sender,
  receiver,
  fixed
}: {
  readonly sender: Pick<WalletAddress, 'asset'>
  readonly receiver: Pick<Receiver, 'asset'>
  readonly fixed: FixedAmount
}): Error | undefined {
  const expected = fixed.side === 'debit' ? sender.asset : receiver.asset
  if (isSameAsset(fixed.amount.asset, expected)) return undefined
  const owner = fixed.side === 'debit' ? 'the wallet address' : 'the receiver'
  return assetMismatch(`${fixed.side}Amount`, fixed.amount.asset, expected, owner)
}

/** The amounts of a payment by its terms, in whichever asset these go to. */
export function computeAmounts(fixed: FixedAmount, terms: QuoteTerms): QuotingResult {
  const amounts = withinRange(() =>
    fixed.side === 'debit'
      ? quoteFromDebit(fixed.amount.value, terms)
      : quoteFromReceive(fixed.amount.value, terms)
  )
  if (amounts !== undefined && amounts.receiveValue > 0n) return { amounts }
  const smallest = amounts && withinRange(() => minimumDebit(terms))
  return {
    refusal:
      smallest === undefined
        ? invalidField(`${fixed.side}Amount`, 'the amounts of the payment exceed 64 bits')
        : nonPositiveReceiveAmount(formatAmount({ value: smallest, asset: terms.source }))
  }
}

/** The result; undefined when it exceeds 64 bits. */
function withinRange<Result>(compute: () => Result): Result | undefined {
  try {
    return compute()
  } catch (error) {
    if (error instanceof AmountError) return undefined
    throw error
  }
}
