import {
  type AmountWire,
  type Asset,
  formatAmount,
  type QuotedAmounts
} from '@open-payments-server/value-types/amounts'
import type { SendingTerms } from './outgoing-method.js'
import { renderTime } from './representation.js'
import type { ResourceUrls } from './resource-urls.js'

/** A quote. Values are in the smallest units of the asset named beside them. */
export interface Quote {
  /** Id (UUID). */
  readonly id: string
  /** URL of the wallet address that would pay. */
  readonly walletAddressUrl: string
  /** The client that created it; see `nameClient`. */
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

/** The part of a quote that a payment on its terms needs. None of it ever changes. */
export interface PayableQuote {
  /** Id (UUID) of the wallet address that would pay. */
  readonly walletAddressId: string
  /** The client that created it; see `nameClient`. */
  readonly client: string
  /** URL of the incoming payment. */
  readonly receiver: string
  readonly amounts: QuotedAmounts
  readonly receiveAsset: Asset
  readonly receiveAssetId: number
  /** How it is sent; undefined for a receiver that is hosted here. */
  readonly sending: SendingTerms | undefined
  readonly expiresAtMs: number
}

/** The owner that a quote must have: a client, for a wallet address. */
export type QuoteOwner = Pick<PayableQuote, 'walletAddressId' | 'client'>

/** Caches quotes that were created here until they are paid. It does not know whether one was used elsewhere meanwhile. */
export interface RememberedQuotes {
  /** Caches a quote that was stored under an id (UUID). */
  remember(id: string, quote: PayableQuote): void
  /** The quote of an id, once: the next caller must check whether it was used. Undefined for a quote of another owner. */
  take(id: string, owner: QuoteOwner): PayableQuote | undefined
}

/** Whether this owner may pay a quote. */
export function isOwnedBy(quote: QuoteOwner, owner: QuoteOwner): boolean {
  return quote.walletAddressId === owner.walletAddressId && quote.client === owner.client
}

/** A quote on the wire (published API). */
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

/** The quote on the wire. It never changes. */
export function renderQuote(quote: Quote, urls: ResourceUrls): QuoteWire {
  return {
    id: urls.of('quotes', quote.id),
    walletAddress: quote.walletAddressUrl,
    receiver: quote.receiver,
    receiveAmount: formatAmount({ value: quote.receiveValue, asset: quote.receiveAsset }),
    debitAmount: formatAmount({ value: quote.debitValue, asset: quote.debitAsset }),
    method: quote.method,
    expiresAt: renderTime(quote.expiresAtMs),
    createdAt: renderTime(quote.createdAtMs)
  }
}
