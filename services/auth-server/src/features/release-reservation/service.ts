import type { EndOutcome } from '../../domain/ends.js'
import type { ReleaseReservationRepository } from './repository.js'

/** Ends a reservation of a payment that does not exist. Twice has the effect of once. */
export type ReleaseReservation = (paymentId: string) => Promise<EndOutcome>

/**
 * How often a call looks again. It may lose once against the reservation being written, and once against another end of
 * it; the third look sees the end.
 */
const ATTEMPTS_MAX = 4

export function createReleaseReservation(repository: ReleaseReservationRepository): ReleaseReservation {
  return async (paymentId) => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const result = await repository.release(paymentId)
      switch (result) {
        case 'ended':
        case 'barred':
        case 'released':
        case 'refused': // it never held room, and a late retry is refused again
          return 'ended'
        case 'settled':
          return 'was_settled'
        case 'open':
        case 'appeared':
        case 'gone':
          continue
      }
    }
    throw new Error('a reservation is open and cannot be released')
  }
}
