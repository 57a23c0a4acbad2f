import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { resultOf } from '../test/fixtures.js'
import { contentDigest, verifyContentDigest } from './index.js'

const body = Buffer.from('{"hello": "world"}\n')
// RFC 9530 Appendix D and §2 use this body.
const sha256 = 'sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:'

/** Checks a body; answers what was checked. */
function checked(header: string, bytes: Uint8Array): Uint8Array {
  verifyContentDigest(header, bytes)
  return bytes
}

describe('the digest of a body', () => {
  it('matches RFC 9530', () => {
    expect(contentDigest(body, 'sha-256')).toBe(sha256)
    expect(contentDigest(body, 'sha-512')).toBe(
      'sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:'
    )
  })

  it('matches RFC 9421 for the same text without its line end (Appendix B.2)', () => {
    const text = Buffer.from('{"hello": "world"}')
    expect(contentDigest(text, 'sha-256')).toBe('sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:')
    expect(contentDigest(text, 'sha-512')).toBe(
      'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:'
    )
  })

  it('of an empty body is the digest of no bytes', () => {
    expect(contentDigest(new Uint8Array(), 'sha-256')).toBe(
      'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'
    )
  })

  it('is SHA-512 unless asked otherwise', () => {
    expect(contentDigest(body)).toMatch(/^sha-512=:[A-Za-z0-9+/]{86}==:$/)
  })

  it.each([
    ['sha-256 alone', sha256],
    ['sha-512 alone', contentDigest(body)],
    ['both', `${sha256}, ${contentDigest(body)}`],
    ['one it knows and one it does not', `${sha256}, md5=:AAAA:, unixsum=5`]
  ])('is accepted with %s', (_what, header) => {
    expect(resultOf(() => checked(header, body))).toBe('accepted')
  })

  it.each([
    ['the other body', contentDigest(Buffer.from('{"hello": "world"}'))],
    ['one right and one wrong', `${sha256}, ${contentDigest(Buffer.from('other'))}`],
    ['one wrong and one right', `${contentDigest(Buffer.from('other'), 'sha-256')}, ${contentDigest(body)}`],
    ['the digest under another name', sha256.replace('sha-256', 'sha-512')],
    ['only algorithms it does not know', 'md5=:AAAA:'],
    ['an upper-case name', sha256.replace('sha-256', 'SHA-256')],
    ['a string instead of bytes', sha256.replace(/:/g, '"')],
    ['a list instead of bytes', 'sha-256=(:AAAA:)'],
    ['no value', 'sha-256'],
    ['no bytes', 'sha-256=::'],
    ['half the bytes', `sha-256=:${Buffer.alloc(16).toString('base64')}:`],
    ['nothing', ''],
    ['no dictionary', '=:AAAA:'],
    ['too much', `${sha256}, ${'x'.repeat(1_100)}`]
  ])('is refused with %s', (_what, header) => {
    expect(resultOf(() => checked(header, body))).toBe('digest')
  })

  it('accepts every body with its own digest and refuses it with any byte changed', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1 }),
        fc.nat(),
        fc.constantFrom('sha-256', 'sha-512'),
        (bytes, at, algorithm) => {
          const header = contentDigest(bytes, algorithm)
          expect(resultOf(() => checked(header, bytes))).toBe('accepted')
          const changed = Uint8Array.from(bytes)
          changed[at % bytes.length] = (changed[at % bytes.length] ?? 0) ^ 1
          expect(resultOf(() => checked(header, changed))).toBe('digest')
        }
      )
    )
  })
})
