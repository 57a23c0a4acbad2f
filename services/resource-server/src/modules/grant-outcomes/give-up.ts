import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** Why a payment id is given up. Where its receiver cannot take the payment, persisting records that. */
export type GivenUpCause =
  /** It is not known whether the reservation was made. */
  | 'reservation_unknown'
  /** It was made, and it is not known whether the payment was persisted, or the database refused it. */
  | 'persist_failed'
  /** The id, the signed request or the quote belongs to another payment. */
  | 'id_taken'
  /** The sweeper found its reservation, and no payment. */
  | 'swept'

/**
 * A statement that gives payment ids up: no payment will ever be created under them, and their reservations will be released.
 * Given `ids` and `cause`, it answers those that it gave up. They are written in the order of ids, as payments are persisted:
 * nobody waits in a circle.
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

const GIVE_UP = new Statement<{ payment_id: string }>('give-up-payment-ids', givingUp(Prisma.sql`null::uuid`))

/**
 * Gives up payment ids that stand for no payment.
 *
 * @returns those that were given up by this call: the others have a payment, or were given up before
 */
export async function giveUp(
  on: Queries,
  paymentIds: readonly string[],
  cause: GivenUpCause
): Promise<readonly string[]> {
  const rows = await GIVE_UP.rows(on, { ids: paymentIds, cause })
  return rows.map(({ payment_id: id }) => id)
}

/** Fragment: an array of the payments that some ids stand for, so that they are found by the index of their ids. */
export function stoodFor(ids: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`array(
    select stands_for from grant_reservation where payment_id = any(${ids}) and stands_for is not null)`
}

/** Whether a payment has an id, or it was given up. */
export async function isTaken(on: Queries, paymentId: string): Promise<boolean> {
  return (
    (await on.grantReservation.findUnique({ where: { paymentId }, select: { paymentId: true } })) !== null
  )
}
