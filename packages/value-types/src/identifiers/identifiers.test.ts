import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { hashSecret, isUuid, newId, randomSecret, uuidV7, uuidV8 } from './index.js'

const RANDOM = { bytes: randomBytes }

describe('identifiers', () => {
  it('are UUIDs version 7 that carry their time', () => {
    const id = uuidV7(Date.UTC(2026, 0, 1), Buffer.alloc(10, 0xff))
    expect(id).toBe('019b76da-a800-7fff-bfff-ffffffffffff')
    expect(isUuid(id)).toBe(true)
  })

  it('are the same for the same time and entropy, and sort by time', () => {
    const entropy = RANDOM.bytes(10)
    expect(uuidV7(1000, entropy)).toBe(uuidV7(1000, entropy))
    expect(uuidV7(1000, Buffer.alloc(10, 0xff)) < uuidV7(1001, Buffer.alloc(10))).toBe(true)
  })

  it('may be derived from a hash, deterministically', () => {
    const id = uuidV8(Buffer.alloc(32, 0xff))
    expect(id).toBe('ffffffff-ffff-8fff-bfff-ffffffffffff')
    expect(isUuid(id)).toBe(true)
  })

  it('need enough entropy', () => {
    expect(() => uuidV7(1000, Buffer.alloc(9))).toThrow(RangeError)
    expect(() => uuidV8(Buffer.alloc(15))).toThrow(RangeError)
  })

  it('do not repeat', () => {
    const ids = Array.from({ length: 1000 }, () => newId({ now: Date.now }, RANDOM))
    expect(new Set(ids).size).toBe(1000)
  })

  it.each([
    '',
    'x',
    '019B7683-5C00-7FFF-BFFF-FFFFFFFFFFFF',
    '019b76835c007fffbfffffffffffffff',
    '019b7683-5c00-7fff-bfff-ffffffffffff '
  ])('are recognised only in their canonical form: %j is none', (text) => {
    expect(isUuid(text)).toBe(false)
  })

  it('secrets hold 256 bits and are kept as their hash', () => {
    const secret = randomSecret(RANDOM)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    expect(hashSecret(secret)).toHaveLength(32)
    expect(hashSecret(secret)).not.toEqual(hashSecret(randomSecret(RANDOM)))
  })
})
