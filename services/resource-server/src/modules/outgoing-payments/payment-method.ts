/** The result of a round of processing. */
export interface ProcessedRound {
  /** Number of pending payments that were found, up to the limit. */
  readonly found: number
  /** Number of them that ended, completed or failed. */
  readonly ended: number
}

/**
 * A way in which payments reach their receivers. Each method takes the pending payments to the receivers it serves. The
 * first is `local`, for payments between two wallets hosted here.
 */
export interface PaymentMethod {
  readonly name: string
  /** Processes up to `limit` pending payments, the oldest first. Several processes may do so at once. */
  processPending(limit: number): Promise<ProcessedRound>
}
