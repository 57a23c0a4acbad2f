import type { GivenUpCause } from './given-up.js'

/** How an attempt to tell the auth server what became of a payment went. */
export type DeliveryResult =
  /** It was acknowledged. */
  | 'acknowledged'
  /** The auth server could not be asked, or did not answer in time. */
  | 'unavailable'
  /** The auth server says otherwise: the two services disagree about money. */
  | 'refused'
  /** A defect of either service. */
  | 'failed'

/** What clients create. */
export type CreatedKind = 'incoming-payment' | 'quote' | 'outgoing-payment'

/** Counts what happens to payments. Counting returns at once and never fails. */
export interface PaymentCounters {
  /** A request created something. One that is repeated does not. */
  countCreated(kind: CreatedKind): void
  /** So many incoming payments were completed: by their clients, or because they have received all they asked for. */
  countIncomingCompleted(count: number): void
  /** One attempt to deliver an outcome is over. */
  countDelivery(result: DeliveryResult): void
  /** A payment id was given up, or so many. */
  countGivenUp(cause: GivenUpCause, count?: number): void
  /** A sweep has seen all open reservations: so many are held for an operator, because their payments may be lost. */
  showHeld(count: number): void
  /** A payment is no longer pending. */
  countEnded(state: 'completed' | 'failed'): void
}
