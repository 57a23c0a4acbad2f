import { describe, expect, it } from '@jest/globals'
import { isLocalPath } from './session.js'

describe('a path on this site', () => {
  it.each(['/', '/consent?interactId=a&nonce=b', '/a/b#c'])('is %s', (text) => {
    expect(isLocalPath(text)).toBe(true)
  })

  it.each([
    '',
    'a',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/a\nb',
    'https://evil.example',
    '/ü'
  ])('is not %j', (text) => {
    expect(isLocalPath(text)).toBe(false)
  })
})
