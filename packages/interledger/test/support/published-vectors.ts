import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Prepare, Reply } from '../../src/index.js'
import * as reference from './reference-codec.js'

/** A packet as published: its bytes, and what they say. */
export interface PacketVector {
  readonly name: string
  readonly bytes: Buffer
  readonly fields: Prepare | Reply
}

/** A frame as published: its type, and its fields by name. Integers of 64 bits and bytes are texts. */
export type FrameFields = Readonly<Record<string, string | number>> & { readonly type: number }

/** A packet of STREAM as published. */
export interface StreamVector {
  readonly name: string
  readonly packet: {
    readonly sequence: bigint
    readonly amount: bigint
    readonly packetType: 12 | 13 | 14
    readonly frames: readonly FrameFields[]
  }
  readonly bytes: Buffer
  /** Whether its bytes cannot be written from its fields: it has an integer of more than 64 bits, which is read as the largest. */
  readonly isDecodeOnly: boolean
}

/** Vectors of both kinds. */
export interface PublishedVectors {
  readonly packets: readonly PacketVector[]
  readonly stream: readonly StreamVector[]
}

/** Reads every file of vectors in a folder. */
export function readVectors(folder: string): PublishedVectors {
  const packets: PacketVector[] = []
  const stream: StreamVector[] = []
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
    const content = JSON.parse(readFileSync(join(folder, file), 'utf8')) as object
    if ('binary' in content) packets.push(packetVector(file, content as PublishedPacket))
    // A list, or an object whose members have the names.
    else for (const [key, one] of Object.entries(content)) stream.push(streamVector(`${file} ${key}`, one))
  }
  return { packets, stream }
}

/** The form of `ilp-packet`'s files; bytes are in base64, but the whole packet in hexadecimal. */
interface PublishedPacket {
  readonly binary: string
  readonly json: Readonly<Record<string, string>>
}

function packetVector(name: string, { binary, json }: PublishedPacket): PacketVector {
  const bytes = Buffer.from(binary, 'hex')
  const base64 = (field: string): Buffer => Buffer.from(json[field] ?? '', 'base64')
  const text = (field: string): string => json[field] ?? ''
  const data = base64('data')
  switch (bytes[0]) {
    case 12: {
      const { amount = '', expiresAt = '' } = json
      const executionCondition = base64('executionCondition')
      const expiresAtMs = Date.parse(expiresAt)
      const destination = text('destination')
      return {
        name,
        bytes,
        fields: { amount: BigInt(amount), expiresAtMs, executionCondition, destination, data }
      }
    }
    case 13:
      return { name, bytes, fields: { type: 'fulfill', fulfillment: base64('fulfillment'), data } }
    default: {
      const told = { code: text('code'), triggeredBy: text('triggeredBy'), message: text('message') }
      return { name, bytes, fields: { type: 'reject', ...told, data } }
    }
  }
}

/** The form of the files of STREAM packets; the buffer is in base64. */
interface PublishedStreamPacket {
  readonly name?: string
  readonly packet: {
    readonly sequence: string
    readonly amount: string
    readonly packetType: 12 | 13 | 14
    readonly frames: readonly FrameFields[]
  }
  readonly buffer: string
  readonly decode_only?: boolean
}

function streamVector(key: string, published: unknown): StreamVector {
  const { name, packet, buffer, decode_only: isDecodeOnly = false } = published as PublishedStreamPacket
  const { sequence, amount, ...rest } = packet
  return {
    name: name === undefined ? key : `${key} ${name}`,
    packet: { ...rest, sequence: BigInt(sequence), amount: BigInt(amount) },
    bytes: Buffer.from(buffer, 'base64'),
    isDecodeOnly
  }
}

type WriteField = (value: string | number) => Buffer

const byte: WriteField = (value) => Buffer.of(Number(value))
const integer: WriteField = (value) => reference.varUint(BigInt(value))
const text: WriteField = (value) => reference.text(String(value))
const bytes: WriteField = (value) => reference.octets(Buffer.from(String(value), 'base64'))
const streamId = ['streamId', integer] as const

/** The fields of each type of frame, in their order (IL-RFC 29 §5.3). */
const FRAMES: ReadonlyMap<number, readonly (readonly [name: string, write: WriteField])[]> = new Map([
  [
    1,
    [
      ['errorCode', byte],
      ['errorMessage', text]
    ]
  ],
  [2, [['sourceAccount', text]]],
  [3, [['maxOffset', integer]]],
  [4, [['maxOffset', integer]]],
  [5, [['maxStreamId', integer]]],
  [6, [['maxStreamId', integer]]],
  [
    7,
    [
      ['sourceAssetCode', text],
      ['sourceAssetScale', byte]
    ]
  ],
  [16, [streamId, ['errorCode', byte], ['errorMessage', text]]],
  [17, [streamId, ['shares', integer]]],
  [18, [streamId, ['receiveMax', integer], ['totalReceived', integer]]],
  [19, [streamId, ['sendMax', integer], ['totalSent', integer]]],
  [20, [streamId, ['offset', integer], ['data', bytes]]],
  [21, [streamId, ['maxOffset', integer]]],
  [22, [streamId, ['maxOffset', integer]]],
  [23, [streamId, ['receipt', bytes]]]
])

/**
 * Writes a frame with the second codec.
 *
 * @throws Error when its type is unknown, or a field is missing
 */
export function writeFrame(frame: FrameFields): Buffer {
  const fields = FRAMES.get(frame.type)
  if (fields === undefined) throw new Error(`frame type ${String(frame.type)} is unknown`)
  const written = fields.map(([name, write]) => {
    const value = frame[name]
    if (value === undefined) throw new Error(`a frame of type ${String(frame.type)} has no ${name}`)
    return write(value)
  })
  return reference.frame(frame.type, ...written)
}
