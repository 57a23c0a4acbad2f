import { describe, expect, it } from '@jest/globals'
import { Refusal } from '@open-payments-server/value-types/refusals'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { identifyPayment, readIdempotencyKey } from './payment-identity.js'

const target = { method: 'POST', path: '/outgoing-payments' }
const request = {
  client: 'https://shop.example/wallet',
  body: Buffer.from('{"a":1}'),
  signature: { createdSeconds: 1_800_000_000, bytes: Buffer.alloc(64, 7) }
}
const identify = (change: Partial<typeof request> = {}, key?: string) =>
  identifyPayment({ ...request, ...change }, key, target)

describe('the identity of a request to create a payment', () => {
  it('is the same for the very same signed request, and for no other', () => {
    expect(identify()).toEqual(identify())
    const others = [
      identify({ signature: { createdSeconds: 1_800_000_000, bytes: Buffer.alloc(64, 8) } }),
      identify({ signature: { createdSeconds: 1_800_000_001, bytes: Buffer.alloc(64, 7) } })
    ]
    for (const other of others) expect(other.paymentIds).not.toEqual(identify().paymentIds)
  })

  it('has ids that sort by the time of the signature', () => {
    const later = identify({ signature: { ...request.signature, createdSeconds: 1_800_000_001 } })
    expect(later.paymentIds[0] > identify().paymentIds[0]).toBe(true)
  })

  it('is that of its key where it has one, whenever it is signed', () => {
    const signature = { createdSeconds: 1_800_000_100, bytes: Buffer.alloc(64, 9) }
    const [first, later] = [identify({}, 'order-1'), identify({ signature }, 'order-1')]
    expect(later.paymentIds).toEqual(first.paymentIds)
    expect(later.signatureId).not.toBe(first.signatureId)
    expect(identify({}, 'order-2').paymentIds).not.toEqual(first.paymentIds)
    expect(identify({ client: 'https://other.example' }, 'order-1').paymentIds).not.toEqual(first.paymentIds)
  })

  it('keeps the id of its signature, whatever key it came with', () => {
    expect(identify({}, 'order-1').signatureId).toBe(identify().signatureId)
    expect(identify().signatureId).toBe(identify().paymentIds[0])
  })

  it('offers further ids, all different', () => {
    const ids = [...identify().paymentIds, ...identify({}, 'order-1').paymentIds]
    expect(new Set(ids).size).toBe(8)
    expect(ids.every(isUuid)).toBe(true)
  })

  it('knows another body by its hash', () => {
    expect(identify({ body: Buffer.from('{"a":2}') }).requestHash).not.toEqual(identify().requestHash)
  })
})

describe('an Idempotency-Key', () => {
  it.each(['a', 'order-1', '!~', 'x'.repeat(255)])('may be %j', (key) => {
    expect(readIdempotencyKey(key)).toBe(key)
  })

  it.each(['', ' ', 'a b', 'a\tb', 'é', 'x'.repeat(256)])('may not be %j', (key) => {
    expect(() => readIdempotencyKey(key)).toThrow(Refusal)
  })
})
