import { describe, expect, it } from '@jest/globals'
import { METADATA_BYTES_MAX, metadataSchema } from './request-schemas.js'

function isMetadata(value: unknown): boolean {
  return metadataSchema.safeParse(value).success
}

describe('metadata', () => {
  it('is any JSON object, and comes out as it went in', () => {
    const metadata = { order: 17, rate: 1e-7, distance: 1e30, parts: [{ name: 'é' }, null, true], none: {} }
    expect(metadataSchema.parse(metadata)).toEqual(metadata)
    expect([[], 'text', 1, null].map(isMetadata)).toEqual([false, false, false, false])
  })

  it('has an end, to the byte', () => {
    const text = (bytes: number): object => ({ note: 'x'.repeat(bytes - '{"note":""}'.length) })
    expect(isMetadata(text(METADATA_BYTES_MAX))).toBe(true)
    expect(isMetadata(text(METADATA_BYTES_MAX + 1))).toBe(false)
  })

  it.each([1e308, -1e308, 5e-324])(
    'is measured with numbers such as %p written out, as it is kept',
    (number) => {
      const numbers = (count: number): object => ({ list: Array.from({ length: count }, () => number) })
      expect(isMetadata(numbers(20))).toBe(true)
      expect(isMetadata(numbers(60))).toBe(false)
    }
  )
})
