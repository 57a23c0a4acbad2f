import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import type {
  JournalAnswer,
  JournalPacket,
  PaymentProgress,
  SendTerms
} from '@open-payments-server/interledger'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { Prisma, type Queries } from '../database.js'

const PROGRESS = new Statement<{
  readonly next_sequence: number
  readonly sent_value: string
  readonly delivered_value: string
  readonly unknown_sent_value: string
  readonly unknown_deliver_value: string
  readonly unknown_short_value: string
}>(
  'get-progress-of-payment',
  Prisma.sql`
  select coalesce(max(sequence) + 1, 0)::integer as next_sequence,
         coalesce(sum(send_value) filter (where outcome = 'fulfilled'), 0)::text as sent_value,
         coalesce(sum(delivered_value) filter (where outcome = 'fulfilled'), 0)::text as delivered_value,
         coalesce(sum(send_value) filter (where outcome = 'unknown'), 0)::text as unknown_sent_value,
         coalesce(sum(deliver_min_value) filter (where outcome = 'unknown'), 0)::text as unknown_deliver_value,
         coalesce(sum(greatest(send_value * ${placeholder('deliverValue')}::numeric
                               - deliver_min_value * ${placeholder('sendMaxValue')}::numeric, 0))
                    filter (where outcome = 'unknown'), 0)::text as unknown_short_value
    from sent_packet where payment_id = ${placeholder('paymentId')}::uuid`
)

/** How far a payment (UUID) with some terms is: packets without an answer count as unknown. */
export async function readProgress(
  on: Queries,
  { paymentId, terms }: { readonly paymentId: string; readonly terms: SendTerms }
): Promise<PaymentProgress> {
  const { sendMaxValue, deliverValue } = terms
  const [row] = await PROGRESS.rows(on, {
    paymentId,
    sendMaxValue: sendMaxValue.toString(),
    deliverValue: deliverValue.toString()
  })
  if (row === undefined) throw new Error('a sum has no row')
  return {
    nextSequence: row.next_sequence,
    sentValue: BigInt(row.sent_value),
    deliveredValue: BigInt(row.delivered_value),
    unknownSentValue: BigInt(row.unknown_sent_value),
    unknownDeliverValue: BigInt(row.unknown_deliver_value),
    unknownShortValue: BigInt(row.unknown_short_value)
  }
}

/** What is written down of one payment. */
export interface PaymentPackets {
  /** Id (UUID) of the payment. */
  readonly paymentId: string
  /** Id (UUID) of the lease with which it is sent. */
  readonly leaseId: string
  readonly answers: readonly JournalAnswer[]
  readonly packets: readonly JournalPacket[]
}

/**
 * Fragment: the parts `entry` (`payment_id`, `lease_id`) and `answer` (`payment_id`, `sequence`, …), the payments and the answers of
 * {@link packetsToWrite}, which it takes.
 */
export const packetAnswers = Prisma.sql`
  entry as (
    select * from unnest(${placeholder('paymentIds')}::uuid[], ${placeholder('leaseIds')}::uuid[]) as e (payment_id, lease_id)
  ), answer as (
    select * from json_to_recordset(${placeholder('answers')}::json)
      as a (payment_id uuid, sequence bigint, outcome text, delivered_value numeric, fulfillment bytea, code text)
  )`

/** Fragment: selects what the fulfilled packets of {@link packetAnswers} sent (`payment_id`, `value`). */
export const dispatchedValues = Prisma.sql`
  select a.payment_id, sum(p.send_value) as value
    from answer a join sent_packet p on p.payment_id = a.payment_id and p.sequence = a.sequence
   where a.outcome = 'fulfilled' group by a.payment_id`

/**
 * Fragment: writes down the answers of {@link packetAnswers} to packets of the payments of the part `lease` (`payment_id`), and packets that
 * are to be sent for them, all to one peer. Takes what {@link packetsToWrite} returns, `peerId` and `now`. The part `answered` has a row for
 * each answer that was written, `dispatched` (`id`, `send_value`) for each packet that was fulfilled, and `written` for each new packet, one
 * for each of `packet`.
 */
