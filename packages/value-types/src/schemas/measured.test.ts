import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { measuredList, measuredText } from './measured.js'

/** What has a length that cannot be compared, and could come in any JSON. */
const IMMEASURABLE: unknown = JSON.parse('{ "length": { "toString": 0 } }')

describe('a schema with a length limit', () => {
  it('refuses other types, even with a length property', () => {
    expect(measuredText(z.string().min(1).max(2)).safeParse(IMMEASURABLE).success).toBe(false)
    expect(measuredList(z.array(z.string()).min(1).max(2)).safeParse(IMMEASURABLE).success).toBe(false)
    expect(measuredText(z.string(), 'must be a text').safeParse(IMMEASURABLE).error?.issues).toMatchObject([
      { message: 'must be a text' }
    ])
  })

  it('is within them', () => {
    const text = measuredText(z.string().min(1).max(2))
    expect(['', 'a', 'ab', 'abc'].map((value) => text.safeParse(value).success)).toEqual([
      false,
      true,
      true,
      false
    ])
    const list = measuredList(z.array(z.string()).min(1).max(2))
    expect([[], ['a'], ['a', 'b', 'c']].map((value) => list.safeParse(value).success)).toEqual([
      false,
      true,
      false
    ])
    expect(list.safeParse([1]).success).toBe(false)
  })
})
