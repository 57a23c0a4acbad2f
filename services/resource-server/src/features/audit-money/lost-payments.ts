import { isUuid, type Logger } from '@open-payments-server/runtime'
import { OperationRefused } from '../../domain/operation-refused.js'
import {
  cutPage,
  type OperatorPage,
  type OperatorPageResult,
  readPageSize,
  readTextToken,
  unknownPageToken,
  writeTextToken
} from '../../domain/operator-pages.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { AuthServerUnavailable, type Reservation } from '../../domain/ports.js'
import type { Database } from '../../modules/database.js'
import { giveUpLost, readTimelineChange } from '../../modules/grant-outcomes/index.js'
import { type Pair, type PairDeps, readPair, readPairs } from './pairs.js'

/** Most lost payments that are given up together. */
const GIVEN_UP_MAX = 100

/** What finding lost payments needs. */
export interface LossDeps extends PairDeps {
  readonly clock: { now(): number }
  readonly config: {
    /** Age from which a reservation is no longer one that is just being persisted, in seconds. */
    readonly ORPHAN_AGE_SECONDS: number
  }
}

/** What giving up lost payments needs. */
export interface GiveUpLostDeps extends LossDeps {
  readonly database: Database
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countGivenUp'>
  /** Says that there is an outcome to deliver to the auth server. */
  readonly onReservationEnded: () => void
}

/**
 * Before when a reservation that nothing here knows is of a payment that is lost, in milliseconds since the Unix epoch:
 * before the database last changed its timeline, and too long ago to be just being persisted.
 */
export async function readLossBound({ patientDatabase, clock, config }: LossDeps): Promise<number> {
  return Math.min(await readTimelineChange(patientDatabase), clock.now() - config.ORPHAN_AGE_SECONDS * 1_000)
}

/** The reservation of a payment that is lost; undefined for every other. */
export function findLost({ reservation, outbox }: Pair, lossBoundMs: number): Reservation | undefined {
  const isLost =
    outbox === undefined &&
    (reservation?.state === 'open' || reservation?.state === 'settled') &&
    reservation.createdAtMs < lossBoundMs
  return isLost ? reservation : undefined
}

/**
 * Payments that the database lost when it changed its timeline, by id: looks at all that both services know.
 *
 * @throws OperationRefused `invalid`, or `not-possible` when the auth server cannot be asked
 */
export async function listLostPayments(
  page: OperatorPage,
  deps: LossDeps
): Promise<OperatorPageResult<Reservation>> {
  const size = readPageSize(page)
  const after = readTextToken(page)
  if (after !== '' && !isUuid(after)) throw unknownPageToken()
  return refusingWithoutAuthServer(async () => {
    const lossBoundMs = await readLossBound(deps)
    const lost: Reservation[] = []
    for await (const pair of readPairs(deps, after === '' ? undefined : after)) {
      const reservation = findLost(pair, lossBoundMs)
      if (reservation !== undefined) lost.push(reservation)
      if (lost.length > size) break
    }
    return cutPage(
      lost,
      size,
      ({ paymentId }) => writeTextToken(paymentId),
      (reservation) => reservation
    )
  })
}

/**
 * Gives up lost payments, all or none: nothing will ever be paid under their ids, and reservations that are open are released.
 * What was settled counts as spent under its grant for good.
 *
 * @returns the ids that this call gave up: not those that were given up before
 * @throws OperationRefused `invalid`; `not-found` for an id without a reservation; `not-possible` for a payment that is not
 *   lost, or when the auth server cannot be asked
 */
export async function giveUpLostPayments(
  paymentIds: readonly string[],
  deps: GiveUpLostDeps
): Promise<readonly string[]> {
  const ids = new Set(paymentIds)
  if (ids.size === 0 || ids.size > GIVEN_UP_MAX || ![...ids].every(isUuid)) {
    throw new OperationRefused(
      'invalid',
      'payment_ids',
      `payment_ids must be 1 to ${GIVEN_UP_MAX} lower-case UUIDs`
    )
  }
  const lost = await refusingWithoutAuthServer(async () => {
    const lossBoundMs = await readLossBound(deps)
    const found: Reservation[] = []
    for (const id of ids) {
      const pair = await readPair(deps, id)
      if (pair.outbox?.isLost !== true) found.push(requireLost(pair, lossBoundMs))
    }
    return found
  })
  const givenUp = await giveUpLost(
    deps.database,
    lost.map(({ paymentId, state }) => ({ paymentId, isOpen: state === 'open' }))
  )
  for (const paymentId of givenUp) deps.logger.warn({ paymentId }, 'lost payment given up by an operator')
  deps.counters.countGivenUp('lost', givenUp.length)
  if (givenUp.length > 0) deps.onReservationEnded()
  return givenUp
}

/** @throws OperationRefused for a payment that is not lost */
function requireLost(pair: Pair, lossBoundMs: number): Reservation {
  const { paymentId, reservation } = pair
  if (reservation === undefined) {
    throw new OperationRefused('not-found', 'payment_ids', `the auth server knows no payment ${paymentId}`)
  }
  const lost = findLost(pair, lossBoundMs)
  if (lost === undefined) {
    throw new OperationRefused('not-possible', 'payment_ids', `the payment ${paymentId} is not lost`)
  }
  return lost
}

/**
 * Does what asks the auth server.
 *
 * @throws OperationRefused `not-possible` when it cannot be asked
 */
export async function refusingWithoutAuthServer<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof AuthServerUnavailable)) throw error
    throw new OperationRefused('not-possible', 'auth_server', 'the auth server cannot be asked now')
  }
}
