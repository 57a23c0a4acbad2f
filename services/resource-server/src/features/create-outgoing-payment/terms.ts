import type { Asset, QuotedAmounts } from '@open-payments-server/amounts'
import { invalidQuote, invalidReceiver } from '../../domain/errors.js'
import { quotePayment, type TermSources } from '../../domain/quoting.js'
import type { ReceiverDirectory } from '../../domain/receiver.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { WalletAddress } from '../../domain/wallet-address.js'
import type { OrderFromIncomingPayment, OrderFromQuote } from './request.js'

/** What a payment will do: fixed before anything is reserved for it. */
export interface PaymentTerms {
  readonly amounts: QuotedAmounts
  readonly receiver: {
    /** URL of the incoming payment. */
    readonly url: string
    /** Id (UUID) of the incoming payment. */
    readonly incomingPaymentId: string
    readonly asset: Asset
    /** Id of the asset. */
    readonly assetId: number
  }
  /** Id (UUID) of the quote they come from. */
  readonly quoteId: string | undefined
}

/** A quote as far as a payment needs it. */
export interface StoredQuote {
  /** URL of the incoming payment. */
  readonly receiver: string
  readonly amounts: QuotedAmounts
  readonly receiveAsset: Asset
  readonly receiveAssetId: number
  readonly expiresAtMs: number
  /** Whether a payment used it. */
  readonly used: boolean
}

/** Finds the quotes of a wallet address that one client made. */
export interface Quotes {
  /** Finds a quote by its id (UUID), with one statement; undefined when there is none of this client's. */
  find(id: string, walletAddressId: string, client: string): Promise<StoredQuote | undefined>
}

/**
 * The terms of a quote.
 *
 * @throws PublicError 400 `invalid quote` when it is unknown, expired, used, or another client's or wallet address's
 */
export async function termsOfQuote(
  order: OrderFromQuote,
  payer: { walletAddress: WalletAddress; client: string; nowMs: number },
  deps: { quotes: Quotes; urls: ResourceUrls }
): Promise<PaymentTerms> {
  const id = deps.urls.idOf('quotes', order.quoteId)
  if (id === undefined) throw invalidQuote()
  const quote = await deps.quotes.find(id, payer.walletAddress.id, payer.client)
  if (quote === undefined || quote.used) throw invalidQuote()
  const incomingPaymentId = deps.urls.idOf('incoming-payments', quote.receiver)
  if (quote.expiresAtMs <= payer.nowMs || incomingPaymentId === undefined) throw invalidQuote()
  return {
    amounts: quote.amounts,
    receiver: {
      url: quote.receiver,
      incomingPaymentId,
      asset: quote.receiveAsset,
      assetId: quote.receiveAssetId
    },
    quoteId: id
  }
}

/**
 * The terms of a payment of a fixed debit, at the rate of now.
 *
 * @throws PublicError 400 `invalid receiver`, for an amount in another asset than the wallet address, and for one too small
 *   to deliver anything; 503 when no rate can be had
 */
export async function termsOfIncomingPayment(
  order: OrderFromIncomingPayment,
  payer: { walletAddress: WalletAddress; nowMs: number },
  deps: { receivers: ReceiverDirectory; termSources: TermSources }
): Promise<PaymentTerms> {
  const receiver = await deps.receivers.find(order.incomingPayment)
  if (receiver === undefined) throw invalidReceiver()
  const amounts = await quotePayment(
    {
      sender: payer.walletAddress,
      receiver,
      fixed: { side: 'debit', amount: order.debitAmount },
      nowMs: payer.nowMs
    },
    deps.termSources
  )
  const { url, incomingPaymentId, asset, assetId } = receiver
  return { amounts, receiver: { url, incomingPaymentId, asset, assetId }, quoteId: undefined }
}
