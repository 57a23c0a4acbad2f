import type { Logger } from '@open-payments-server/runtime'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { AuthServerUnavailable, type Reservation } from '../../domain/ports.js'
import type { Queries } from '../../modules/database.js'
import { giveUpLost } from '../../modules/grant-outcomes/index.js'
import { readTimelineChange } from '../../modules/timeline/index.js'
import { type Pair, type PairDependencies, readPair, readPairs } from './pairs.js'

/** Maximum number of lost payments that are given up together. */
const GIVEN_UP_MAX = 100

/** What finding lost payments needs. */
export interface LossDependencies extends PairDependencies {
  readonly clock: { now(): number }
  readonly config: {
    /** Age from which a reservation can no longer be one whose payment is just being persisted, in seconds. */
    readonly ORPHAN_AGE_SECONDS: number
  }
}

/** What giving up lost payments needs. */
export interface GiveUpLostDependencies extends LossDependencies {
  readonly database: Queries
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countGivenUp'>
  /** Signals that there is an outcome to deliver to the auth server. */
  readonly onReservationEnded: () => void
}

/**
 * A reservation from before this time, without a payment here, belongs to a lost payment. In milliseconds since the Unix
 * epoch: before the database last changed its timeline, and too long ago to be just being persisted.
 */
export async function readLossBound({ patientDatabase, clock, config }: LossDependencies): Promise<number> {
  return Math.min(await readTimelineChange(patientDatabase), clock.now() - config.ORPHAN_AGE_SECONDS * 1_000)
}

/**
 * The reservation of a lost payment; undefined for every other. A request that is repeated may have given its id up, without
 * knowing that its payment was lost: only an operator can decide that.
 */
export function findLost({ reservation, entry }: Pair, lossBoundMs: number): Reservation | undefined {
  const isLost =
    (entry === undefined || (entry.payment === undefined && !entry.isLost)) &&
    (reservation?.state === 'open' || reservation?.state === 'settled') &&
    reservation.createdAtMs < lossBoundMs
  return isLost ? reservation : undefined
}

/**
 * Lists payments that the database lost when it changed its timeline, by id. Compares everything that both services know, if it ever
 * changed.
 *
 * @param range.after id (UUID) after which the list begins; undefined starts with the first
 * @throws CallRefused `not-possible` when the auth server cannot be reached
 */
export async function listLostPayments(
  range: { readonly after: string | undefined; readonly limit: number },
  dependencies: LossDependencies
): Promise<readonly Reservation[]> {
  return refusingWithoutAuthServer(async () => {
    const lossBoundMs = await readLossBound(dependencies)
    if (lossBoundMs === -Infinity) return []
    const lost: Reservation[] = []
    for await (const pair of readPairs(range.after, dependencies)) {
      const reservation = findLost(pair, lossBoundMs)
      if (reservation !== undefined) lost.push(reservation)
      if (lost.length === range.limit) break
    }
    return lost
  })
}

/**
 * Gives up lost payments, all or none: nothing will ever be paid under their ids, and open reservations are released.
 * Settled amounts count as spent under their grants for good.
 *
 * @returns the ids that this call gave up, without those that were given up before
 * @throws CallRefused `invalid`; `not-found` for an id without a reservation; `not-possible` for a payment that is not
 *   lost, or when the auth server cannot be reached
 */
export async function giveUpLostPayments(
  paymentIds: readonly string[],
  dependencies: GiveUpLostDependencies
): Promise<readonly string[]> {
  const ids = new Set(paymentIds)
  if (ids.size === 0 || ids.size > GIVEN_UP_MAX || ![...ids].every(isUuid)) {
    throw invalidCallField('payment_ids', `must be 1 to ${GIVEN_UP_MAX} lower-case UUIDs`)
  }
  const lost = await refusingWithoutAuthServer(async () => {
    const lossBoundMs = await readLossBound(dependencies)
    const found: Reservation[] = []
    for (const id of ids) {
      const pair = await readPair(id, dependencies)
      if (pair.entry?.isLost !== true) found.push(requireLost(pair, lossBoundMs))
    }
    return found
  })
  const givenUp = await giveUpLost(
    dependencies.database,
    lost.map(({ paymentId, state }) => ({ paymentId, isOpen: state === 'open' }))
  )
  for (const paymentId of givenUp)
    dependencies.logger.warn({ paymentId }, 'lost payment given up by an operator')
  dependencies.counters.countGivenUp('lost', givenUp.length)
  if (givenUp.length > 0) dependencies.onReservationEnded()
  return givenUp
}

/** @throws CallRefused for a payment that is not lost */
function requireLost(pair: Pair, lossBoundMs: number): Reservation {
  const { paymentId, reservation } = pair
  if (reservation === undefined) {
    throw new CallRefused('not-found', `the auth server knows no payment ${paymentId}`, {
      field: 'payment_ids'
    })
  }
  const lost = findLost(pair, lossBoundMs)
  if (lost === undefined) {
    throw new CallRefused('not-possible', `the payment ${paymentId} is not lost`, { field: 'payment_ids' })
  }
  return lost
}

/**
 * Calls the auth server.
 *
 * @throws CallRefused `not-possible` when it cannot be reached
 */
export async function refusingWithoutAuthServer<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof AuthServerUnavailable)) throw error
    throw new CallRefused('not-possible', 'the auth server cannot be asked now', { field: 'auth_server' })
  }
}
