import {
  ConnectionAssetDetailsFrame,
  ConnectionCloseFrame,
  ConnectionMaxDataFrame,
  ConnectionMaxStreamIdFrame,
  ConnectionNewAddressFrame,
  ErrorCode,
  type Frame,
  FrameType,
  Packet,
  StreamCloseFrame,
  StreamMaxMoneyFrame,
  StreamMoneyFrame
} from 'ilp-protocol-stream/dist/src/packet.js'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import type { Random } from '@open-payments-server/value-types/identifiers'
import { PACKET_TYPE } from './packet.js'
import { PacketError } from './packet-error.js'
import { decrypt, encrypt } from './stream-keys.js'

/** The one stream that payments use: the first that the sender may open. */
const STREAM_ID = '1'

/** The frames that this package writes and reads (IL-RFC 29 §5.3). Others are left out when a packet is read. */
export type StreamFrame =
  /** Nothing more is to be sent. */
  | { readonly type: 'connection-close' }
  /** Nothing more is to be sent on the stream. */
  | { readonly type: 'stream-close' }
  /** The other end's own address. Whoever gets it tells its asset. */
  | { readonly type: 'connection-new-address'; readonly address: string }
  /** The asset of whoever sends the frame. */
  | { readonly type: 'connection-asset-details'; readonly code: string; readonly scale: number }
  /** No data is taken, and no second stream. */
  | { readonly type: 'money-only' }
  /** The money of the packet is for the stream. */
  | { readonly type: 'stream-money' }
  /** What the stream can receive in all, and what it has received, in the units of whoever sends the frame. */
  | { readonly type: 'stream-max-money'; readonly receiveMaxValue: bigint; readonly receivedValue: bigint }

/** What sender and receiver tell each other in the data of packets (IL-RFC 29 §5.2). */
export interface StreamPacket {
  /** The type of the packet that has this one as its data. */
  readonly type: keyof typeof PACKET_TYPE
  /** Of the request: the sender counts, and the receiver repeats it. */
  readonly sequence: bigint
  /** In a Prepare, the least that the receiver should accept; in an answer, what arrived. In the receiver's units. */
  readonly amount: bigint
  readonly frames: readonly StreamFrame[]
}

/**
 * Writes a packet, and encrypts it.
 *
 * @param key see `StreamKeys.encryption`
 * @throws PacketError when a field has no form on the wire
 */
export function sealStreamPacket(packet: StreamPacket, key: Buffer, random: Random): Buffer {
  for (const field of ['sequence', 'amount'] as const) {
    if (packet[field] < 0n || packet[field] > UINT64_MAX) {
      throw new PacketError(field, 'must be from 0 to 2^64 − 1')
    }
  }
  const written = new Packet(
    packet.sequence.toString(),
    PACKET_TYPE[packet.type],
    packet.amount.toString(),
    packet.frames.flatMap(toWire)
  )
  return encrypt(written._serialize(), key, random)
}

/**
 * Decrypts a packet, and reads it. Frames that are unknown or not used here are left out.
 *
 * @param key see `StreamKeys.encryption`
 * @returns undefined when whoever wrote it did not have the key, or wrote something else
 */
export function openStreamPacket(data: Buffer, key: Buffer): StreamPacket | undefined {
  const decrypted = decrypt(data, key)
  if (decrypted === undefined) return undefined
  try {
    const { ilpPacketType, sequence, prepareAmount, frames } = Packet._deserializeUnencrypted(decrypted)
    const type = TYPES.get(ilpPacketType)
    if (type === undefined) return undefined
    return {
      type,
      sequence: toBigInt(sequence),
      amount: toBigInt(prepareAmount),
      frames: frames.flatMap(fromWire)
    }
  } catch {
    return undefined
  }
}

const TYPES = new Map<number, StreamPacket['type']>([
  [PACKET_TYPE.prepare, 'prepare'],
  [PACKET_TYPE.fulfill, 'fulfill'],
  [PACKET_TYPE.reject, 'reject']
])

function toWire(frame: StreamFrame): Frame[] {
  switch (frame.type) {
    case 'connection-close':
      return [new ConnectionCloseFrame(ErrorCode.NoError, '')]
    case 'stream-close':
      return [new StreamCloseFrame(STREAM_ID, ErrorCode.NoError, '')]
    case 'connection-new-address':
      return [new ConnectionNewAddressFrame(frame.address)]
    case 'connection-asset-details':
      return [new ConnectionAssetDetailsFrame(frame.code, frame.scale)]
    case 'money-only':
      return [new ConnectionMaxStreamIdFrame(STREAM_ID), new ConnectionMaxDataFrame('0')]
    case 'stream-money':
      return [new StreamMoneyFrame(STREAM_ID, '1')]
    case 'stream-max-money':
      return [
        new StreamMaxMoneyFrame(STREAM_ID, frame.receiveMaxValue.toString(), frame.receivedValue.toString())
      ]
  }
}

function fromWire(frame: Frame): StreamFrame[] {
  switch (frame.type) {
    case FrameType.ConnectionClose:
      return [{ type: 'connection-close' }]
    case FrameType.StreamClose:
      return frame.streamId.toString() === STREAM_ID ? [{ type: 'stream-close' }] : []
    case FrameType.ConnectionNewAddress:
      return [{ type: 'connection-new-address', address: frame.sourceAccount }]
    case FrameType.ConnectionAssetDetails:
      return [
        { type: 'connection-asset-details', code: frame.sourceAssetCode, scale: frame.sourceAssetScale }
      ]
    case FrameType.StreamMoney:
      return [{ type: 'stream-money' }]
    case FrameType.StreamMaxMoney:
      return frame.streamId.toString() === STREAM_ID
        ? [
            {
              type: 'stream-max-money',
              receiveMaxValue: toBigInt(frame.receiveMax),
              receivedValue: toBigInt(frame.totalReceived)
            }
          ]
        : []
    default:
      return []
  }
}

/** An unsigned 64-bit integer, as the library has it. */
function toBigInt(value: { getHighBitsUnsigned(): number; getLowBitsUnsigned(): number }): bigint {
  return (BigInt(value.getHighBitsUnsigned()) << 32n) | BigInt(value.getLowBitsUnsigned())
}
