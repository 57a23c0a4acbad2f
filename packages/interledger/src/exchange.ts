import type { Random } from '@open-payments-server/value-types/identifiers'
import { decodeReply, encodePrepare, type Reply } from './packet.js'
import { PacketError } from './packet-error.js'
import type { SenderClock } from './sender-clock.js'
import { conditionOf, fulfillmentOf, type StreamKeys } from './stream-keys.js'
import { openStreamPacket, sealStreamPacket, type StreamFrame } from './stream-packet.js'

/** After its expiry a packet is waited for so much longer: an answer that was sent in time may still be on its way. */
const GRACE_MS = 1000

/** The way to the receiver: whoever takes our packets first. */
export interface PacketPath {
  /**
   * Sends a Prepare, and waits for the answer.
   *
   * @param signal aborts when nobody waits any longer, though no answer came
   * @throws PacketNotSent when the packet certainly did not leave; anything else when what became of it is unknown
   */
  send(prepare: Buffer, signal: AbortSignal): Promise<Buffer>
}

/** The packet did not leave, or whoever got it certainly did not take it: no connection, or refused before it was read. */
export class PacketNotSent extends Error {
  override readonly name = 'PacketNotSent'
}

/** What sending needs besides the payment. */
export interface SendDependencies {
  readonly path: PacketPath
  readonly clock: SenderClock
  readonly random: Random
}

/** A packet that is to be sent. */
export interface OutgoingPacket {
  readonly sequence: number
  readonly sendValue: bigint
  /** The least that the receiver may accept, in its units. */
  readonly deliverMinValue: bigint
  readonly frames: readonly StreamFrame[]
  readonly expiresAtMs: number
  /** Whether the receiver can fulfill it. Otherwise it is a probe, and moves nothing. */
  readonly isFulfillable: boolean
}

/** A packet, ready to be sent. */
export interface SealedPacket {
  readonly sequence: number
  readonly condition: Buffer
  readonly expiresAtMs: number
  readonly prepare: Buffer
}

/** What the receiver itself says of a packet: only whoever has the secret can. */
export interface ReceiverWord {
  /** What arrived, in its units. A receiver may lie about that, to its own loss. */
  readonly receivedValue: bigint
  readonly frames: readonly StreamFrame[]
}

/** What became of a packet. */
export type PacketAnswer =
  /** It arrived: whoever sent the answer has the proof. `word` is undefined when the receiver's own words got lost. */
  | { readonly type: 'fulfilled'; readonly fulfillment: Buffer; readonly word: ReceiverWord | undefined }
  /** It moved nothing: whoever rejects a packet is owed nothing for it, whatever became of it behind. */
  | {
      readonly type: 'rejected'
      readonly code: string
      readonly data: Buffer
      readonly word: ReceiverWord | undefined
    }
  /** It may have arrived, or may still. */
  | { readonly type: 'unknown'; readonly because: UnknownBecause }

/** Why it is unknown what became of a packet. */
export type UnknownBecause =
  /** No answer in time, or the connection ended. */
  | 'no-answer'
  /** The answer is no packet. */
  | 'unreadable-answer'
  /** A Fulfill whose fulfillment is not that of the condition. */
  | 'wrong-fulfillment'

/** The answer to a packet that certainly did not leave: it moved nothing. */
export const NOT_SENT: PacketAnswer = Object.freeze({
  type: 'rejected',
  code: 'T01',
  data: Buffer.alloc(0),
  word: undefined
})

/** Makes the Prepare of a packet: its condition comes from its data (IL-RFC 29 §6). */
export function sealPacket(
  packet: OutgoingPacket,
  ilpAddress: string,
  keys: StreamKeys,
  random: Random
): SealedPacket {
  const { sequence, sendValue, deliverMinValue, frames, expiresAtMs, isFulfillable } = packet
  const request = {
    type: 'prepare',
    sequence: BigInt(sequence),
    amount: deliverMinValue,
    frames
  } as const
  const data = sealStreamPacket(request, keys.encryption, random)
  const condition = isFulfillable ? conditionOf(fulfillmentOf(data, keys)) : random.bytes(32)
  const prepare = encodePrepare({
    amount: sendValue,
    expiresAtMs,
    executionCondition: condition,
    destination: ilpAddress,
    data
  })
  return { sequence, condition, expiresAtMs, prepare }
}

/** Sends a packet, and waits for its answer until it has expired. Never rejects. */
export function exchangePacket(
  packet: SealedPacket,
  keys: StreamKeys,
  { path, clock }: Pick<SendDependencies, 'path' | 'clock'>
): Promise<PacketAnswer> {
  const giveUp = new AbortController()
  const exchange = async (): Promise<PacketAnswer> => {
    try {
      return readAnswer(await path.send(packet.prepare, giveUp.signal), packet, keys)
    } catch (error) {
      return error instanceof PacketNotSent ? NOT_SENT : { type: 'unknown', because: 'no-answer' }
    }
  }
  return new Promise((resolve) => {
    const cancelGivingUp = clock.after(packet.expiresAtMs + GRACE_MS - clock.now(), () => {
      resolve({ type: 'unknown', because: 'no-answer' })
      giveUp.abort()
    })
    void exchange().then((answer) => {
      cancelGivingUp()
      resolve(answer)
    })
  })
}

function readAnswer(bytes: Buffer, packet: SealedPacket, keys: StreamKeys): PacketAnswer {
  const reply = readReply(bytes)
  if (reply === undefined) return { type: 'unknown', because: 'unreadable-answer' }
  const word = wordIn(reply, packet, keys)
  if (reply.type === 'reject') return { type: 'rejected', code: reply.code, data: reply.data, word }
  return conditionOf(reply.fulfillment).equals(packet.condition)
    ? { type: 'fulfilled', fulfillment: reply.fulfillment, word }
    : { type: 'unknown', because: 'wrong-fulfillment' }
}

function readReply(bytes: Buffer): Reply | undefined {
  try {
    return decodeReply(bytes)
  } catch (error) {
    if (error instanceof PacketError) return undefined
    throw error
  }
}

/**
 * What the receiver says in an answer. What names another packet, or another type of answer, says nothing of this one. It is no reason to doubt
 * the answer itself, which is the peer's: those on the way pass on the data as they are, so a receiver could make any Reject look doubtful.
 */
function wordIn(reply: Reply, { sequence }: SealedPacket, keys: StreamKeys): ReceiverWord | undefined {
  const said = openStreamPacket(reply.data, keys.encryption)
  return said?.type === reply.type && said.sequence === BigInt(sequence)
    ? { receivedValue: said.amount, frames: said.frames }
    : undefined
}
