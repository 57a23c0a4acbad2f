import type { Logger } from '@open-payments-server/runtime'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { GrantLimits } from '../../domain/ports.js'
import type { Queries } from '../../modules/database.js'
import { meetTimeline, sweep } from '../../modules/grant-outcomes/index.js'

/** What sweeping needs. */
export interface SweepOrphansDeps {
  readonly database: Queries
  readonly grantLimits: GrantLimits
  /** Age from which a reservation without a payment is given back, in seconds. */
  readonly orphanAgeSeconds: number
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countGivenUp'>
}

/** Which open reservations to look at. */
export interface SweepRange {
  /** At most this many, 1 to 1000. */
  readonly pageSize: number
  /** `nextPageToken` of the sweep before; undefined begins with the oldest. */
  readonly pageToken: string | undefined
}

/** What a sweep came to. */
export interface Sweep {
  /** How many ids were given up. */
  readonly givenUp: number
  /** How many are from before the database changed its timeline, and left to an operator. */
  readonly held: number
  /** Where the next sweep goes on; undefined when this one looked at the last. */
  readonly nextPageToken: string | undefined
}

/**
 * Looks through a page of open reservations for those that no payment came of, as when a process died between reserving
 * and persisting, and gives up their payment ids: a request that was merely slow then fails on the primary key, and the
 * release can be delivered.
 *
 * A reservation from before the database changed its timeline is held: its payment may have been answered, and then lost in a
 * failover.
 */
export async function sweepOrphans(deps: SweepOrphansDeps, range: SweepRange): Promise<Sweep> {
  const { database, grantLimits, logger } = deps
  // First, and whether or not the auth server answers: what is reserved from now on is not from before a change.
  await meetTimeline(database)
  const { reservations, nextPageToken } = await grantLimits.listOpenReservations({
    olderThanSeconds: deps.orphanAgeSeconds,
    ...range
  })
  if (reservations.length === 0) return { givenUp: 0, held: 0, nextPageToken }
  // Every payment has its row since it was persisted, so that whatever has none is no payment, and will be none.
  const { givenUp, held } = await sweep(database, reservations)
  for (const paymentId of givenUp) {
    logger.warn({ paymentId }, 'reservation without a payment: to be released')
  }
  if (held.length > 0) {
    logger.error(
      { count: held.length },
      'reservations from before the database changed its timeline are unknown here: their payments may be lost'
    )
  }
  deps.counters.countGivenUp('swept', givenUp.length)
  return { givenUp: givenUp.length, held: held.length, nextPageToken }
}
