/** What a round of processing came to. */
export interface ProcessedRound {
  /** How many pending payments were found, up to the limit. */
  readonly found: number
  /** How many of them ended, in whatever way. */
  readonly ended: number
}

/**
 * A way in which payments reach their receivers. Each takes the pending payments to receivers it serves. The first is
 * `local`, where both wallets are hosted here.
 */
export interface PaymentMethod {
  readonly name: string
  /** Processes up to `limit` pending payments, the oldest first. Safe beside itself in another process. */
  processPending(limit: number): Promise<ProcessedRound>
}
