/** A reason for which outgoing payments fail, in words. */
interface FailureReasonDescription {
  /** What happened: for whoever reads why a payment failed. */
  readonly meaning: string
  /** What the client can do about it. */
  readonly advice: string
}

/**
 * Why an outgoing payment failed: every reason. Clients get only the reason, as `failureReason`; `docs/errors.md` has the words
 * for them, and operators see the meaning. A new reason is added here, to the database's type
 * `outgoing_payment_failure_reason`, and to `FailureReason` in `schema.prisma`.
 */
export const FAILURE_REASONS = {
  insufficient_funds: {
    meaning: "The sender's account did not have the debit amount.",
    advice: 'Tell the account holder. A new payment can succeed once there is money in the account.'
  },
  receiver_not_found: {
    meaning: 'The incoming payment did not exist any more.',
    advice: 'Ask the receiver for a new incoming payment.'
  },
  receiver_completed: {
    meaning: 'The incoming payment was completed first.',
    advice: 'Nothing, if it was paid meanwhile. Otherwise ask the receiver for a new incoming payment.'
  },
  receiver_expired: {
    meaning: 'The incoming payment expired first.',
    advice: 'Ask the receiver for a new incoming payment.'
  },
  receiver_full: {
    meaning: 'Other payments left no room in the incoming payment, or less than can be delivered.',
    advice:
      'Read the incoming payment: its `receivedAmount` says what is missing, which a new payment can deliver.'
  },
  partially_delivered: {
    meaning: 'The incoming payment had room for a part, which was delivered.',
    advice: '`sentAmount` is what that part cost. The rest is available again.'
  },
  receiver_unreachable: {
    meaning: "The receiver's provider could not be reached. Only for receivers at other providers.",
    advice: 'Pay again later.'
  },
  rate_changed: {
    meaning:
      'The exchange rate of the payment no longer stood when it was to be paid, or got worse on the way to another provider than the quote allows.',
    advice: 'Create a new quote, and let the account holder see it.'
  },
  declined_by_provider: {
    meaning: 'The provider did not approve the payment, or not in time.',
    advice: 'Do not repeat the payment. The account holder can ask the provider why.'
  },
  account_frozen: {
    meaning:
      'A freeze of an account, a wallet address or the client held it until the incoming payment was over, or the exchange rate of the payment no longer stood.',
    advice: 'Do not repeat the payment. The account holder can ask the provider until when.'
  }
} as const satisfies Readonly<Record<string, FailureReasonDescription>>

/** Why an outgoing payment failed. */
export type FailureReason = keyof typeof FAILURE_REASONS
