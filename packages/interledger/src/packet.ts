import {
  deserializeIlpFulfill,
  deserializeIlpPrepare,
  deserializeIlpReject,
  isValidIlpAddress,
  serializeIlpFulfill,
  serializeIlpPrepare,
  serializeIlpReject,
  Type
} from 'ilp-packet'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { PacketError } from './packet-error.js'

/** The types of packets, as their first byte has them (IL-RFC 27). */
export const PACKET_TYPE = {
  prepare: Type.TYPE_ILP_PREPARE,
  fulfill: Type.TYPE_ILP_FULFILL,
  reject: Type.TYPE_ILP_REJECT
} as const

/** Bytes of a condition, and of a fulfillment. */
const HASH_BYTES = 32

/** A code of a Reject: three characters that can be seen. */
const CODE = /^[\x20-\x7e]{3}$/
const UNSEEN = /[^\x20-\x7e]/g

/** The last instant that a packet can have as its expiry: its year has four digits. */
const EXPIRY_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Asks the next hop to move an amount towards a destination, for the fulfillment of a condition (IL-RFC 27 §2). */
export interface Prepare {
  /** In the smallest units of the asset that sender and recipient of this packet account in: 0 to 2^64 − 1. */
  readonly amount: bigint
  /** Milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
  /** SHA-256 of the fulfillment: 32 bytes. */
  readonly executionCondition: Buffer
  /** The address of the receiver (IL-RFC 15). */
  readonly destination: string
  /** For the receiver: a STREAM packet, encrypted. */
  readonly data: Buffer
}

/** The proof that a Prepare arrived. */
export interface Fulfill {
  readonly type: 'fulfill'
  /** The 32 bytes whose SHA-256 is the condition. */
  readonly fulfillment: Buffer
  /** For the sender: a STREAM packet, encrypted. */
  readonly data: Buffer
}

/** The answer to a Prepare that moved nothing. */
export interface Reject {
  readonly type: 'reject'
  /** Three characters (IL-RFC 27 §3): `F` is final, `T` temporary, `R` relative. */
  readonly code: string
  /** The address of whoever rejects; empty when it does not tell. */
  readonly triggeredBy: string
  /** For people. */
  readonly message: string
  /** For the sender: a STREAM packet, encrypted, if the receiver rejects; or what the code says. */
  readonly data: Buffer
}

/** An answer to a Prepare. */
export type Reply = Fulfill | Reject

/** Whether a text is an address of Interledger (IL-RFC 15): a known scheme, then segments, at most 1,023 characters. */
export function isIlpAddress(text: string): boolean {
  return isValidIlpAddress(text)
}

/**
 * Reads a Prepare. Bytes after the packet are ignored.
 *
 * @throws PacketError when it is none
 */
export function decodePrepare(bytes: Buffer): Prepare {
  const { amount, expiresAt, executionCondition, destination, data } = read('a Prepare', () =>
    deserializeIlpPrepare(bytes)
  )
  return { amount: BigInt(amount), expiresAtMs: expiresAt.getTime(), executionCondition, destination, data }
}

/**
 * Writes a Prepare.
 *
 * @throws PacketError when a field has no form on the wire
 */
export function encodePrepare(packet: Prepare): Buffer {
  const { amount, expiresAtMs, executionCondition, destination, data } = packet
  if (amount < 0n || amount > UINT64_MAX) throw new PacketError('amount', 'must be from 0 to 2^64 − 1')
  if (!(expiresAtMs > 0 && expiresAtMs <= EXPIRY_MAX_MS)) {
    throw new PacketError('expiresAt', 'must be after 1970 and before 10000')
  }
  assertHash('executionCondition', executionCondition)
  assertAddress('destination', destination)
  return serializeIlpPrepare({
    amount: amount.toString(),
    expiresAt: new Date(expiresAtMs),
    executionCondition,
    destination,
    data
  })
}

/**
 * Reads the answer to a Prepare. In the code of a Reject, `?` stands for what cannot be seen.
 *
 * @throws PacketError when it is neither a Fulfill nor a Reject
 */
export function decodeReply(bytes: Buffer): Reply {
  if (bytes[0] === PACKET_TYPE.fulfill) {
    return read('a Fulfill', () => ({ type: 'fulfill', ...deserializeIlpFulfill(bytes) }))
  }
  const reject = read('a Fulfill or a Reject', () => deserializeIlpReject(bytes))
  // Codes are kept, and a text of the database cannot have every character. A receiver chooses its code, and others on the way pass it on: a
  // Reject with any code is one.
  return { type: 'reject', ...reject, code: reject.code.replaceAll(UNSEEN, '?') }
}

/**
 * Writes the answer to a Prepare.
 *
 * @throws PacketError when a field has no form on the wire
 */
export function encodeReply(reply: Reply): Buffer {
  if (reply.type === 'fulfill') {
    assertHash('fulfillment', reply.fulfillment)
    return serializeIlpFulfill(reply)
  }
  assertCode(reply.code)
  if (reply.triggeredBy !== '') assertAddress('triggeredBy', reply.triggeredBy)
  return serializeIlpReject(reply)
}

function read<T>(what: string, decode: () => T): T {
  try {
    return decode()
  } catch (cause) {
    throw new PacketError('packet', `is not ${what}`, { cause })
  }
}

function assertHash(field: string, bytes: Buffer): void {
  if (bytes.length !== HASH_BYTES) throw new PacketError(field, `must have ${HASH_BYTES} bytes`)
}

function assertCode(code: string): void {
  if (!CODE.test(code)) throw new PacketError('code', 'must have three characters')
}

function assertAddress(field: string, address: string): void {
  if (!isIlpAddress(address)) throw new PacketError(field, 'must be an Interledger address')
}
