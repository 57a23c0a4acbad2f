import { type AmountWire, type Asset, formatAmount } from '@open-payments-server/amounts'
import type { ResourceUrls } from './resource-urls.js'

/** A quote. Values are in the smallest units of the asset named beside them. */
export interface Quote {
  /** Id (UUID). */
  readonly id: string
  /** URL of the wallet address that would pay. */
  readonly walletAddressUrl: string
  /** Who created it; see `nameClient`. */
  readonly client: string
  /** URL of the incoming payment. */
  readonly receiver: string
  readonly debitAsset: Asset
  readonly debitValue: bigint
  readonly receiveAsset: Asset
  readonly receiveValue: bigint
  readonly method: string
  readonly expiresAtMs: number
  readonly createdAtMs: number
}

/** A quote as it travels (published API). */
export interface QuoteWire {
  readonly id: string
  readonly walletAddress: string
  readonly receiver: string
  readonly receiveAmount: AmountWire
  readonly debitAmount: AmountWire
  readonly method: string
  readonly expiresAt: string
  readonly createdAt: string
}

/** The quote as it travels. It never changes. */
export function renderQuote(quote: Quote, urls: ResourceUrls): QuoteWire {
  return {
    id: urls.of('quotes', quote.id),
    walletAddress: quote.walletAddressUrl,
    receiver: quote.receiver,
    receiveAmount: formatAmount({ value: quote.receiveValue, asset: quote.receiveAsset }),
    debitAmount: formatAmount({ value: quote.debitValue, asset: quote.debitAsset }),
    method: quote.method,
    expiresAt: new Date(quote.expiresAtMs).toISOString(),
    createdAt: new Date(quote.createdAtMs).toISOString()
  }
}
