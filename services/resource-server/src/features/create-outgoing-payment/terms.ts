import { invalidQuote, invalidReceiver } from '../../domain/errors.js'
import { methodTowards, type OutgoingMethod } from '../../domain/outgoing-method.js'
import type { PaymentTerms } from '../../domain/outgoing-payment.js'
import type { PayableQuote, RememberedQuotes } from '../../domain/quote.js'
import { quotePayment, type TermSources } from '../../domain/quoting.js'
import { isExchanged } from '../../domain/rates.js'
import type { ReceiverDirectory } from '../../domain/receiver.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { WalletAddress } from '../../domain/wallet-address.js'
import type { PayableQuotes } from '../../modules/quotes/index.js'
import type { OrderFromIncomingPayment, OrderFromQuote } from './request.js'

/** How long terms stand at least, in milliseconds: until the payment is begun, and for an approval before that. */
const BEGIN_AT_LEAST_MS = 30_000

/**
 * The terms of a quote. A cached quote may have been used by a payment of another process: the statement that persists the
 * payment refuses it then.
 *
 * @throws Refusal `not-payable` when it is unknown, expired, used, or another client's or wallet address's
 */
export async function termsOfQuote(
  order: OrderFromQuote,
  payer: { walletAddress: WalletAddress; client: string; nowMs: number },
  dependencies: { quotes: PayableQuotes; rememberedQuotes: RememberedQuotes; urls: ResourceUrls }
): Promise<PaymentTerms> {
  const id = dependencies.urls.idOf('quotes', order.quoteId)
  if (id === undefined) throw invalidQuote()
  const owner = { walletAddressId: payer.walletAddress.id, client: payer.client }
  const quote = dependencies.rememberedQuotes.take(id, owner) ?? (await dependencies.quotes.find(id, owner))
  if (quote === undefined) throw invalidQuote()
  const incomingPaymentId = dependencies.urls.idOf('incoming-payments', quote.receiver)
  const { sending, expiresAtMs } = quote
  if (expiresAtMs <= payer.nowMs) throw invalidQuote()
  if ((incomingPaymentId === undefined) !== (sending !== undefined)) throw invalidQuote()
  return {
    amounts: quote.amounts,
    receiver: {
      url: quote.receiver,
      incomingPaymentId,
      asset: quote.receiveAsset,
      assetId: quote.receiveAssetId
    },
    quoteId: id,
    sending,
    // Used at the last moment, it may still begin.
    beginUntilMs: doTermsEnd(payer.walletAddress, quote)
      ? Math.max(expiresAtMs, payer.nowMs + BEGIN_AT_LEAST_MS)
      : undefined
  }
}

/** Whether terms end: those of whatever is sent elsewhere do, and those with an exchange rate. */
function doTermsEnd(
  { asset }: Pick<WalletAddress, 'asset'>,
  { sending, receiveAsset }: Pick<PayableQuote, 'sending' | 'receiveAsset'>
): boolean {
  return sending !== undefined || isExchanged(asset, receiveAsset)
}

/**
 * The terms of a payment of a fixed debit, at the current rate. Where they end, they stand as long as a quote, and at least as long as those of
 * one that is used at the last moment.
 *
 * @throws Refusal `not-payable`, for an amount in another asset than the wallet address, and for one too small to deliver
 *   anything; 503 when no rate is available
 */
export async function termsOfIncomingPayment(
  order: OrderFromIncomingPayment,
  payer: { walletAddress: WalletAddress; nowMs: number },
  dependencies: {
    receivers: ReceiverDirectory
    termSources: TermSources
    urls: ResourceUrls
    outgoingMethod: OutgoingMethod | undefined
    quoteLifetimeSeconds: number
  }
): Promise<PaymentTerms> {
  if (dependencies.urls.idOf('incoming-payments', order.incomingPayment) === undefined) {
    return termsElsewhere(order, payer, dependencies)
  }
  const receiver = await dependencies.receivers.find(order.incomingPayment)
  if (receiver === undefined) throw invalidReceiver()
  const { amounts, refusal } = await quotePayment(
    {
      sender: payer.walletAddress,
      receiver,
      fixed: { side: 'debit', amount: order.debitAmount },
      nowMs: payer.nowMs
    },
    dependencies.termSources
  )
  if (refusal !== undefined) throw refusal
  const { url, incomingPaymentId, asset, assetId } = receiver
  return {
    amounts,
    receiver: { url, incomingPaymentId, asset, assetId },
    quoteId: undefined,
    sending: undefined,
    beginUntilMs: doTermsEnd(payer.walletAddress, { sending: undefined, receiveAsset: asset })
      ? endOfTerms(payer.nowMs, dependencies)
      : undefined
  }
}

/** When terms end that no quote has. */
function endOfTerms(
  nowMs: number,
  { quoteLifetimeSeconds }: { readonly quoteLifetimeSeconds: number }
): number {
  return nowMs + Math.max(quoteLifetimeSeconds * 1_000, BEGIN_AT_LEAST_MS)
}

async function termsElsewhere(
  { incomingPayment: url, debitAmount }: OrderFromIncomingPayment,
  { walletAddress, nowMs }: { walletAddress: WalletAddress; nowMs: number },
  dependencies: {
    outgoingMethod: OutgoingMethod | undefined
    urls: ResourceUrls
    quoteLifetimeSeconds: number
  }
): Promise<PaymentTerms> {
  const fixed = { side: 'debit', amount: debitAmount } as const
  const priced = await methodTowards(url, dependencies).price({ sender: walletAddress, receiver: url, fixed })
  const { amounts, receiveAsset: asset, receiveAssetId: assetId, sending } = priced
  return {
    amounts,
    receiver: { url, incomingPaymentId: undefined, asset, assetId },
    quoteId: undefined,
    sending,
    beginUntilMs: endOfTerms(nowMs, dependencies)
  }
}