export const packetsWritten = Prisma.sql`
  answered as (
    update sent_packet p
       set outcome = a.outcome, delivered_value = a.delivered_value, fulfillment = a.fulfillment, code = a.code,
           answered_at = ${placeholder('now')}::timestamptz
      from answer a join lease on lease.payment_id = a.payment_id
     where p.payment_id = a.payment_id and p.sequence = a.sequence and p.outcome = 'unknown'
    returning p.id, p.send_value, p.outcome
  ), dispatched as (
    select id, send_value from answered where outcome = 'fulfilled'
  ), packet as (
    select * from json_to_recordset(${placeholder('packets')}::json)
      as w (id uuid, payment_id uuid, sequence bigint, condition bytea, send_value numeric, deliver_min_value numeric, expires_at timestamptz)
  ), written as (
    insert into sent_packet (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, sent_at, expires_at)
    select w.id, w.payment_id, w.sequence, ${placeholder('peerId')}::uuid, w.condition, w.send_value, w.deliver_min_value,
           ${placeholder('now')}::timestamptz, w.expires_at
      from packet w join lease on lease.payment_id = w.payment_id
    returning id
  )`

/**
 * The parameters of {@link packetAnswers} and {@link packetsWritten}. Answers of which nothing is known change nothing: their packets are
 * unknown already.
 *
 * @param payments each once
 * @param newId creates ids (UUID)
 */
export function packetsToWrite(
  payments: readonly PaymentPackets[],
  newId: () => string
): {
  readonly paymentIds: readonly string[]
  readonly leaseIds: readonly string[]
  readonly answers: string
  readonly packets: string
} {
  const records = payments.map(({ paymentId, answers, packets }) => ({
    answers: answers.flatMap(toAnswerRecord).map((record) => ({ ...record, payment_id: paymentId })),
    packets: packets.map((packet) => ({ ...toPacketRecord(packet, newId()), payment_id: paymentId }))
  }))
  return {
    paymentIds: payments.map(({ paymentId }) => paymentId),
    leaseIds: payments.map(({ leaseId }) => leaseId),
    answers: JSON.stringify(records.flatMap(({ answers }) => answers)),
    packets: JSON.stringify(records.flatMap(({ packets }) => packets))
  }
}

/**
 * Fragment, an expression: whether packets of a payment that are written down together are written: some of new ones, or of answers, as all or
 * none of them are. Takes what {@link packetsToFind} returns.
 */
export const isAnyPacketWritten = Prisma.sql`exists (
  select 1 from sent_packet p
   where p.payment_id = ${placeholder('writtenOf')}::uuid
     and (p.sequence = any(${placeholder('written')}::bigint[])
          or (p.sequence = any(${placeholder('answered')}::bigint[]) and p.outcome <> 'unknown')))`

/** The parameters of {@link isAnyPacketWritten}. */
export function packetsToFind({ paymentId, answers, packets }: Omit<PaymentPackets, 'leaseId'>): {
  readonly writtenOf: string
  readonly written: readonly number[]
  readonly answered: readonly number[]
} {
  const known = answers.filter(({ outcome }) => outcome !== 'unknown')
  return {
    writtenOf: paymentId,
    written: packets.map(({ sequence }) => sequence),
    answered: known.map(({ sequence }) => sequence)
  }
}

/**
 * Fragment: selects what payments have delivered in total (`payment_id`, `value`) with the answers of {@link packetAnswers}: those of which
 * packets were fulfilled by them.
 */
export const deliveredInTotal = Prisma.sql`
  select a.payment_id,
         sum(a.delivered_value)
         + (select coalesce(sum(p.delivered_value), 0) from sent_packet p where p.payment_id = a.payment_id) as value
    from answer a where a.outcome = 'fulfilled' group by a.payment_id`

/** A record of an answer. Numbers of arbitrary size are sent as text. */
function toAnswerRecord(answer: JournalAnswer): object[] {
  switch (answer.outcome) {
    case 'fulfilled':
      return [
        {
          sequence: answer.sequence,
          outcome: 'fulfilled',
          delivered_value: answer.deliveredValue.toString(),
          fulfillment: bytesText(answer.fulfillment)
        }
      ]
    case 'rejected':
      return [{ sequence: answer.sequence, outcome: 'rejected', code: answer.code }]
    case 'unknown':
      return []
  }
}

/** A record of a packet. Numbers of arbitrary size are sent as text. */
function toPacketRecord(packet: JournalPacket, id: string): object {
  return {
    id,
    sequence: packet.sequence,
    condition: bytesText(packet.condition),
    send_value: packet.sendValue.toString(),
    deliver_min_value: packet.deliverMinValue.toString(),
    expires_at: instantText(packet.expiresAtMs)
  }
}

