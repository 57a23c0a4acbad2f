import { describe, expect, it } from '@jest/globals'
import { drawAhead } from './random.js'

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

  it('are not shared with later draws', () => {
    const { random, draws } = countingSource()
    const first = random.bytes(32)
    const copy = Buffer.from(first)
    random.bytes(32)
    expect(first).toEqual(copy)
    expect(draws[0]?.subarray(0, 64)).toEqual(Buffer.alloc(64))
  })

  it('are refilled when too few are left, and drawn directly when many are requested', () => {
    const { random, draws } = countingSource()
    random.bytes(4_090)
    expect(random.bytes(10)).toEqual(Buffer.from(Array.from({ length: 10 }, (_, index) => index + 1)))
    expect(draws).toHaveLength(2)
    expect(random.bytes(5_000)).toHaveLength(5_000)
  })
})
