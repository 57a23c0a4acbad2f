import { bytesText, placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/**
 * Fragment: the part `stand_in` (`payment_id`), the payments for which packets stand for what may be lost. It writes one down for each payment of the part `doubtful` (`id`, `peer_id`,
 * `send_max_value`, `receive_value`), as if all that may still be sent for it had been sent, and was not answered. There is none for a payment
 * of which everything is on its way already. A packet of which nothing is known stands for that, too, from then on: it may have been rejected, and
 * others sent in its place, by commits that are lost. What such a packet would bring beyond the terms is not taken off what others are to bring:
 * it may turn out to be lost. Takes what {@link standIns} returns, and `now`.
 */
export const standInsWritten = Prisma.sql`
  unknown as (
    update sent_packet k set is_stand_in = true from doubtful where k.payment_id = doubtful.id and k.outcome = 'unknown'
    returning k.payment_id
  ), place as (
    select doubtful.*, row_number() over (order by id) as place from doubtful
  ), left_over as (
    select place.id, place.peer_id, place.place, coalesce(max(k.sequence) + 1, 0) as sequence,
           place.send_max_value - coalesce(sum(k.send_value) filter (where k.outcome <> 'rejected'), 0) as send_value,
           place.receive_value
           - coalesce(sum(coalesce(k.delivered_value, k.deliver_min_value)) filter (where k.outcome <> 'rejected'), 0) as missing_value,
           place.receive_value
           - coalesce(sum(coalesce(k.delivered_value,
                                   least(k.deliver_min_value, div(k.send_value * place.receive_value, place.send_max_value))))
                        filter (where k.outcome <> 'rejected'), 0) as deliver_value
      from place left join sent_packet k on k.payment_id = place.id
     group by place.id, place.peer_id, place.place, place.send_max_value, place.receive_value
  ), left_to_send as (
    insert into sent_packet
           (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, sent_at, expires_at, is_stand_in)
    select name.id, left_over.id, left_over.sequence, left_over.peer_id, name.condition, left_over.send_value,
           left_over.deliver_value, ${placeholder('now')}::timestamptz, ${placeholder('now')}::timestamptz, true
      from left_over
      join unnest(${placeholder('ids')}::uuid[], ${placeholder('conditions')}::bytea[]) with ordinality as name (id, condition, place)
        on name.place = left_over.place
     where left_over.send_value > 0 and left_over.missing_value > 0
    returning payment_id
  ), stand_in as (
    select payment_id from unknown union select payment_id from left_to_send
  )`

/** Fragment, a condition: whether there is such a packet `k` of a payment. As `exists`, all packets there are could be read for one payment. */
const hasPacket = (paymentId: Prisma.Sql, condition: Prisma.Sql): Prisma.Sql => Prisma.sql`coalesce((
  select true from sent_packet k where k.payment_id = ${paymentId} and ${condition} limit 1), false)`

/**
 * Fragment, a condition: whether more may have been sent for a payment than is written down, or an operator decided about that.
 *
 * @param paymentId names the payment
 */
export const wasDoubted = (paymentId: Prisma.Sql): Prisma.Sql =>
  hasPacket(paymentId, Prisma.sql`k.is_stand_in`)

/**
 * Fragment, a condition: whether it was decided that nothing arrived of what may have been sent for a payment, and nothing else of it is
 * under way.
 *
 * @param paymentId names the payment
 */
export const wasDecidedLost = (paymentId: Prisma.Sql): Prisma.Sql => Prisma.sql`(
  ${wasDoubted(paymentId)} and not ${hasPacket(paymentId, Prisma.sql`k.outcome || '' <> 'rejected'`)})`

/**
 * Fragment, a condition: whether anything of a payment arrived.
 *
 * @param paymentId names the payment
 */
export const hasArrived = (paymentId: Prisma.Sql): Prisma.Sql =>
  hasPacket(paymentId, Prisma.sql`k.outcome || '' = 'fulfilled'`)

/** Fragment, an expression: what the peer of the payment `doubtful` has fulfilled. */
export const fulfilledValue = Prisma.sql`(
  select coalesce(sum(k.send_value), 0) from sent_packet k where k.payment_id = doubtful.id and k.outcome = 'fulfilled')`

/**
 * The parameters of {@link standInsWritten}.
 *
 * @param names ids (UUID) and conditions (32 bytes that nobody can know the fulfillment of), one for each payment at most
 */
export function standIns(names: readonly { readonly id: string; readonly condition: Buffer }[]): {
  readonly ids: readonly string[]
  readonly conditions: readonly string[]
} {
  return { ids: names.map(({ id }) => id), conditions: names.map(({ condition }) => bytesText(condition)) }
}