/**
 * Fragment: selects the packets to a peer as entries of a statement (`kind`, `identifier`, `value`, `booked_at`, `id`, `payment_id`,
 * `fulfillment`) that were fulfilled within a time. The peer has their fulfillments: none is told.
 *
 * @param time.from names its beginning, and `time.to` its end, which is not part of it
 */
export function sentEntries(
  peerId: Prisma.Sql,
  time: { readonly from: Prisma.Sql; readonly to: Prisma.Sql }
): Prisma.Sql {
  return Prisma.sql`
    select 'sent' as kind, encode(condition, 'base64') as identifier, send_value as value, answered_at as booked_at, id, payment_id,
           null::text as fulfillment
      from sent_packet
     where peer_id = ${peerId} and outcome = 'fulfilled' and answered_at >= ${time.from} and answered_at < ${time.to}`
}

/**
 * Fragment, a condition: whether there are packets of a payment of which nothing is known.
 *
 * @param paymentId names the payment
 */
// Written so that its packets are looked up by their payment, and not among all unknown ones.
export const hasUnknownPackets = (paymentId: Prisma.Sql): Prisma.Sql => Prisma.sql`exists (
  select 1 from sent_packet k where k.payment_id = ${paymentId} and k.outcome || '' = 'unknown')`

/**
 * Fragment, an expression: what the packets of a payment send of which nothing is known.
 *
 * @param paymentId names the payment
 */
export const unknownValue = (paymentId: Prisma.Sql): Prisma.Sql => Prisma.sql`(
  select coalesce(sum(k.send_value), 0) from sent_packet k where k.payment_id = ${paymentId} and k.outcome || '' = 'unknown')`

/** How long after its expiry a packet may still be answered, in seconds: until then nobody decides about it. */
export const ANSWERED_WITHIN_SECONDS = 60

/**
 * Fragment, an expression: the number of packets of which nothing is known, and that nobody will answer any more.
 *
 * @param limit it is counted up to this
 * @param before an expression: only those that expired before this instant
 */
export const unknownPacketCount = (
  limit: number,
  before = Prisma.sql`now() - ${Prisma.raw(String(ANSWERED_WITHIN_SECONDS))} * interval '1 second'`
): Prisma.Sql => Prisma.sql`(
  select count(*)::integer from (
    select 1 from sent_packet where outcome = 'unknown' and expires_at < ${before} limit ${limit}::integer) unknown)`

/** A packet of which nothing is known, though it is no longer under way. */
export interface UnknownPacket extends PageEnd {
  /** Execution condition: 32 bytes. */
  readonly condition: Buffer
  /** Id (UUID) of the outgoing payment that it is part of. */
  readonly paymentId: string
  /** What it sends, in the peer's asset. */
  readonly sendValue: bigint
  readonly expiresAtMs: number
  /** Whether it stands for whatever was sent before the database lost commits: itself, or others in its place. */
  readonly isStandIn: boolean
}

const UNKNOWN = new Statement<{
  readonly id: string
  readonly condition: string
  readonly payment_id: string
  readonly send_value: string
  readonly sent_at: Date
  readonly expires_at: Date
  readonly is_stand_in: boolean
}>(
  'list-unknown-packets',
  Prisma.sql`
  select id, encode(condition, 'base64') as condition, payment_id, send_value::text, sent_at, expires_at, is_stand_in
    from sent_packet
   where peer_id = ${placeholder('peerId')}::uuid and outcome = 'unknown' and expires_at < ${placeholder('before')}::timestamptz
     and (sent_at, id) > (coalesce(${placeholder('afterSentAt')}::timestamptz, '-infinity'),
                          coalesce(${placeholder('afterId')}::uuid, '00000000-0000-0000-0000-000000000000'))
   order by sent_at, id limit ${placeholder('limit')}::integer`,
  { prepared: false }
)

/**
 * Lists packets to a peer of which it is not known what became of them, the oldest first.
 *
 * @param query.expiredBeforeMs only those that expired before: others may be under way
 * @param query.after the end of the page before; undefined for the first one
 */
