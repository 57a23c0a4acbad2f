import { describe, expect, it } from '@jest/globals'
import { createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { FrameType, Packet } from 'ilp-protocol-stream/dist/src/packet.js'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { conditionOf, encrypt, fulfillmentOf, streamKeys } from '../src/stream-keys.js'
import {
  openStreamPacket,
  sealStreamPacket,
  type StreamFrame,
  type StreamPacket
} from '../src/stream-packet.js'
import * as arbitrary from './support/arbitraries.js'
import * as reference from './support/reference-codec.js'

const RANDOM = { bytes: randomBytes }
const KEY = Buffer.alloc(32, 7)
const NUMBERS = { prepare: 12, fulfill: 13, reject: 14 } as const

/** A frame, and the frames of the wire that it stands for. */
const frame: fc.Arbitrary<{ readonly frame: StreamFrame; readonly wire: readonly Buffer[] }> = fc.oneof(
  fc.constant({
    frame: { type: 'connection-close' } as const,
    wire: [reference.frame(1, Buffer.of(1), reference.text(''))]
  }),
  fc.constant({
    frame: { type: 'stream-close' } as const,
    wire: [reference.frame(16, reference.varUint(1n), Buffer.of(1), reference.text(''))]
  }),
  fc.oneof(arbitrary.ilpAddress, fc.constant('')).map((address) => ({
    frame: { type: 'connection-new-address', address } as const,
    wire: [reference.frame(2, reference.text(address))]
  })),
  fc.tuple(fc.string({ maxLength: 32 }), fc.nat({ max: 255 })).map(([code, scale]) => ({
    frame: { type: 'connection-asset-details', code, scale } as const,
    wire: [reference.frame(7, reference.text(code), Buffer.of(scale))]
  })),
  fc.constant({
    frame: { type: 'stream-money' } as const,
    wire: [reference.frame(17, reference.varUint(1n), reference.varUint(1n))]
  }),
  fc.tuple(arbitrary.uint64, arbitrary.uint64).map(([receiveMaxValue, receivedValue]) => ({
    frame: { type: 'stream-max-money', receiveMaxValue, receivedValue } as const,
    wire: [
      reference.frame(
        18,
        reference.varUint(1n),
        reference.varUint(receiveMaxValue),
        reference.varUint(receivedValue)
      )
    ]
  }))
)

const packet = fc.record({
  type: fc.constantFrom('prepare', 'fulfill', 'reject'),
  sequence: arbitrary.uint64,
  amount: arbitrary.uint64,
  frames: fc.array(frame, { maxLength: 5 })
})

describe('STREAM packets', () => {
  it('are written and encrypted as the specification says, and read again', () => {
    fc.assert(
      fc.property(packet, ({ type, sequence, amount, frames }) => {
        const written: StreamPacket = { type, sequence, amount, frames: frames.map(({ frame }) => frame) }
        const sealed = sealStreamPacket(written, KEY, RANDOM)
        const decipher = createDecipheriv('aes-256-gcm', KEY, sealed.subarray(0, 12))
        decipher.setAuthTag(sealed.subarray(12, 28))
        const clear = Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
        const expected = reference.stream(
          NUMBERS[type],
          sequence,
          amount,
          frames.flatMap(({ wire }) => wire)
        )
        expect(clear.equals(expected)).toBe(true)
        expect(openStreamPacket(sealed, KEY)).toEqual(written)
      })
    )
  })

  it('tell that money only is taken: one stream, no data', async () => {
    const sealed = sealStreamPacket(
      { type: 'prepare', sequence: 1n, amount: 2n, frames: [{ type: 'money-only' }] },
      KEY,
      RANDOM
    )
    const { frames } = await Packet.decryptAndDeserialize(KEY, sealed)
    expect(frames.map(({ type }) => type)).toEqual([
      FrameType.ConnectionMaxStreamId,
      FrameType.ConnectionMaxData
    ])
  })

  it('are read with unknown frames, frames of other streams, and bytes after them', () => {
    const clear = Buffer.concat([
      reference.stream(12, 9n, 3n, [
        reference.frame(0x99, Buffer.from('of a later version')),
        reference.frame(16, reference.varUint(3n), Buffer.of(1), reference.text('')),
        reference.frame(18, reference.varUint(3n), reference.varUint(1n), reference.varUint(1n)),
        reference.frame(20, reference.varUint(1n), reference.varUint(0n), reference.text('hello')),
        reference.frame(17, reference.varUint(1n), reference.varUint(1n))
      ]),
      Buffer.alloc(100)
    ])
    expect(openStreamPacket(encrypt(clear, KEY, RANDOM), KEY)).toEqual({
      type: 'prepare',
      sequence: 9n,
      amount: 3n,
      frames: [{ type: 'stream-money' }]
    })
  })

  it('with a maximum of more than 64 bits are read as with the largest (IL-RFC 29 §5.1.4)', () => {
    const clear = reference.stream(13, 0n, 0n, [
      reference.frame(18, reference.varUint(1n), reference.varUint(2n ** 70n), reference.varUint(4n))
    ])
    expect(openStreamPacket(encrypt(clear, KEY, RANDOM), KEY)?.frames).toEqual([
      { type: 'stream-max-money', receiveMaxValue: UINT64_MAX, receivedValue: 4n }
    ])
  })

  it('are not read when they were encrypted with another key, changed, shortened, or contain something else', () => {
    const sealed = sealStreamPacket({ type: 'prepare', sequence: 1n, amount: 2n, frames: [] }, KEY, RANDOM)
    expect(openStreamPacket(sealed, Buffer.alloc(32, 8))).toBeUndefined()
    for (let index = 0; index < sealed.length; index++) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
      expect(openStreamPacket(changed, KEY)).toBeUndefined()
      expect(openStreamPacket(sealed.subarray(0, index), KEY)).toBeUndefined()
    }
    fc.assert(
      fc.property(
        arbitrary.mutated(
          packet.map(({ sequence, amount, frames }) =>
            reference.stream(
              12,
              sequence,
              amount,
              frames.flatMap(({ wire }) => wire)
            )
          )
        ),
        (clear) => {
          openStreamPacket(encrypt(clear, KEY, RANDOM), KEY)
        }
      ),
      { numRuns: 2000 }
    )
    for (const clear of [Buffer.alloc(0), Buffer.of(2, 12), reference.stream(15, 0n, 0n, [])]) {
      expect(openStreamPacket(encrypt(clear, KEY, RANDOM), KEY)).toBeUndefined()
    }
  })
})

describe('STREAM keys', () => {
  it('are those of the specification', () => {
    const secret = Buffer.alloc(32, 3)
    const data = Buffer.from('encrypted')
    const keys = streamKeys(secret)
    expect(keys.encryption).toEqual(createHmac('sha256', secret).update('ilp_stream_encryption').digest())
    const fulfillmentKey = createHmac('sha256', secret).update('ilp_stream_fulfillment').digest()
    const fulfillment = createHmac('sha256', fulfillmentKey).update(data).digest()
    expect(fulfillmentOf(data, keys)).toEqual(fulfillment)
    expect(conditionOf(Buffer.alloc(32)).toString('hex')).toBe(
      '66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925'
    )
  })
})
