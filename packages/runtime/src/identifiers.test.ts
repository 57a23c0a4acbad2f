import { describe, expect, it } from '@jest/globals'
import { drawAhead } from './identifiers.js'
import {
  hashSecret,
  isUuid,
  newId,
  randomSecret,
  systemClock,
  systemRandom,
  uuidV7,
  uuidV8
} from './index.js'

describe('random bytes that are drawn ahead', () => {
  const countingSource = () => {
    const draws: Buffer[] = []
    const random = drawAhead((length) => {
      const drawn = Buffer.from(Array.from({ length }, (_, index) => (index + draws.length) % 251))
      draws.push(drawn)
      return drawn
    })
    return { random, draws }
  }

  it('are handed out once each, in their order', () => {
    const { random, draws } = countingSource()
    const taken = [10, 32, 16].map((length) => random.bytes(length))
    expect(Buffer.concat(taken)).toEqual(Buffer.from(Array.from({ length: 58 }, (_, index) => index)))
    expect(draws).toHaveLength(1)
  })

  it('are kept nowhere else, and change with nothing that is drawn later', () => {
    const { random, draws } = countingSource()
    const first = random.bytes(32)
    const copy = Buffer.from(first)
    random.bytes(32)
    expect(first).toEqual(copy)
    expect(draws[0]?.subarray(0, 64)).toEqual(Buffer.alloc(64))
  })

  it('are drawn anew when what is left is too little, and as many as are asked for when that is much', () => {
    const { random, draws } = countingSource()
    random.bytes(4_090)
    expect(random.bytes(10)).toEqual(Buffer.from(Array.from({ length: 10 }, (_, index) => index + 1)))
    expect(draws).toHaveLength(2)
    expect(random.bytes(5_000)).toHaveLength(5_000)
  })
})

describe('identifiers', () => {
  it('are UUIDs version 7 that carry their time', () => {
    const id = uuidV7(Date.UTC(2026, 0, 1), Buffer.alloc(10, 0xff))
    expect(id).toBe('019b76da-a800-7fff-bfff-ffffffffffff')
    expect(isUuid(id)).toBe(true)
  })

  it('are the same for the same time and entropy, and sort by time', () => {
    const entropy = systemRandom.bytes(10)
    expect(uuidV7(1000, entropy)).toBe(uuidV7(1000, entropy))
    expect(uuidV7(1000, Buffer.alloc(10, 0xff)) < uuidV7(1001, Buffer.alloc(10))).toBe(true)
  })

  it('may be derived from a hash, and are then the same for the same hash', () => {
    const id = uuidV8(Buffer.alloc(32, 0xff))
    expect(id).toBe('ffffffff-ffff-8fff-bfff-ffffffffffff')
    expect(isUuid(id)).toBe(true)
  })

  it('need enough entropy', () => {
    expect(() => uuidV7(1000, Buffer.alloc(9))).toThrow(RangeError)
    expect(() => uuidV8(Buffer.alloc(15))).toThrow(RangeError)
  })

  it('do not repeat', () => {
    const ids = Array.from({ length: 1000 }, () => newId(systemClock, systemRandom))
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
    const secret = randomSecret(systemRandom)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    expect(hashSecret(secret)).toHaveLength(32)
    expect(hashSecret(secret)).not.toEqual(hashSecret(randomSecret(systemRandom)))
  })
})
