import { createHash } from 'node:crypto'
import { encodePrepare, type StreamCredentials } from '@open-payments-server/interledger'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import fc from 'fast-check'
import {
  conditionOf,
  decrypt,
  encrypt,
  fulfillmentOf,
  streamKeys
} from '../../../../../packages/interledger/src/stream-keys.js'
import { sealStreamPacket, type StreamFrame } from '../../../../../packages/interledger/src/stream-packet.js'
import { mixed } from './text.js'

/** Bytes that follow from a number, so that a seed gives the same cases in every run. */
function bytesOf(seed: number, length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, block) =>
    createHash('sha256')
      .update(`${String(seed)} ${String(block)}`)
      .digest()
  )
  return Buffer.concat(blocks).subarray(0, length)
}

/** Bytes with up to three pieces changed, cut out or put in. */
export function mutatedBytes(bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const edit = fc.record({
    place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    removed: fc.constantFrom(0, 1, 1, 2, 8, 1_000),
    inserted: fc.oneof(
      fc.constantFrom('', '00', '7f', '80', '81ff', '82ffff', '84ffffffff', '88ffffffffffffffff', 'ff'),
      fc.uint8Array({ maxLength: 12 }).map((some) => Buffer.from(some).toString('hex'))
    )
  })
  const edits = fc.array(edit, { minLength: 1, maxLength: 3 })
  return fc.tuple(bytes, edits).map(([original, changes]) =>
    changes.reduce((changed, { place, removed, inserted }) => {
      const at = Math.floor(place * changed.length)
      return Buffer.concat([
        changed.subarray(0, at),
        Buffer.from(inserted, 'hex'),
        changed.subarray(at + removed)
      ])
    }, original)
  )
}

/** Amounts of packets: small ones, and those at the ends. */
export const packetValues: fc.Arbitrary<bigint> = mixed(
  [6, fc.bigInt({ min: 1n, max: 1_000n })],
  [1, fc.bigInt({ min: 0n, max: UINT64_MAX })],
  [1, fc.constantFrom(0n, 1n, 10n ** 12n, 2n ** 63n - 1n, 2n ** 63n, UINT64_MAX - 1n, UINT64_MAX)]
)

const frame: fc.Arbitrary<StreamFrame> = fc.oneof(
  fc.constantFrom<StreamFrame>(
    ...Array.from({ length: 6 }, (): StreamFrame => ({ type: 'stream-money' })),
    { type: 'money-only' },
    { type: 'stream-close' },
    { type: 'connection-close' },
    { type: 'connection-new-address', address: '' },
    { type: 'connection-new-address', address: 'test.sender.abc' },
    { type: 'connection-asset-details', code: 'USD', scale: 2 },
    { type: 'connection-asset-details', code: '', scale: 255 }
  ),
  fc.tuple(packetValues, packetValues).map(([receiveMaxValue, receivedValue]): StreamFrame => ({
    type: 'stream-max-money',
    receiveMaxValue,
    receivedValue
  }))
)

/** The plaintext of a STREAM packet. */
export function streamPlaintexts(type: 'prepare' | 'fulfill' | 'reject'): fc.Arbitrary<Buffer> {
  const key = bytesOf(0, 32)
  const packet = fc.record({
    sequence: fc.bigInt({ min: 0n, max: UINT64_MAX }),
    amount: mixed([5, fc.constantFrom(0n, 1n)], [1, packetValues]),
    frames: fc.array(frame, { maxLength: 4 })
  })
  return packet.map((fields) => {
    const sealed = sealStreamPacket({ type, ...fields }, key, { bytes: (length) => bytesOf(1, length) })
    const plaintext = decrypt(sealed, key)
    if (plaintext === undefined) throw new Error('a packet cannot be decrypted that was just encrypted')
    return plaintext
  })
}

/** A plaintext, encrypted as STREAM does. */
export function sealed(plaintext: Buffer, { sharedSecret }: StreamCredentials, seed: number): Buffer {
  const { encryption } = streamKeys(sharedSecret)
  return encrypt(plaintext, encryption, { bytes: (length) => bytesOf(seed, length) })
}

/** A Prepare before it is written. */
export interface PrepareCase {
  readonly amount: bigint
  /** The plaintext of its STREAM packet. */
  readonly plaintext: Buffer
  readonly seed: number
  /** How long it lasts, in milliseconds; below 0: it has expired. */
  readonly lifetimeMs: number
  /** Whether its condition comes from its data. */
  readonly isFulfillable: boolean
  /** What follows the address of the payment. */
  readonly suffix: string
}

/** Prepares that reach a receiver: most could be fulfilled. */
export const prepareCases: fc.Arbitrary<PrepareCase> = fc.record({
  amount: packetValues,
  plaintext: mixed([4, streamPlaintexts('prepare')], [1, mutatedBytes(streamPlaintexts('prepare'))]),
  seed: fc.nat(),
  lifetimeMs: fc.constantFrom(30_000, 30_000, 30_000, 1_000, 999, 0, -1, -86_400_000, 31_536_000_000),
  isFulfillable: fc.constantFrom(true, true, true, false),
  suffix: fc.constantFrom('', '', '', '.a', '.a.b', `.${'a'.repeat(500)}`)
})

/** Writes a Prepare to a payment. */
export function writePrepare(input: PrepareCase, destination: StreamCredentials, nowMs: number): Buffer {
  const data = sealed(input.plaintext, destination, input.seed)
  const keys = streamKeys(destination.sharedSecret)
  return encodePrepare({
    amount: input.amount,
    expiresAtMs: nowMs + input.lifetimeMs,
    executionCondition: input.isFulfillable
      ? conditionOf(fulfillmentOf(data, keys))
      : bytesOf(input.seed + 1, 32),
    destination: destination.ilpAddress + input.suffix,
    data
  })
}
