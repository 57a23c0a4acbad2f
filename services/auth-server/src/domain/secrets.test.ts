import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { describe, expect, it } from '@jest/globals'
import { isSameSecret, matchesHash, parseGnapToken } from './secrets.js'

describe('the authorization header', () => {
  it.each([
    ['GNAP abc-_.~+/123=', 'abc-_.~+/123='],
    ['gnap abc', 'abc'],
    ['Gnap   abc', 'abc'],
    ['GNAP', undefined],
    ['GNAP ', undefined],
    ['GNAP a b', undefined],
    ['GNAP a,b', undefined],
    ['Bearer abc', undefined],
    ['GNAPabc', undefined],
    [`GNAP ${'a'.repeat(513)}`, undefined],
    [undefined, undefined]
  ])('%s carries the token %s', (header, expected) => {
    expect(parseGnapToken(header)).toBe(expected)
  })
})

describe('a secret', () => {
  it('is recognised by its hash, and by itself, whatever the lengths', () => {
    expect(matchesHash('secret', hashSecret('secret'))).toBe(true)
    expect(matchesHash('secret', hashSecret('other'))).toBe(false)
    expect(matchesHash('secret', Buffer.alloc(0))).toBe(false)
    expect(isSameSecret('secret', 'secret')).toBe(true)
    expect(isSameSecret('secret', 'secret ')).toBe(false)
  })
})
