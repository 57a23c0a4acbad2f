import { describe, expect, it } from '@jest/globals'
import {
  type HttpRequestParts,
  type ReceivedSignature,
  SignatureError,
  signRequest,
  verifyContentDigest,
  verifySignature
} from '../src/index.js'
import { componentValue } from '../src/components.js'
import { signatureBase } from '../src/signature-base.js'
import { readSignatureHeaders } from '../src/signature-headers.js'
import { rfcPrivateKey, rfcPublicKey, withHeaders } from './fixtures.js'

/** `test-request` of RFC 9421 Appendix B.2. */
const request: HttpRequestParts = {
  method: 'POST',
  targetUri: 'https://example.com/foo?param=Value&Pet=dog',
  headers: {
    host: 'example.com',
    date: 'Tue, 20 Apr 2021 02:07:55 GMT',
    'content-type': 'application/json',
    'content-digest':
      'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:',
    'content-length': '18'
  },
  body: Buffer.from('{"hello": "world"}')
}

/** RFC 9421 Appendix B.2.6, with the RFC's line folding taken out. */
const vector = {
  input:
    'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
  signature:
    'sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:',
  base: [
    '"date": Tue, 20 Apr 2021 02:07:55 GMT',
    '"@method": POST',
    '"@path": /foo',
    '"@authority": example.com',
    '"content-type": application/json',
    '"content-length": 18',
    '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"'
  ].join('\n')
}
const signedRequest = withHeaders(request, { 'signature-input': vector.input, signature: vector.signature })

function receivedVector(base: string): ReceivedSignature {
  const { label, signature } = readSignatureHeaders(signedRequest)
  return {
    label,
    keyId: 'test-key-ed25519',
    createdSeconds: 1618884473,
    expiresSeconds: undefined,
    nonce: undefined,
    tag: undefined,
    signature,
    base
  }
}

describe('the Ed25519 example of RFC 9421 (Appendix B.2.6)', () => {
  it('has the signature base that the RFC prints', () => {
    expect(signatureBase(signedRequest, readSignatureHeaders(signedRequest))).toBe(vector.base)
  })

  it('verifies with the key of the RFC', () => {
    const key = { kid: 'test-key-ed25519', publicKey: rfcPublicKey }
    expect(() => {
      verifySignature(receivedVector(vector.base), key)
    }).not.toThrow()
    expect(() => {
      verifySignature(receivedVector(vector.base.replace('/foo', '/fop')), key)
    }).toThrow(SignatureError)
  })

  it('is produced by signing, bit for bit', () => {
    expect(
      signRequest(request, {
        privateKey: rfcPrivateKey,
        keyId: 'test-key-ed25519',
        createdSeconds: 1618884473,
        label: 'sig-b26',
        components: ['date', '@method', '@path', '@authority', 'content-type', 'content-length']
      })
    ).toEqual({
      'signature-input': vector.input,
      signature: vector.signature,
      'content-digest': request.headers['content-digest']
    })
  })

  it('has a body that matches its digest (RFC 9530)', () => {
    expect(() => {
      verifyContentDigest(String(request.headers['content-digest']), request.body ?? new Uint8Array())
    }).not.toThrow()
  })
})

describe('component values (RFC 9421 §2)', () => {
  const at = (targetUri: string, name: string): string => componentValue({ ...request, targetUri }, name)

  it.each([
    ['@method', 'https://example.com/', 'POST'],
    ['@target-uri', 'https://Example.com:443/a/../b?q', 'https://Example.com:443/a/../b?q'],
    ['@authority', 'https://EXAMPLE.com:443/', 'example.com'],
    ['@authority', 'http://example.com:80/', 'example.com'],
    ['@authority', 'https://example.com:80/', 'example.com:80'],
    ['@authority', 'http://[::1]:4000/', '[::1]:4000'],
    ['@scheme', 'HTTP://example.com/', 'http'],
    ['@path', 'https://example.com', '/'],
    ['@path', 'https://example.com/a/../b%2f?x', '/a/../b%2f'],
    ['@query', 'https://example.com/a', '?'],
    ['@query', 'https://example.com/a?', '?'],
    ['@query', 'https://example.com/a?x=%20y&z', '?x=%20y&z'],
    ['@request-target', 'https://example.com/a?x=1', '/a?x=1'],
    ['@request-target', 'https://example.com?x', '/?x']
  ])('%s of %s is %s', (name, targetUri, value) => {
    expect(at(targetUri, name)).toBe(value)
  })

  it('combine repeated fields, trimmed, with a comma and a space', () => {
    const repeated = withHeaders(request, { 'x-list': ['  a ', 'b,  c', '\td\t', ''], 'x-empty': '' })
    expect(componentValue(repeated, 'x-list')).toBe('a, b,  c, d, ')
    expect(componentValue(repeated, 'x-empty')).toBe('')
  })

  it('keep the white space inside a value, and drop what is around it', () => {
    const inside = `a${' \t'.repeat(100)}b`
    expect(componentValue(withHeaders(request, { 'x-wide': ` \t${inside}\t ` }), 'x-wide')).toBe(inside)
    expect(componentValue(withHeaders(request, { 'x-blank': ' \t ' }), 'x-blank')).toBe('')
  })

  it('replace obsolete line folding by a space', () => {
    expect(componentValue(withHeaders(request, { 'x-folded': 'a\r\n   b \n\tc' }), 'x-folded')).toBe('a b c')
  })

  it.each(['a\nb', 'a\n"@method": GET', 'a\rb', 'a\u0000', 'é', '\u2028', '\u007f'])(
    'refuse %j, which could pass for something else in the base',
    (value) => {
      expect(() => componentValue(withHeaders(request, { 'x-odd': value }), 'x-odd')).toThrow(
        expect.objectContaining({ reason: 'malformed' })
      )
    }
  )

  it('refuse a target URI that is not absolute where its parts are asked for', () => {
    expect(() => at('/foo', '@path')).toThrow(expect.objectContaining({ reason: 'malformed' }))
  })
})
