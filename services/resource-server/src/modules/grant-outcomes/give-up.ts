import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

// In the order of ids, as payments are persisted: nobody waits in a circle.
const GIVE_UP = new Statement<{ payment_id: string }>(
  'give-up-payment-ids',
  Prisma.sql`
  insert into grant_reservation (payment_id, outcome)
  select id, 'release' from unnest(${placeholder('ids')}::uuid[]) as id order by id
  on conflict do nothing returning payment_id`
)

/**
 * Gives up payment ids: no payment will ever be created under them, and their reservations will be released.
 *
 * @returns those that were given up by this call: the others have a payment, or were given up before
 */
export async function giveUp(on: Queries, paymentIds: readonly string[]): Promise<readonly string[]> {
  const rows = await GIVE_UP.rows(on, { ids: paymentIds })
  return rows.map(({ payment_id: id }) => id)
}

/** Whether a payment has an id, or it was given up. */
export async function isTaken(on: Queries, paymentId: string): Promise<boolean> {
  return (
    (await on.grantReservation.findUnique({ where: { paymentId }, select: { paymentId: true } })) !== null
  )
}
