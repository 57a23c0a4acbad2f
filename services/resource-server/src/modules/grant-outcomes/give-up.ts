import { placeholder } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/**
 * A statement that gives payment ids up: no payment will ever be created under them, and their reservations will be
 * released. Takes `ids` and `cause`, and returns the ids that it gave up. It writes them in the order of ids, like
 * persisting payments does, to avoid deadlocks.
 *
 * @param standsFor the payment that the id `given.id` stands for from then on; null for none
 */
export function givingUp(standsFor: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  insert into grant_reservation (payment_id, outcome, given_up_cause, stands_for)
  select given.id, 'release', ${placeholder('cause')}, ${standsFor}
    from unnest(${placeholder('ids')}::uuid[]) as given(id) order by given.id
  on conflict do nothing returning payment_id`
}

/**
 * Fragment, a condition: whether a request gave up the id of the entry `r` without knowing that no payment had it before. If it
 * made the reservation itself, there was none; the sweeper and operators look at the age of a reservation.
 */
export const mayBeLost = Prisma.sql`coalesce(r.given_up_cause in ('reservation_unknown', 'reservation_repeated'), false)`

/**
 * Fragment, an expression: the instant that the auth server charged a payment at; null if none is recorded. A payment that was lost, and that a
 * repeated request created anew, is younger than that.
 *
 * @param paymentId names the payment
 */
export const chargedAt = (paymentId: Prisma.Sql): Prisma.Sql => Prisma.sql`(
  select r.charged_at from grant_reservation r where r.payment_id = ${paymentId})`

/** Fragment: an array of the payments that some ids stand for, to look them up by the index of their ids. */
export function stoodFor(ids: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`array(
    select stands_for from grant_reservation where payment_id = any(${ids}) and stands_for is not null)`
}

/** Whether an id belongs to a payment or was given up. */
export async function isTaken(on: Queries, paymentId: string): Promise<boolean> {
  return (
    (await on.grantReservation.findUnique({ where: { paymentId }, select: { paymentId: true } })) !== null
  )
}
