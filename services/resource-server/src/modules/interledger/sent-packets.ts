import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import type { JournalAnswer, JournalPacket, PaymentProgress } from '@open-payments-server/interledger'
import { Prisma, type Queries } from '../database.js'
import { dispatched } from '../ledger/index.js'

/** Who writes down the packets of a payment. */
export interface JournalWriter {
  /** Id (UUID) of the payment. */
  readonly paymentId: string
  /** Id (UUID) of the process that sends it now. */
  readonly leasedBy: string
  /** Id (UUID) of the peer that its packets go to. */
  readonly peerId: string
}

const PROGRESS = new Statement<{
  readonly next_sequence: number
  readonly sent_value: string
  readonly delivered_value: string
  readonly unknown_sent_value: string
  readonly unknown_deliver_value: string
}>(
  'get-progress-of-payment',
  Prisma.sql`
  select coalesce(max(sequence) + 1, 0)::integer as next_sequence,
         coalesce(sum(send_value) filter (where outcome = 'fulfilled'), 0)::text as sent_value,
         coalesce(sum(delivered_value) filter (where outcome = 'fulfilled'), 0)::text as delivered_value,
         coalesce(sum(send_value) filter (where outcome = 'unknown'), 0)::text as unknown_sent_value,
         coalesce(sum(deliver_min_value) filter (where outcome = 'unknown'), 0)::text as unknown_deliver_value
    from sent_packet where payment_id = ${placeholder('paymentId')}::uuid`
)

/** How far a payment (UUID) is: packets without an answer count as unknown. */
export async function readProgress(on: Queries, paymentId: string): Promise<PaymentProgress> {
  const [row] = await PROGRESS.rows(on, { paymentId })
  if (row === undefined) throw new Error('a sum has no row')
  return {
    nextSequence: row.next_sequence,
    sentValue: BigInt(row.sent_value),
    deliveredValue: BigInt(row.delivered_value),
    unknownSentValue: BigInt(row.unknown_sent_value),
    unknownDeliverValue: BigInt(row.unknown_deliver_value)
  }
}

const [PAYMENT, LEASED_BY] = [
  Prisma.sql`${placeholder('paymentId')}::uuid`,
  Prisma.sql`${placeholder('leasedBy')}::uuid`
]

// The lease is renewed by the same statement that writes: whoever lost it writes nothing, and so sends nothing. A number of changed
// rows that is wrong fails the statement.
const WRITE = new Statement(
  'write-packets',
  Prisma.sql`
  with lease as (
    update sending set leased_until = ${placeholder('leasedUntil')}::timestamptz
     where payment_id = ${PAYMENT} and leased_by = ${LEASED_BY}
    returning payment_id
  ), answer as (
    select * from json_to_recordset(${placeholder('answers')}::json)
      as a (sequence bigint, outcome text, delivered_value numeric, fulfillment bytea, code text)
  ), answered as (
    update sent_packet p
       set outcome = a.outcome, delivered_value = a.delivered_value, fulfillment = a.fulfillment, code = a.code,
           answered_at = ${placeholder('now')}::timestamptz
      from answer a cross join lease
     where p.payment_id = lease.payment_id and p.sequence = a.sequence and p.outcome = 'unknown'
    returning p.id, p.peer_id, p.payment_id, p.send_value, p.outcome
  ), ${dispatched}, wanted as (
    select * from json_to_recordset(${placeholder('packets')}::json)
      as w (id uuid, sequence bigint, condition bytea, send_value numeric, deliver_min_value numeric, expires_at timestamptz)
  ), written as (
    insert into sent_packet (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, sent_at, expires_at)
    select w.id, lease.payment_id, w.sequence, ${placeholder('peerId')}::uuid, w.condition, w.send_value, w.deliver_min_value,
           ${placeholder('now')}::timestamptz, w.expires_at
      from wanted w cross join lease
    returning id
  )
  select string_agg(format('packets must change %s %s, and would change %s', wanted, name, changed), '; ')::integer as wrong
    from (values ('leases', 1, (select count(*) from lease)),
                 ('answers', (select count(*) from answer), (select count(*) from answered)),
                 ('dispatches', (select count(*) from answer where outcome = 'fulfilled'), (select count(*) from dispatch)),
                 ('packets', (select count(*) from wanted), (select count(*) from written))) as part (name, wanted, changed)
   where changed <> wanted`
)

/**
 * Writes down answers to packets, and packets that are to be sent, together. What a fulfilled one sent is owed to its peer from then
 * on. Answers of which nothing is known change nothing: their packets are unknown already.
 *
 * @param newId creates ids (UUID)
 * @throws Error when another process sends this payment now: then nothing is written
 */
export async function writePackets(
  on: Queries,
  writer: JournalWriter,
  { answers, packets }: { readonly answers: readonly JournalAnswer[]; readonly packets: readonly JournalPacket[] },
  time: { readonly nowMs: number; readonly leasedUntilMs: number; readonly newId: () => string }
): Promise<void> {
  await WRITE.rows(on, {
    ...writer,
    answers: JSON.stringify(answers.flatMap(toAnswerRecord)),
    packets: JSON.stringify(packets.map((packet) => toPacketRecord(packet, time.newId()))),
    now: instantText(time.nowMs),
    leasedUntil: instantText(time.leasedUntilMs)
  })
}

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
