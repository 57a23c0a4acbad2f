import type { ApprovalDecision } from './approval.js'
import type { GivenUpCause } from './given-up.js'

/** The result of an attempt to deliver an outcome to the auth server. */
export type DeliveryResult =
  /** It was acknowledged. */
  | 'acknowledged'
  /** The auth server could not be reached, or did not answer in time. */
  | 'unavailable'
  /** The auth server disagrees: the two services differ about money. */
  | 'refused'
  /** A defect of either service. */
  | 'failed'

/** What clients create. */
export type CreatedKind = 'incoming-payment' | 'quote' | 'outgoing-payment'

/** Counts what happens to payments. Counting returns at once and never fails. */
export interface PaymentCounters {
  /** A request created something. A repeated request does not count. */
  countCreated(kind: CreatedKind): void
  /** Incoming payments were completed, by their clients or because they received their full amount. */
  countIncomingCompleted(count: number): void
  /** An attempt to deliver an outcome ended. */
  countDelivery(result: DeliveryResult): void
  /** Payment ids were given up. */
  countGivenUp(cause: GivenUpCause, count?: number): void
  /** A sweep has seen all open reservations, and left this many to an operator because their payments may be lost. */
  showKeptForOperator(count: number): void
  /**
   * A sweep has seen all open reservations. The oldest of those whose payments do not await approval was made at this instant, in
   * milliseconds since the Unix epoch by the auth server's clock; undefined if there is none.
   */
  showUnsettledSince(oldestAtMs: number | undefined): void
  /** It was decided about payments that awaited approval. */
  countDecided(decision: ApprovalDecision, count: number): void
  /** Payments are lost that clients were told of: another server took the place of the database, and does not have them. */
  countLost(count: number): void
  /** A payment has ended. */
  countEnded(state: 'completed' | 'failed'): void
}
