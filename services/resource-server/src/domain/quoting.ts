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
} from '@open-payments-server/amounts'
import { assetMismatch, invalidField, invalidReceiver, nonPositiveReceiveAmount, noRate } from './errors.js'
import { type FeeTable, feesOf, type RateProvider } from './rates.js'
import { type Receiver, remainingRoom } from './receiver.js'
import type { WalletAddress } from './wallet-address.js'

/** What a payment's amounts are fixed by: what the sender pays in all, or what the receiver gets. */
export type FixedAmount =
  { readonly side: 'debit'; readonly amount: Amount } | { readonly side: 'receive'; readonly amount: Amount }

/** What a payment is about. */
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

/**
 * Works out the amounts of a payment to a receiver, who must be able to take them in full: a payment that could only be
 * made in part is refused before it is promised.
 *
 * @throws Refusal `not-payable`; an amount in another asset, beyond 64 bits, or too small to deliver
 *   anything; no exchange rate. 503 when no rate can be had now
 */
export async function quotePayment(request: PaymentRequest, sources: TermSources): Promise<QuotedAmounts> {
  const { sender, receiver, fixed } = request
  const room = remainingRoom(receiver, request.nowMs)
  if (room === 0n) throw invalidReceiver()
  checkAsset(request)
  const rate = await sources.rates.getRate(sender.asset, receiver.asset)
  if (rate === undefined) throw noRate(sender.asset.code, receiver.asset.code)
  const terms = {
    source: sender.asset,
    target: receiver.asset,
    rate,
    fees: feesOf(sources.fees, sender.asset)
  }
  const quoted = computeAmounts(fixed, terms)
  if (quoted.receive > room) throw invalidReceiver(new Error('the receiver takes less than the amount'))
  return quoted
}

function checkAsset({ sender, receiver, fixed }: PaymentRequest): void {
  const expected = fixed.side === 'debit' ? sender.asset : receiver.asset
  if (isSameAsset(fixed.amount.asset, expected)) return
  const owner = fixed.side === 'debit' ? 'the wallet address' : 'the receiver'
  throw assetMismatch(`${fixed.side}Amount`, fixed.amount.asset, expected, owner)
}

function computeAmounts(fixed: FixedAmount, terms: QuoteTerms): QuotedAmounts {
  const field = `${fixed.side}Amount`
  const quoted = withinRange(field, () =>
    fixed.side === 'debit'
      ? quoteFromDebit(fixed.amount.value, terms)
      : quoteFromReceive(fixed.amount.value, terms)
  )
  if (quoted.receive > 0n) return quoted
  const smallest = withinRange(field, () => minimumDebit(terms))
  throw nonPositiveReceiveAmount(formatAmount({ value: smallest, asset: terms.source }))
}

function withinRange<Result>(field: string, compute: () => Result): Result {
  try {
    return compute()
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    throw invalidField(field, 'the amounts of the payment exceed 64 bits')
  }
}