export async function listUnknownPackets(
  on: Queries,
  query: {
    readonly peerId: string
    readonly expiredBeforeMs: number
    readonly after: PageEnd | undefined
    readonly limit: number
  }
): Promise<readonly UnknownPacket[]> {
  const { peerId, expiredBeforeMs, after, limit } = query
  const rows = await UNKNOWN.rows(on, {
    peerId,
    before: instantText(expiredBeforeMs),
    afterSentAt: after ? instantText(after.createdAtMs) : null,
    afterId: after?.id ?? null,
    limit
  })
  return rows.map((row) => ({
    id: row.id,
    createdAtMs: row.sent_at.getTime(),
    condition: Buffer.from(row.condition, 'base64'),
    paymentId: row.payment_id,
    sendValue: BigInt(row.send_value),
    expiresAtMs: row.expires_at.getTime(),
    isStandIn: row.is_stand_in
  }))
}

const ARRIVED_VALUE = Prisma.sql`${placeholder('arrivedValue')}::numeric`

/**
 * Fragment: the part `undecided` (`id`, `payment_id`, `send_value`, `is_stand_in`), the packet to a peer with a condition of which nothing is
 * known, if it expired before an instant. Takes `peerId`, `condition` and `before`.
 */
export const undecidedPacket = Prisma.sql`
  undecided as (
    select id, payment_id, send_value, is_stand_in
      from sent_packet
     where condition = ${placeholder('condition')}::bytea and peer_id = ${placeholder('peerId')}::uuid and outcome = 'unknown'
       and expires_at < ${placeholder('before')}::timestamptz
  )`

/**
 * Fragment, an expression: whether what is said to have arrived of {@link undecidedPacket} can have. A part can only of a stand-in, and no more
 * than it stands for. Takes `arrivedValue`.
 */
export const arrivedValueFits = Prisma.sql`(
  ${ARRIVED_VALUE} is null or (undecided.is_stand_in and ${ARRIVED_VALUE} between 1 and undecided.send_value))`

/** A packet to a peer, whatever is known of it. */
export interface SentPacket extends Pick<UnknownPacket, 'paymentId' | 'sendValue' | 'isStandIn'> {
  /** `unknown`, `fulfilled` or `rejected`. */
  readonly outcome: string
}

/** Finds the packet to a peer with a condition, whatever is known of it. */
export async function findSentPacket(
  on: Queries,
  { condition, peerId }: { readonly condition: Buffer; readonly peerId: string }
): Promise<SentPacket | undefined> {
  const where = { condition: new Uint8Array(condition), peerId }
  const select = { paymentId: true, sendValue: true, isStandIn: true, outcome: true }
  const found = await on.sentPacket.findUnique({ where, select })
  return found === null ? undefined : { ...found, sendValue: BigInt(found.sendValue.toFixed(0)) }
}

/**
 * Fragment: decides what became of the packet of {@link undecidedPacket}, if its payment is that of the part `unleased` (`payment_id`). Of a
 * stand-in of which a part arrived, only that was sent, and it delivered its share of what the stand-in delivers, rounded up. Takes `arrived`,
 * `arrivedValue`, `fulfillment`, `by` and `now`. The part `decided` has a row if it was, and `dispatched` (`id`, `send_value`) if it arrived.
 */
export const packetDecided = Prisma.sql`
  decided as (
    update sent_packet p
       set outcome = case when ${placeholder('arrived')}::boolean then 'fulfilled' else 'rejected' end,
           send_value = coalesce(${ARRIVED_VALUE}, p.send_value),
           delivered_value = case when ${placeholder('arrived')}::boolean
                                  then div(p.deliver_min_value * coalesce(${ARRIVED_VALUE}, p.send_value) + p.send_value - 1, p.send_value) end,
           fulfillment = ${placeholder('fulfillment')}::bytea,
           answered_at = ${placeholder('now')}::timestamptz, decided_by = ${placeholder('by')}::text
      from undecided join unleased on unleased.payment_id = undecided.payment_id
     where ${arrivedValueFits} and p.id = undecided.id and p.outcome = 'unknown'
    returning p.id, p.send_value, p.outcome, p.payment_id, p.delivered_value
  ), dispatched as (
    select id, send_value from decided where outcome = 'fulfilled'
  )`

/** Fragment: selects what the payment of {@link packetDecided} has delivered in total (`payment_id`, `value`), if its packet arrived. */
export const deliveredWithDecided = Prisma.sql`
  select d.payment_id,
         d.delivered_value
         + (select coalesce(sum(p.delivered_value), 0) from sent_packet p where p.payment_id = d.payment_id) as value
    from decided d where d.outcome = 'fulfilled'`
