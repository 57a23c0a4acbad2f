import type { Direction } from './provider-pair.js'

/** A packet as its sender's books have it. */
interface SentPacket {
  /** Execution condition, in hexadecimal. */
  readonly condition: string
  /** Name of the peer that it was sent to. */
  readonly peer: string
  /** Id (UUID) of the outgoing payment. */
  readonly paymentId: string
  readonly sendValue: bigint
  readonly outcome: 'fulfilled' | 'rejected' | 'unknown'
  readonly deliveredValue: bigint
  /** Whether an operator decided that it arrived: then its sender knows only the least that it brought. */
  readonly isDecided: boolean
}

/** A packet as its receiver's books have it. */
interface ReceivedPacket {
  readonly condition: string
  readonly peer: string
  /** Id (UUID) of the incoming payment. */
  readonly incomingPaymentId: string
  /** What it brought in the peer's asset, and what the incoming payment got for it. */
  readonly packetValue: bigint
  readonly value: bigint
}

/** All packets of a direction, as each side has them. */
export interface SystemPackets extends Direction {
  readonly sent: readonly SentPacket[]
  readonly received: readonly ReceivedPacket[]
}

/** Reads the packets of a direction from both databases. */
export async function readPackets(direction: Direction): Promise<SystemPackets> {
  const { sender, receiver } = direction
  const [sent, received] = await Promise.all([
    sender.resourceDatabase.query<
      Record<Exclude<keyof SentPacket, 'isDecided'>, string> & { readonly isDecided: boolean }
    >(
      `select encode(k.condition, 'hex') as condition, p.name as peer, k.payment_id as "paymentId", k.send_value as "sendValue",
              k.outcome, coalesce(k.delivered_value, 0) as "deliveredValue",
              k.decided_by is not null as "isDecided"
         from sent_packet k join peer p on p.id = k.peer_id`
    ),
    receiver.resourceDatabase.query<Record<keyof ReceivedPacket, string>>(
      `select encode(k.condition, 'hex') as condition, p.name as peer, k.incoming_payment_id as "incomingPaymentId",
              k.packet_value as "packetValue", k.value
         from received_packet k join peer p on p.id = k.peer_id`
    )
  ])
  return {
    ...direction,
    sent: sent.map((row) => ({
      ...row,
      sendValue: BigInt(row.sendValue),
      outcome: row.outcome as SentPacket['outcome'],
      deliveredValue: BigInt(row.deliveredValue)
    })),
    received: received.map((row) => ({
      ...row,
      packetValue: BigInt(row.packetValue),
      value: BigInt(row.value)
    }))
  }
}

/** One sentence for each packet that only one side has, or that both have with different values. */
export function packetDisagreements({ sent, received }: SystemPackets): string[] {
  const left = new Map(received.map((packet) => [packet.condition, packet]))
  const found: string[] = []
  for (const packet of sent.filter(({ outcome }) => outcome !== 'rejected')) {
    const there = left.get(packet.condition)
    left.delete(packet.condition)
    const isSame =
      packet.outcome === 'fulfilled' &&
      there?.peer === packet.peer &&
      there.packetValue === packet.sendValue &&
      (packet.isDecided ? there.value >= packet.deliveredValue : there.value === packet.deliveredValue)
    if (!isSame) found.push(`the sender has ${describe(packet)}, and the receiver ${describe(there)}`)
  }
  return [...found, ...[...left.values()].map((packet) => `only the receiver has ${describe(packet)}`)]
}

function describe(packet: SentPacket | ReceivedPacket | undefined): string {
  return packet === undefined
    ? 'nothing'
    : JSON.stringify(packet, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}
