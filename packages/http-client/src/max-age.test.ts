import { describe, expect, it } from '@jest/globals'
import { maxAgeSeconds } from './max-age.js'

describe('the freshness of an answer', () => {
  it.each([
    ['max-age=60', undefined, 60],
    ['max-age=0', undefined, 0],
    ['public, Max-Age=300, must-revalidate', undefined, 300],
    ['max-age="30"', undefined, 30],
    ['max-age=60', '20', 40],
    ['max-age=60', '90', 0],
    ['max-age=60', 'soon', 60],
    ['max-age=99999999999', undefined, 2 ** 31]
  ])('follows Cache-Control %p and Age %p: %p', (cacheControl, age, seconds) => {
    const headers = { 'cache-control': cacheControl, ...(age === undefined ? {} : { age }) }
    expect(maxAgeSeconds(headers)).toBe(seconds)
  })

  it.each(['no-store', 'no-cache', 'no-cache="set-cookie", max-age=60', 'max-age=60, no-store'])(
    'is not at all for %p',
    (cacheControl) => {
      expect(maxAgeSeconds({ 'cache-control': cacheControl })).toBe(0)
    }
  )

  it.each(['max-age=60, max-age=600', 'max-age', 'max-age=', 'max-age=-1', 'max-age=1.5', 'max-age=one'])(
    'is not at all for %p, which is not to be trusted',
    (cacheControl) => {
      expect(maxAgeSeconds({ 'cache-control': cacheControl })).toBe(0)
    }
  )

  it('is unknown without cache headers', () => {
    expect(maxAgeSeconds({})).toBeUndefined()
    expect(maxAgeSeconds({ 'cache-control': 'public, s-maxage=60' })).toBeUndefined()
  })
})
