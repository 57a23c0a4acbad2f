import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createPaymentAddresses, isIlpAddress, type PaymentAddresses } from '../src/index.js'
import { streamKeys } from '../src/stream-keys.js'
import * as arbitrary from './support/arbitraries.js'

const PAYMENT_ID = '0190a0b0-c0d0-7000-8000-00000000000a'
const TARGET = { paymentId: PAYMENT_ID, asset: { code: 'USD', scale: 2 } }
const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const

const addressesWith = (...secrets: readonly [Buffer, ...Buffer[]]): PaymentAddresses =>
  createPaymentAddresses({ ilpAddress: 'test.us', secrets })

describe('addresses of payments', () => {
  it('contain their payment and asset, whatever these are', () => {
    const target = fc.record({
      paymentId: fc.uuid(),
      asset: fc.record({
        code: fc.stringMatching(/^[\x21-\x7e]{1,32}$/),
        scale: fc.integer({ min: 0, max: 255 })
      })
    })
    const longest = `g.${'a'.repeat(886)}`
    const addresses = createPaymentAddresses({ ilpAddress: longest, secrets: [NEW] })
    fc.assert(
      fc.property(target, (wanted) => {
        const { ilpAddress, sharedSecret } = addresses.issue(wanted)
        expect(isIlpAddress(ilpAddress)).toBe(true)
        expect(sharedSecret).toHaveLength(32)
        expect(addresses.resolve(ilpAddress)).toEqual({
          outcome: 'payment',
          target: wanted,
          keys: streamKeys(sharedSecret)
        })
        expect(addresses.resolve(`${ilpAddress}.more`)).toEqual(addresses.resolve(ilpAddress))
      })
    )
  })

  it('are the same each time, others for each payment and secret, and tell nothing', () => {
    const addresses = addressesWith(NEW)
    const one = addresses.issue(TARGET)
    expect(addresses.issue(TARGET)).toEqual(one)
    for (const another of [
      addresses.issue({ ...TARGET, paymentId: PAYMENT_ID.replace('a', 'b') }),
      addressesWith(OLD).issue(TARGET)
    ]) {
      expect(another.ilpAddress).not.toBe(one.ilpAddress)
      expect(another.sharedSecret).not.toEqual(one.sharedSecret)
    }
    expect(Buffer.from(one.ilpAddress.slice('test.us.'.length), 'base64url').includes('USD')).toBe(false)
  })

  it('stay valid while secrets are rotated, in each step and on replicas that are a step behind', () => {
    const steps: (readonly [Buffer, ...Buffer[]])[] = [[OLD], [OLD, NEW], [NEW, OLD]]
    steps.forEach((earlier, index) => {
      for (const later of steps.slice(Math.max(0, index - 1), index + 2)) {
        const issued = addressesWith(...earlier).issue(TARGET)
        expect(addressesWith(...later).resolve(issued.ilpAddress)).toEqual({
          outcome: 'payment',
          target: TARGET,
          keys: streamKeys(issued.sharedSecret)
        })
      }
    })
    const { ilpAddress } = addressesWith(OLD).issue(TARGET)
    expect(addressesWith(NEW).resolve(ilpAddress)).toEqual({ outcome: 'unknown' })
  })

  it('cannot be made up or changed', () => {
    const addresses = addressesWith(NEW, OLD)
    const { ilpAddress } = addresses.issue(TARGET)
    const token = Buffer.from(ilpAddress.slice('test.us.'.length), 'base64url')
    for (let index = 0; index < token.length; index++) {
      const changed = Buffer.from(token)
      changed.writeUInt8(changed.readUInt8(index) ^ 0x10, index)
      expect(addresses.resolve(`test.us.${changed.toString('base64url')}`)).toEqual({ outcome: 'unknown' })
    }
    fc.assert(
      fc.property(arbitrary.ilpAddress, (address) => {
        expect(addresses.resolve(address).outcome).toBe('elsewhere')
        expect(addresses.resolve(`test.us.${address}`).outcome).toBe('unknown')
      })
    )
  })

  it.each<[string, string, Buffer]>([
    ['ilpAddress', 'us', NEW],
    ['ilpAddress', `g.${'a'.repeat(930)}`, NEW],
    ['secrets', 'test.us', Buffer.alloc(31)]
  ])('are not made with a wrong %s', (field, ilpAddress, secret) => {
    expect(() => createPaymentAddresses({ ilpAddress, secrets: [secret] })).toThrow(field)
  })

  it('are made for UUIDs only', () => {
    expect(() => addressesWith(NEW).issue({ ...TARGET, paymentId: 'x' })).toThrow('paymentId')
  })
})
