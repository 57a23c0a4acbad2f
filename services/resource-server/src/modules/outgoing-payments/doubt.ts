import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'
import { chargedAt } from '../grant-outcomes/index.js'
import { hasArrived, wasDecidedLost } from '../interledger/index.js'
import { isBeforeChange } from '../timeline/index.js'

/**
 * Fragment, an expression: since when something may have been sent for the payment `p`. One that was lost is created anew, under its id and with
 * its reservation, when its client repeats the request: what was sent for it before may be lost with it.
 */
export const perhapsSentSince = Prisma.sql`least(p.created_at, ${chargedAt(Prisma.sql`p.id`)})`

/** Fragment, a condition: whether more may have been sent for the payment `p`, with the row `s` of `sending` if any, than is written down. */
const IS_DOUBTFUL = isBeforeChange(Prisma.sql`coalesce(s.known_since, ${perhapsSentSince})`)

/**
 * Fragment, a condition: whether a payment that awaits approval may have been approved and sent elsewhere, and this lost with commits. An operator
 * decides that.
 *
 * @param paymentId names the payment
 * @param isUnknown whether there are packets of it of which nothing is known: until it is approved, these are only what stands for what was lost
 */
export const mayBeSent = (paymentId: Prisma.Sql, isUnknown: Prisma.Sql): Prisma.Sql => Prisma.sql`exists (
  select 1 from outgoing_payment p left join sending s on s.payment_id = p.id
   where p.id = ${paymentId} and p.peer_id is not null and (${IS_DOUBTFUL} or ${isUnknown}))`

/** Fragment, a condition: whether the payment `p` is pending. */
export const isPending = Prisma.sql`p.state = 'pending'`

/**
 * Fragment, a condition: whether the payment `p` awaits approval, as far as is known.
 *
 * @param undecided selects the payments (`payment_id`) of which nothing is decided
 */
export const awaitsApproval = (undecided: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`p.id = any(array(${undecided})) and p.state::text = 'awaiting_approval'`

/**
 * Fragment: the part `doubtful` (`id`, `peer_id`, `send_max_value`, `receive_value`), which locks payments to receivers that are hosted elsewhere
 * of which more may have been sent than is written down, since commits from after that may be lost. Takes `limit`.
 *
 * @param chosen a condition, which of the payments `p`: {@link isPending} or {@link awaitsApproval}
 */
export const doubtful = (chosen: Prisma.Sql): Prisma.Sql => Prisma.sql`
  doubtful as (
    select p.id, p.peer_id, p.send_max_value, p.receive_value
      from outgoing_payment p left join sending s on s.payment_id = p.id
     where ${chosen} and p.peer_id is not null and ${IS_DOUBTFUL}
     order by p.id limit ${placeholder('limit')}::integer
       for no key update of p skip locked
  )`

/**
 * Fragment: the part `sending_doubted`, which takes the payments of the part `doubtful` from whoever sends them. Those of the part `stand_in`
 * (`payment_id`) wait until an operator decides about it; the others go on, as everything of them is known to have been fulfilled.
 *
 * @param fulfilledValue what the peer of the payment `doubtful` has fulfilled
 */
export const sendingDoubted = (fulfilledValue: Prisma.Sql): Prisma.Sql => Prisma.sql`
  sending_doubted as (
    insert into sending as s (payment_id, peer_id, held_value, due_at)
    select doubtful.id, doubtful.peer_id, doubtful.send_max_value - ${fulfilledValue},
           case when stand_in.payment_id is null then now() end
      from doubtful left join stand_in on stand_in.payment_id = doubtful.id
    on conflict (payment_id) do update
       set due_at = excluded.due_at, leased_by = null, leased_until = null, known_since = excluded.known_since
    returning s.payment_id
  )`

// Those of which nothing arrived, as was decided, need room as if they had not begun. They get it in the order in which they were doubted, so
// that no two wait for each other: whoever gets room counted all before it, and those after it count it.
const DUE_TO_PEER = new Statement<{ readonly has_arrived: boolean; readonly value: string }>(
  'get-value-being-sent-with-doubted',
  Prisma.sql`
  select ${hasArrived(Prisma.sql`own.payment_id`)} as has_arrived,
         (select coalesce(sum(s.held_value), 0) from sending s
           where s.peer_id = own.peer_id
             and ((s.known_since, s.payment_id) <= (own.known_since, own.payment_id)
                  or not ${wasDecidedLost(Prisma.sql`s.payment_id`)}))::text as value
    from sending own where own.payment_id = ${placeholder('paymentId')}::uuid`,
  { prepared: false }
)

/**
 * How much may still be sent to the peer of a payment that was doubted, for it and for those that come before it; undefined if it is no longer
 * being sent.
 *
 * @param paymentId its id (UUID)
 */
export async function findValueWithDoubted(
  on: Queries,
  paymentId: string
): Promise<{ readonly hasArrived: boolean; readonly value: bigint } | undefined> {
  const [row] = await DUE_TO_PEER.rows(on, { paymentId })
  return row && { hasArrived: row.has_arrived, value: BigInt(row.value) }
}
