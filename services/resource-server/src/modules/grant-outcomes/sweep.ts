import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'
import { mayBeLost } from './give-up.js'
import { isBeforeChange } from '../timeline/index.js'

/** An open reservation at the auth server. */
export interface OpenReservation {
  readonly paymentId: string
  /** By the auth server's clock. */
  readonly createdAtMs: number
}

/** The result of sweeping open reservations that have no payment here. */
export interface SweptReservations {
  /** Ids that were given up. */
  readonly givenUp: readonly string[]
  /** Ids from before the database changed its timeline. Their payments may be lost, so an operator decides. */
  readonly keptForOperator: readonly string[]
}

// One statement, so that the ids are given up on the timeline that was checked. They are written in the order of ids, like
// persisting payments does, to avoid deadlocks.
const SWEEP = new Statement<{ payment_id: string; kept_for_operator: boolean }>(
  'give-up-payment-ids',
  Prisma.sql`
  with given as materialized (
    select g.id, ${isBeforeChange(Prisma.sql`g.created_at`)} as is_before_change
      from unnest(${placeholder('ids')}::uuid[], ${placeholder('createdAt')}::timestamptz[]) as g(id, created_at)
  ), swept as (
    insert into grant_reservation (payment_id, outcome, given_up_cause)
    select given.id, 'release', 'swept' from given where not is_before_change order by given.id
    on conflict do nothing returning payment_id
  )
  select payment_id, false as kept_for_operator from swept
   union all
  select given.id, true from given
   where is_before_change
     and not exists (select from grant_reservation r
                      where r.payment_id = given.id and not (${mayBeLost} and r.delivered_at is not null))`
)

/** Gives up the ids of reservations without a payment here, unless their payments may be lost. */
export async function sweep(
  on: Queries,
  reservations: readonly OpenReservation[]
): Promise<SweptReservations> {
  const rows = await SWEEP.rows(on, {
    ids: reservations.map(({ paymentId }) => paymentId),
    createdAt: reservations.map(({ createdAtMs }) => instantText(createdAtMs))
  })
  const idsOf = (kept: boolean): string[] =>
    rows.filter((row) => row.kept_for_operator === kept).map(({ payment_id: id }) => id)
  return { givenUp: idsOf(false), keptForOperator: idsOf(true) }
}

/** A lost payment, and whether its reservation is to be released: not if it was settled before the payment was lost. */
export interface LostPaymentId {
  readonly paymentId: string
  readonly isOpen: boolean
}

/** One statement, so that either all are given up or none. In the order of ids, like {@link SWEEP}, to avoid deadlocks. */
const GIVE_UP_LOST = new Statement<{ payment_id: string }>(
  'give-up-lost-payments',
  Prisma.sql`
  insert into grant_reservation (payment_id, outcome, given_up_cause, delivered_at)
  select given.id, 'release', 'lost', case when not given.is_open then now() end
    from unnest(${placeholder('ids')}::uuid[], ${placeholder('isOpen')}::boolean[]) as given(id, is_open) order by given.id
  on conflict (payment_id) do update
     set given_up_cause = excluded.given_up_cause, delivered_at = excluded.delivered_at, attempts = 0, next_attempt_at = now()
   where grant_reservation.given_up_cause <> 'lost'
  returning payment_id`
)

/**
 * Gives up payments that were lost by a change of timeline, as an operator decided, also those whose ids a request gave up
 * before. For settled ones, nothing more is delivered to the auth server.
 *
 * @returns those that this call gave up: the others have a payment by now, or an operator gave them up before
 */
export async function giveUpLost(
  on: Queries,
  payments: readonly LostPaymentId[]
): Promise<readonly string[]> {
  const rows = await GIVE_UP_LOST.rows(on, {
    ids: payments.map(({ paymentId }) => paymentId),
    isOpen: payments.map(({ isOpen }) => isOpen)
  })
  return rows.map(({ payment_id: id }) => id)
}
