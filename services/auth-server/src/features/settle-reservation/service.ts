import type { SettledReservation, SettledValues, SettleReservationRepository } from './repository.js'

/** What became of a call. */
export type SettleOutcome =
  /** The reservation is settled with these values, by this call or by an earlier one. */
  | 'settled'
  /** No reservation of that payment is known. */
  | 'unknown'
  /** It was settled with other values, released, or never held room. */
  | 'ended_otherwise'
  | 'more_debited_than_reserved'
  | 'more_received_than_reserved'

/** Ends a reservation with what was really spent. Twice has the effect of once. */
export type SettleReservation = (paymentId: string, spent: SettledValues) => Promise<SettleOutcome>

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

function outcomeOf(
  reservation: SettledReservation | undefined,
  spent: SettledValues
): SettleOutcome | 'raced' {
  if (reservation === undefined) return 'unknown'
  const { ended, state, reserved, settled } = reservation
  if (ended) return 'settled'
  if (state === 'released' || state === 'refused' || reserved === undefined) return 'ended_otherwise'
  if (spent.debited > reserved.debited) return 'more_debited_than_reserved'
  if (spent.received > reserved.received) return 'more_received_than_reserved'
  if (settled === undefined) return 'raced'
  const same = settled.debited === spent.debited && settled.received === spent.received
  return same ? 'settled' : 'ended_otherwise'
}
