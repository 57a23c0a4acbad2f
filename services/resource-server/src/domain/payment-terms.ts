import type { Asset, QuotedAmounts } from '@open-payments-server/value-types/amounts'

/** The terms of a payment: fixed before anything is reserved for it. */
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
