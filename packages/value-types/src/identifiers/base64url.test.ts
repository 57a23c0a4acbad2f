import { describe, expect, it } from '@jest/globals'
import { readBase64url } from './base64url.js'

describe('bytes in base64url', () => {
  it('are read in their canonical form', () => {
    expect(readBase64url('__8', 2)).toEqual(Buffer.from('ffff', 'hex'))
  })

  it.each([
    ['of another length', '__8', 3],
    ['with padding', '__8=', 2],
    ['in base64', '//8', 2],
    ['with bits that mean nothing', '__9', 2],
    ['with other characters', '_ _8', 2]
  ])('are not read %s', (_what, text, length) => {
    expect(readBase64url(text, length)).toBeUndefined()
  })
})
