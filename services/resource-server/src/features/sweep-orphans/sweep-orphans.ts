import type { Logger } from '@open-payments-server/runtime'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { GrantLimits } from '../../domain/ports.js'
import { findAwaiting } from '../../modules/approvals/index.js'
import { sweep } from '../../modules/grant-outcomes/index.js'
import { findFrozenPayments, findPaymentsElsewhere } from '../../modules/outgoing-payments/index.js'
import { meetTimeline } from '../../modules/timeline/index.js'
import { type DoubtDependencies, doubtSendings } from './doubt-sendings.js'

/** What sweeping needs. */
export interface SweepOrphansDependencies extends DoubtDependencies {
  /** Whether a promoted server has every commit that was answered: DATABASE_DURABILITY. */
  readonly keepsCommits: boolean
  readonly grantLimits: GrantLimits
  /** Age from which a reservation without a payment is released, in seconds. */
  readonly orphanAgeSeconds: number
  /** Whether a freeze holds the pending payments that it is about. */
  readonly holdsFrozen: boolean
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countGivenUp'>
}

/** The open reservations to check. */
export interface SweepRange {
  /** At most this many, 1 to 1000. */
  readonly pageSize: number
  /** `nextPageToken` of the previous sweep; undefined starts with the oldest. */
  readonly pageToken: string | undefined
}

/** The result of a sweep. */
export interface Sweep {
  /** Number of ids that were given up. */
  readonly givenUp: number
  /** Number of reservations from before the database changed its timeline, left to an operator. */
  readonly keptForOperator: number
  /**
   * When the oldest of the reservations was made whose payments neither await approval nor are held by a freeze, in milliseconds since
   * the Unix epoch by the auth server's clock; undefined if there is none.
   */
  readonly unsettledSinceMs: number | undefined
  /** Where the next sweep continues; undefined when this one reached the end. */
  readonly nextPageToken: string | undefined
}

/**
 * Checks a page of open reservations for those without a payment, such as when a process died between reserving and
 * persisting, and gives up their payment ids: a request that was merely slow then fails on the primary key, and the release
 * can be delivered.
 *
 * A reservation from before the database changed its timeline is not given up where commits may be lost by that: its payment may
 * have been answered, and then lost in a failover.
 */
export async function sweepOrphans(
  range: SweepRange,
  dependencies: SweepOrphansDependencies
): Promise<Sweep> {
  const { database, grantLimits, logger } = dependencies
  // First, whether or not the auth server answers: anything reserved from now on is from after a change of timeline.
  await meetTimeline(database, dependencies.keepsCommits)
  const doubted = await doubtSendings(dependencies)
  if (doubted > 0) {
    logger.error(
      { count: doubted },
      'payments to other providers were pending when the database lost commits: it is not known what was sent for them'
    )
  }
  const { reservations, nextPageToken } = await grantLimits.listOpenReservations({
    olderThanSeconds: dependencies.orphanAgeSeconds,
    ...range
  })
  if (reservations.length === 0)
    return { givenUp: 0, keptForOperator: 0, unsettledSinceMs: undefined, nextPageToken }
  // Every payment has its row from the moment it is persisted, so an id without a row is not a payment and never will be.
  const { givenUp, keptForOperator } = await sweep(database, reservations)
  for (const paymentId of givenUp) {
    logger.warn({ paymentId }, 'reservation without a payment: to be released')
  }
  if (keptForOperator.length > 0) {
    logger.error(
      { count: keptForOperator.length },
      'reservations from before the database changed its timeline are unknown here: their payments may be lost'
    )
  }
  dependencies.counters.countGivenUp('swept', givenUp.length)
  const ids = reservations.map(({ paymentId }) => paymentId)
  const awaiting = await findAwaiting(database, ids)
  const frozen = dependencies.holdsFrozen ? await findFrozenPayments(database, ids) : new Set()
  const elsewhere = await findPaymentsElsewhere(database, ids)
  const waiting = [awaiting, frozen, elsewhere]
  const unsettled = reservations.filter(({ paymentId }) => !waiting.some((those) => those.has(paymentId)))
  return {
    givenUp: givenUp.length,
    keptForOperator: keptForOperator.length,
    unsettledSinceMs: oldestOf(unsettled.map(({ createdAtMs }) => createdAtMs)),
    nextPageToken
  }
}

/** The earliest of some instants; undefined if there is none. */
export function oldestOf(instantsMs: readonly (number | undefined)[]): number | undefined {
  const known = instantsMs.filter((instantMs) => instantMs !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
