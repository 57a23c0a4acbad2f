import { bytesText, placeholder, readBytes, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** A packet that was credited. */
export interface CreditedPacket {
  /** Id (UUID), also of its transfer. */
  readonly id: string
  /** Its execution condition: 32 bytes. */
  readonly condition: Buffer
  /** What it was fulfilled with: 32 bytes whose SHA-256 is the condition. */
  readonly fulfillment: Buffer
  /** Id (UUID) of the peer that sent it. */
  readonly peerId: string
  /** Id (UUID) of the incoming payment that it was credited to. */
  readonly incomingPaymentId: string
  /** In the peer's asset. */
  readonly packetValue: bigint
  /** What the payment received for it. */
  readonly value: bigint
}

/** What of a credited packet tells whether it comes again. */
export type KnownPacket = Pick<CreditedPacket, 'condition' | 'peerId' | 'incomingPaymentId' | 'value'>

/** The columns of {@link knownPackets}. */
export interface KnownPacketRow {
  readonly condition: string
  readonly peer_id: string
  readonly incoming_payment_id: string
  readonly value: string
}

/** Fragment: selects the packets that were credited ({@link KnownPacketRow}) among those with `conditions`, which it takes in hexadecimal. */
export const knownPackets = Prisma.sql`
  select condition, peer_id, incoming_payment_id, value::text from received_packet
   where condition = any (array(select decode(one, 'hex') from unnest(${placeholder('conditions')}::text[]) as one))`

const BY_CONDITION = new Statement<KnownPacketRow>('find-received-packet', knownPackets)

/** Finds the packet with a condition that was credited. */
export async function findReceivedPacket(on: Queries, condition: Buffer): Promise<KnownPacket | undefined> {
  const rows = await BY_CONDITION.rows(on, { conditions: [condition.toString('hex')] })
  return readKnownPackets(rows).get(condition.toString('hex'))
}

/** Reads rows of {@link knownPackets}, by their conditions in hexadecimal. */
export function readKnownPackets(rows: readonly KnownPacketRow[]): ReadonlyMap<string, KnownPacket> {
  return new Map(
    rows.map((row) => {
      const condition = readBytes(row.condition)
      const { peer_id: peerId, incoming_payment_id: incomingPaymentId, value } = row
      return [condition.toString('hex'), { condition, peerId, incomingPaymentId, value: BigInt(value) }]
    })
  )
}

/**
 * Fragment: records packets that are credited. Takes `now` and what {@link packetsReceived} returns. The part `packet` has a row for
 * each of `arrived` that was recorded; one whose condition is known fails the statement.
 */
export const recordedPackets = Prisma.sql`
  arrived as (
    select * from json_to_recordset(${placeholder('packets')}::json)
      as p (id uuid, condition bytea, fulfillment bytea, peer_id uuid, incoming_payment_id uuid, packet_value numeric, value numeric)
  ), packet as (
    insert into received_packet (id, condition, fulfillment, peer_id, incoming_payment_id, packet_value, value, received_at)
    select id, condition, fulfillment, peer_id, incoming_payment_id, packet_value, value, ${placeholder('now')}::timestamptz from arrived
    returning id
  )`

/** The parameters of {@link recordedPackets}, except `now`. Numbers of arbitrary size are sent as text. */
export function packetsReceived(packets: readonly CreditedPacket[]): { readonly packets: string } {
  return {
    packets: JSON.stringify(
      packets.map((packet) => ({
        id: packet.id,
        condition: bytesText(packet.condition),
        fulfillment: bytesText(packet.fulfillment),
        peer_id: packet.peerId,
        incoming_payment_id: packet.incomingPaymentId,
        packet_value: packet.packetValue.toString(),
        value: packet.value.toString()
      }))
    )
  }
}

/**
 * Fragment: selects the packets of a peer as entries of a statement (`kind`, `identifier`, `value`, `booked_at`, `id`,
 * `payment_id`, `fulfillment`) that were credited within a time.
 *
 * @param time.from names its beginning, and `time.to` its end, which is not part of it
 */
export function receivedEntries(
  peerId: Prisma.Sql,
  time: { readonly from: Prisma.Sql; readonly to: Prisma.Sql }
): Prisma.Sql {
  return Prisma.sql`
    select 'received' as kind, encode(condition, 'base64') as identifier, packet_value as value, received_at as booked_at, id,
           incoming_payment_id as payment_id, encode(fulfillment, 'base64') as fulfillment
      from received_packet where peer_id = ${peerId} and received_at >= ${time.from} and received_at < ${time.to}`
}
