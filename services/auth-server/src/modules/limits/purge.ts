import { interval, PURGE_NOW, purgeEnded } from '@open-payments-server/service-kit/purge'
import { Prisma } from '../database.js'
import { ITEM_LIMITS } from '../grants/index.js'

/**
 * How long a refusal is kept, in seconds. A refused request may be repeated late, by a client or by a process that slept
 * between reserving and learning the result. It carries the token that it was signed with, so it is refused again once that
 * token has expired: after a day at most, the longest lifetime of a token. A second day allows for clocks that differ, and
 * exceeds the day for which an `Idempotency-Key` is remembered.
 */
const REFUSAL_SECONDS = 2 * 86_400

/**
 * Deletes refusals, except those that were released afterwards: a payment id that was given up stays given up on both
 * sides.
 */
export const purgeRefusals = purgeEnded({
  name: 'purge-refusals',
  due: Prisma.sql`
    select payment_id from reservation
     where state = 'refused' and ended_at is null and created_at < ${PURGE_NOW} - ${interval(REFUSAL_SECONDS)}
     order by created_at`,
  deleted: Prisma.sql`delete from reservation r using due where r.payment_id = due.payment_id`
})

/**
 * Whether money moved under a grant: the record of it is never deleted. Looked up for each: from `exists`, PostgreSQL may make a
 * hash of all windows.
 *
 * @param grantId names the grant's id
 */
export function isSpentUnder(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  (select true from ${ITEM_LIMITS} a join limit_window w on w.access_item_id = a.access_item_id
    where a.grant_id = ${grantId} limit 1) is not null`
}
