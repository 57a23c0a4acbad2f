import type { Outcome } from '@open-payments-server/runtime'
import type { End, EndOutcome, EndReservation } from '../../domain/ends.js'
import type { EndReservationsRepository } from './repository.js'

/**
 * Ends reservations of different payments, as if one after the other.
 *
 * @returns what each came to, in their order
 */
export type EndReservations = (ends: readonly End[]) => Promise<readonly Outcome<EndOutcome>[]>

/** What ending many needs. */
export interface EndReservationsDependencies {
  readonly repository: EndReservationsRepository
  /** Ends one. */
  readonly end: EndReservation
}

/** Ends by one statement what it can, and alone what is not there, ended before, or is fought for. */
export function createEndReservations({ repository, end }: EndReservationsDependencies): EndReservations {
  return async (ends) => {
    const ended = ends.length > 1 ? await repository.endMany(ends) : new Set<string>()
    return Promise.allSettled(
      ends.map(async (one): Promise<EndOutcome> => (ended.has(one.paymentId) ? 'ended' : end(one)))
    )
  }
}
