import fc from 'fast-check'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import type { Fulfill, Prepare, Reject } from '../../src/index.js'

export const uint64: fc.Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(0n, 1n, 127n, 128n, 255n, 256n, 2n ** 53n, 2n ** 63n, UINT64_MAX - 1n, UINT64_MAX),
  fc.bigInt({ min: 0n, max: UINT64_MAX })
)

export const bytes = (maxLength: number, minLength = 0): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array))

/** Data of a packet, with the lengths where another byte of length begins. */
export const data: fc.Arbitrary<Buffer> = fc.oneof(
  bytes(300),
  fc.constantFrom(0, 127, 128, 255, 256, 2000).map((length) => Buffer.alloc(length, 0xa5))
)

const segment = fc.stringMatching(/^[a-zA-Z0-9_~-]{1,40}$/)

export const ilpAddress: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('g', 'private', 'example', 'peer', 'self', 'test', 'test1', 'test3', 'local'),
    fc.array(segment, { minLength: 1, maxLength: 20 })
  )
  .map(([scheme, segments]) => [scheme, ...segments].join('.'))

export const expiresAtMs = fc.integer({ min: 1, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) })

export const prepare: fc.Arbitrary<Prepare> = fc.record({
  amount: uint64,
  expiresAtMs,
  executionCondition: bytes(32, 32),
  destination: ilpAddress,
  data
})

export const fulfill: fc.Arbitrary<Fulfill> = fc.record({
  type: fc.constant('fulfill' as const),
  fulfillment: bytes(32, 32),
  data
})

export const reject: fc.Arbitrary<Reject> = fc.record({
  type: fc.constant('reject' as const),
  code: fc.constantFrom('F00', 'F02', 'F08', 'F99', 'T04', 'R02', 'X77'),
  triggeredBy: fc.oneof(ilpAddress, fc.constant('')),
  message: fc.string({ unit: 'grapheme', maxLength: 60 }),
  data
})

/** Bytes that were a packet, with some of them changed, removed or added. */
export const mutated = (packets: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      packets,
      fc.array(
        fc.record({ at: fc.nat({ max: 500 }), value: fc.nat({ max: 255 }), how: fc.nat({ max: 3 }) }),
        { minLength: 1, maxLength: 6 }
      )
    )
    .map(([packet, changes]) => {
      let changed = Buffer.from(packet)
      for (const { at, value, how } of changes) {
        const index = changed.length === 0 ? 0 : at % changed.length
        if (how === 0 && changed.length > 0) changed.writeUInt8(value, index)
        else if (how === 1) changed = changed.subarray(0, index)
        else if (how === 2) {
          changed = Buffer.concat([changed.subarray(0, index), Buffer.of(value), changed.subarray(index)])
        } else changed = Buffer.concat([changed.subarray(0, index), changed.subarray(index + 1)])
      }
      return changed
    })
