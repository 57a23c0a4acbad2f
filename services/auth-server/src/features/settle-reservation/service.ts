import type { EndOutcome, SettledValues } from '../../domain/ends.js'
import type { SettledReservation, SettleReservationRepository } from './repository.js'

/** Ends a reservation with what was really spent. Twice has the effect of once. */
export type SettleReservation = (paymentId: string, spent: SettledValues) => Promise<EndOutcome>

/** How often a call looks again that lost against another end of the same reservation. The second look sees its end. */
const ATTEMPTS_MAX = 3

export function createSettleReservation(repository: SettleReservationRepository): SettleReservation {
  return async (paymentId, spent) => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const outcome = outcomeOf(await repository.settle(paymentId, spent), spent)
      if (outcome !== 'raced') return outcome
    }
    throw new Error('a reservation is open and cannot be settled')
  }
}

function outcomeOf(reservation: SettledReservation | undefined, spent: SettledValues): EndOutcome | 'raced' {
  if (reservation === undefined) return 'unknown'
  const { ended, state, reserved, settled } = reservation
  if (ended) return 'ended'
  if (state === 'released' || state === 'refused' || reserved === undefined) return 'ended_otherwise'
  if (spent.debited > reserved.debited) return 'more_debited_than_reserved'
  if (spent.received > reserved.received) return 'more_received_than_reserved'
  if (settled === undefined) return 'raced'
  const same = settled.debited === spent.debited && settled.received === spent.received
  return same ? 'ended' : 'ended_otherwise'
}
