import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  deserializeIlpFulfill,
  deserializeIlpPrepare,
  deserializeIlpReject,
  serializeIlpFulfill,
  serializeIlpPrepare,
  serializeIlpReject
} from 'ilp-packet'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import {
  decodeAmountTooLarge,
  decodePrepare,
  decodeReply,
  encodeAmountTooLarge,
  encodePrepare,
  encodeReply,
  isIlpAddress,
  PacketError,
  type Prepare
} from '../src/index.js'
import * as arbitrary from './support/arbitraries.js'
import * as reference from './support/reference-codec.js'

const PREPARE: Prepare = {
  amount: 107n,
  expiresAtMs: Date.UTC(2027, 11, 23, 1, 21, 40, 549),
  executionCondition: Buffer.alloc(32, 1),
  destination: 'example.alice',
  data: Buffer.from('data')
}

function refused(compute: () => unknown): string {
  try {
    compute()
  } catch (error) {
    if (error instanceof PacketError) return error.field
    throw error
  }
  return 'nothing was refused'
}

describe('packets', () => {
  it('a Prepare is written as the specification says, and ilp-packet reads it', () => {
    fc.assert(
      fc.property(arbitrary.prepare, (packet) => {
        const bytes = encodePrepare(packet)
        expect(bytes.equals(reference.prepare(packet))).toBe(true)
        const { amount, expiresAtMs, ...rest } = packet
        expect(deserializeIlpPrepare(bytes)).toEqual({
          ...rest,
          amount: amount.toString(),
          expiresAt: new Date(expiresAtMs)
        })
        expect(decodePrepare(bytes)).toEqual(packet)
      })
    )
  })

  it('a Prepare that ilp-packet writes is read', () => {
    fc.assert(
      fc.property(arbitrary.prepare, ({ amount, expiresAtMs, ...rest }) => {
        const bytes = serializeIlpPrepare({
          ...rest,
          amount: amount.toString(),
          expiresAt: new Date(expiresAtMs)
        })
        expect(decodePrepare(bytes)).toEqual({ amount, expiresAtMs, ...rest })
      })
    )
  })

  it('a Fulfill is written as the specification says, and ilp-packet reads it; and the other way', () => {
    fc.assert(
      fc.property(arbitrary.fulfill, (packet) => {
        const bytes = encodeReply(packet)
        const { type, ...fields } = packet
        expect(type).toBe('fulfill')
        expect(bytes.equals(reference.fulfill(packet))).toBe(true)
        expect(deserializeIlpFulfill(bytes)).toEqual(fields)
        expect(decodeReply(serializeIlpFulfill(fields))).toEqual(packet)
      })
    )
  })

  it('a Reject is written as the specification says, and ilp-packet reads it; and the other way', () => {
    fc.assert(
      fc.property(arbitrary.reject, (packet) => {
        const bytes = encodeReply(packet)
        const { type, ...fields } = packet
        expect(type).toBe('reject')
        expect(bytes.equals(reference.reject(packet))).toBe(true)
        expect(deserializeIlpReject(bytes)).toEqual(fields)
        expect(decodeReply(serializeIlpReject(fields))).toEqual(packet)
      })
    )
  })

  it('any other bytes are refused with a PacketError, and nothing else is thrown', () => {
    const written = fc.oneof(
      arbitrary.prepare.map(encodePrepare),
      arbitrary.fulfill.map(encodeReply),
      arbitrary.reject.map(encodeReply)
    )
    const attempt = (bytes: Buffer): void => {
      refused(() => decodePrepare(bytes))
      refused(() => decodeReply(bytes))
    }
    fc.assert(fc.property(arbitrary.mutated(written), attempt), { numRuns: 3000 })
    fc.assert(fc.property(arbitrary.bytes(200), attempt), { numRuns: 1000 })
    expect(refused(() => decodePrepare(Buffer.alloc(0)))).toBe('packet')
    expect(refused(() => decodeReply(encodePrepare(PREPARE)))).toBe('packet')
    expect(
      refused(() =>
        decodePrepare(encodeReply({ type: 'fulfill', fulfillment: Buffer.alloc(32), data: Buffer.alloc(0) }))
      )
    ).toBe('packet')
  })

  it.each<[string, Partial<Prepare>]>([
    ['amount', { amount: -1n }],
    ['amount', { amount: UINT64_MAX + 1n }],
    ['expiresAt', { expiresAtMs: 0 }],
    ['expiresAt', { expiresAtMs: NaN }],
    ['expiresAt', { expiresAtMs: Date.UTC(10_000, 0) }],
    ['executionCondition', { executionCondition: Buffer.alloc(31) }],
    ['destination', { destination: 'nowhere.alice' }],
    ['destination', { destination: '' }],
    ['destination', { destination: `g.${'a'.repeat(1022)}` }]
  ])('a Prepare with a wrong %s is not written: %p', (field, wrong) => {
    expect(refused(() => encodePrepare({ ...PREPARE, ...wrong }))).toBe(field)
  })

  it('an answer with a wrong field is not written', () => {
    const data = Buffer.alloc(0)
    const wrong = { type: 'reject', code: 'F0', triggeredBy: 'g.us', message: '', data } as const
    expect(refused(() => encodeReply(wrong))).toBe('code')
    expect(refused(() => encodeReply({ ...wrong, code: 'F00', triggeredBy: 'us' }))).toBe('triggeredBy')
    expect(refused(() => encodeReply({ type: 'fulfill', fulfillment: Buffer.alloc(33), data }))).toBe(
      'fulfillment'
    )
  })

  it.each([
    ['\0\0\0', '???'],
    ['F0\0', 'F0?'],
    ['F0\n', 'F0?']
  ])('a Reject with the code %j is read as one with %j', (code, read) => {
    const bytes = serializeIlpReject({ code, triggeredBy: '', message: '', data: Buffer.alloc(0) })
    expect(decodeReply(bytes)).toMatchObject({ type: 'reject', code: read })
  })

  it('how much too large a packet is round-trips; contradictions and too few bytes say nothing', () => {
    const told = { receivedValue: UINT64_MAX, maximumValue: 5n }
    expect(decodeAmountTooLarge(encodeAmountTooLarge(told))).toEqual(told)
    expect(
      decodeAmountTooLarge(encodeAmountTooLarge({ receivedValue: 5n, maximumValue: 5n }))
    ).toBeUndefined()
    expect(decodeAmountTooLarge(Buffer.alloc(15))).toBeUndefined()
  })
})

describe('addresses', () => {
  it.each(['g.us.alice', 'test.a~b_C-9', 'private.x', `g.${'a'.repeat(1021)}`])('%s is one', (address) => {
    expect(isIlpAddress(address)).toBe(true)
  })

  it.each(['', 'g', 'g.', '.g', 'g..a', 'g.a.', 'h.a', 'g.ä', 'g.a b', 'g.a\n', `g.${'a'.repeat(1022)}`])(
    '%j is none',
    (address) => {
      expect(isIlpAddress(address)).toBe(false)
    }
  )
})
