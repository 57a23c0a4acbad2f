/**
 * Why an outgoing payment failed: every reason, with its meaning for operators. Clients get only the reason, as
 * `failureReason`. A new reason is added here, to the database's type `outgoing_payment_failure_reason`, and to `FailureReason`
 * in `schema.prisma`.
 */
export const FAILURE_REASONS = {
  insufficient_funds: "The sender's account did not have the debit amount.",
  receiver_not_found: 'The incoming payment did not exist any more.',
  receiver_completed: 'The incoming payment was completed first.',
  receiver_expired: 'The incoming payment expired first.',
  receiver_full: 'Other payments left no room in the incoming payment, or less than can be delivered.',
  partially_delivered: 'The incoming payment had room for a part, which was delivered.',
  declined_by_provider: 'It awaited approval, and was declined or not decided about in time.'
} as const satisfies Readonly<Record<string, string>>

/** Why an outgoing payment failed. */
export type FailureReason = keyof typeof FAILURE_REASONS
