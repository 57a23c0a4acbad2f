import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  type HttpRequestParts,
  type ReceivedSignature,
  SignatureError,
  verifyContentDigest,
  verifySignature
} from '../src/index.js'
import { componentValue } from '../src/components.js'
import { signRequest } from '../src/sign.js'
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
        parameterOrder: ['created', 'keyid'],
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

describe('the other examples of RFC 9421 (Appendix B.2), signed with algorithms that this profile does not take,', () => {
  const base = (input: string): string =>
    signatureBase(
      request,
      readSignatureHeaders(
        withHeaders(request, {
          'signature-input': input,
          signature: vector.signature.replace('sig-b26', 'sig')
        })
      )
    )

  it('have the signature bases that the RFC prints (B.2.1, B.2.3)', () => {
    const minimal = '();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"'
    expect(base(`sig=${minimal}`)).toBe(`"@signature-params": ${minimal}`)
    const full =
      '("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"'
    expect(base(`sig=${full}`)).toBe(
      [
        '"date": Tue, 20 Apr 2021 02:07:55 GMT',
        '"@method": POST',
        '"@path": /foo',
        '"@query": ?param=Value&Pet=dog',
        '"@authority": example.com',
        '"content-type": application/json',
        `"content-digest": ${String(request.headers['content-digest'])}`,
        '"content-length": 18',
        `"@signature-params": ${full}`
      ].join('\n')
    )
  })

  it('have the signature base under which the RFC’s HMAC fits (B.2.5)', () => {
    const sharedSecret = Buffer.from(
      'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==',
      'base64'
    )
    const input = 'sig=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"'
    expect(createHmac('sha256', sharedSecret).update(base(input)).digest('base64')).toBe(
      'pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8='
    )
  })
})

describe('the message that is transformed on its way (RFC 9421 Appendix B.4)', () => {
  const message: HttpRequestParts = {
    method: 'GET',
    targetUri: 'https://example.org/demo?name1=Value1&Name2=value2',
    headers: {
      host: 'example.org',
      date: 'Fri, 15 Jul 2022 14:24:55 GMT',
      accept: ['application/json', '*/*'],
      'signature-input':
        'transform=("@method" "@path" "@authority" "accept");created=1618884473;keyid="test-key-ed25519"',
      signature:
        'transform=:ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA==:'
    },
    body: undefined
  }

  /** Whether the signature is that of a message. */
  function verifies(transformed: HttpRequestParts): boolean {
    const headers = readSignatureHeaders(transformed)
    const received = receivedVector(signatureBase(transformed, headers))
    try {
      verifySignature(
        { ...received, signature: headers.signature },
        { kid: 'test-key-ed25519', publicKey: rfcPublicKey }
      )
      return true
    } catch (error) {
      expect(error).toMatchObject({ reason: 'mismatch' })
      return false
    }
  }

  it.each<[string, HttpRequestParts]>([
    ['as it was signed', message],
    [
      'with another query and a header more',
      {
        ...withHeaders(message, { 'accept-language': 'en-US,en;q=0.5' }),
        targetUri: 'https://example.org/demo?name1=Value1&Name2=value2&param=added'
      }
    ],
    [
      'without its date, with a referrer, and with its values joined',
      withHeaders(message, {
        date: undefined,
        referer: 'https://developer.example.org/demo',
        accept: 'application/json, */*'
      })
    ],
    [
      'with white space around its values and its headers in another order',
      withHeaders(message, { accept: ['  application/json', '*/*  '] })
    ]
  ])('verifies %s', (_what, transformed) => {
    expect(verifies(transformed)).toBe(true)
  })

  it.each<[string, HttpRequestParts]>([
    ['the method', { ...message, method: 'POST' }],
    ['the authority', { ...message, targetUri: 'https://example.com/demo?name1=Value1&Name2=value2' }],
    ['the path', { ...message, targetUri: 'https://example.org/other?name1=Value1&Name2=value2' }],
    ['the order of values', withHeaders(message, { accept: ['*/*', 'application/json'] })]
  ])('does not verify with %s changed', (_what, transformed) => {
    expect(verifies(transformed)).toBe(false)
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
