import type { Logger } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { GrantLimits } from '../../domain/ports.js'

/** What sweeping needs. */
export interface SweepOrphansDeps {
  readonly pool: Pool
  readonly grantLimits: GrantLimits
  /** Age from which a reservation without a payment is given back, in seconds. */
  readonly orphanAgeSeconds: number
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countOrphans'>
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
  /** Where the next sweep goes on; undefined when this one looked at the last. */
  readonly nextPageToken: string | undefined
}

/**
 * Looks through a page of open reservations for those that no payment came of, as when a process died between reserving
 * and persisting, and gives up their payment ids: a request that was merely slow then fails on the primary key, and the
 * release can be delivered.
 */
export async function sweepOrphans(deps: SweepOrphansDeps, range: SweepRange): Promise<Sweep> {
  const { reservations, nextPageToken } = await deps.grantLimits.listOpenReservations({
    olderThanSeconds: deps.orphanAgeSeconds,
    ...range
  })
  if (reservations.length === 0) return { givenUp: 0, nextPageToken }
  // Every payment has its row since it was persisted, so that whatever has none is no payment, and will be none.
  const { rows } = await deps.pool.query<{ payment_id: string }>(
    `insert into grant_reservation (payment_id, outcome, given_up_cause)
     select id, 'release', 'swept' from unnest($1::uuid[]) as id
      order by id -- as payments are persisted: nobody waits in a circle
     on conflict do nothing returning payment_id`,
    [reservations.map(({ paymentId }) => paymentId)]
  )
  for (const { payment_id: paymentId } of rows) {
    deps.logger.warn({ paymentId }, 'reservation without a payment: to be released')
  }
  deps.counters.countOrphans(rows.length)
  return { givenUp: rows.length, nextPageToken }
}
