import { describe, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Packet } from 'ilp-protocol-stream/dist/src/packet.js'
import { decodePrepare, decodeReply, encodePrepare, encodeReply } from '../src/index.js'
import { encrypt } from '../src/stream-keys.js'
import { openStreamPacket, sealStreamPacket, type StreamFrame } from '../src/stream-packet.js'
import { type FrameFields, readVectors, writeFrame } from './support/published-vectors.js'
import * as reference from './support/reference-codec.js'

const vectors = readVectors(fileURLToPath(new URL('./published-vectors/', import.meta.url)))

const KEY = Buffer.alloc(32, 7)
const RANDOM = { bytes: randomBytes }
const TYPES = { 12: 'prepare', 13: 'fulfill', 14: 'reject' } as const

describe('the published vectors', () => {
  it('are there: of packets, and of STREAM', () => {
    expect(vectors.packets.length).toBeGreaterThanOrEqual(3)
    expect(vectors.stream.length).toBeGreaterThanOrEqual(52)
  })

  it.each(vectors.packets)('packet $name: is read, and written again to the byte', ({ bytes, fields }) => {
    const isPrepare = bytes[0] === 12
    const read = isPrepare ? decodePrepare(bytes) : decodeReply(bytes)
    expect(read).toEqual(fields)
    const written = 'amount' in read ? encodePrepare(read) : encodeReply(read)
    expect(written.toString('hex')).toBe(bytes.toString('hex'))
    expect(writeOnceMore(read).toString('hex')).toBe(bytes.toString('hex'))
  })

  it.each(vectors.stream)('STREAM $name: is read, and the second codec writes it to the byte', (vector) => {
    const { packet, bytes, isDecodeOnly } = vector
    const { sequence, amount, packetType, frames } = packet
    const write = (given: readonly FrameFields[]): Buffer =>
      reference.stream(packetType, sequence, amount, given.map(writeFrame))
    if (!isDecodeOnly) expect(write(frames).toString('hex')).toBe(bytes.toString('hex'))
    const told = { type: TYPES[packetType], sequence, amount }
    expect(open(bytes)).toEqual({ ...told, frames: frames.flatMap(readHere) })
    // The one stream that payments use, in place of the published one.
    const ofFirst = frames.map((frame) => ('streamId' in frame ? { ...frame, streamId: '1' } : frame))
    expect(open(write(ofFirst))).toEqual({ ...told, frames: ofFirst.flatMap(readHere) })
  })

  it.each(vectors.stream.filter(({ packet }) => packet.frames.length === 0))(
    'STREAM $name: what is sealed here is opened to its bytes',
    async ({ packet: { sequence, amount, packetType }, bytes }) => {
      const sealed = sealStreamPacket({ type: TYPES[packetType], sequence, amount, frames: [] }, KEY, RANDOM)
      const opened = await Packet.decryptAndDeserialize(KEY, sealed)
      expect(opened._serialize().toString('hex')).toBe(bytes.toString('hex'))
    }
  )
})

function writeOnceMore(packet: ReturnType<typeof decodePrepare> | ReturnType<typeof decodeReply>): Buffer {
  if ('amount' in packet) return reference.prepare(packet)
  return packet.type === 'fulfill' ? reference.fulfill(packet) : reference.reject(packet)
}

function open(bytes: Buffer): ReturnType<typeof openStreamPacket> {
  return openStreamPacket(encrypt(bytes, KEY, RANDOM), KEY)
}

/** What is read of a frame: of other streams than the first only that money is for them, and nothing of what payments do not use. */
function readHere(frame: FrameFields): StreamFrame[] {
  const isFirst = frame.streamId === '1'
  switch (frame.type) {
    case 1:
      return [{ type: 'connection-close' }]
    case 2:
      return [{ type: 'connection-new-address', address: String(frame.sourceAccount) }]
    case 7: {
      const { sourceAssetCode, sourceAssetScale } = frame
      return [
        { type: 'connection-asset-details', code: String(sourceAssetCode), scale: Number(sourceAssetScale) }
      ]
    }
    case 16:
      return isFirst ? [{ type: 'stream-close' }] : []
    case 17:
      return [{ type: 'stream-money' }]
    case 18: {
      const receiveMaxValue = BigInt(frame.receiveMax ?? -1)
      const receivedValue = BigInt(frame.totalReceived ?? -1)
      return isFirst ? [{ type: 'stream-max-money', receiveMaxValue, receivedValue }] : []
    }
    default:
      return []
  }
}
