import type { Logger } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { GrantLimits } from '../../domain/ports.js'

/** Most open reservations looked at in one sweep: the oldest. */
const RESERVATIONS_MAX = 1_000

/** What sweeping needs. */
export interface SweepOrphansDeps {
  readonly pool: Pool
  readonly grantLimits: GrantLimits
  /** Age from which a reservation without a payment is given back, in seconds. */
  readonly orphanAgeSeconds: number
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countOrphans'>
}

/**
 * Finds reservations that no payment came of, as when a process died between reserving and persisting, and gives up their
 * payment ids: a request that was merely slow then fails on the primary key, and the release can be delivered.
 *
 * @returns how many ids were given up
 */
export async function sweepOrphans(deps: SweepOrphansDeps): Promise<number> {
  const open = await deps.grantLimits.listOpenReservations({
    olderThanSeconds: deps.orphanAgeSeconds,
    pageSize: RESERVATIONS_MAX
  })
  if (open.length === 0) return 0
  // Every payment has its row since it was persisted, so that whatever has none is no payment, and will be none.
  const { rows } = await deps.pool.query<{ payment_id: string }>(
    `insert into grant_reservation (payment_id, outcome)
     select id, 'release' from unnest($1::uuid[]) as id
     on conflict do nothing returning payment_id`,
    [open.map(({ paymentId }) => paymentId)]
  )
  for (const { payment_id: paymentId } of rows) {
    deps.logger.warn({ paymentId }, 'reservation without a payment: to be released')
  }
  deps.counters.countOrphans(rows.length)
  return rows.length
}
