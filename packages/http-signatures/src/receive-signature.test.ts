import { describe, expect, it } from '@jest/globals'
import { generateKeyPairSync } from 'node:crypto'
import {
  accept,
  client,
  creation,
  nowMs,
  nowSeconds,
  resultOf,
  reading,
  receive,
  signed,
  verified,
  withHeaders
} from '../test/fixtures.js'
import {
  contentDigest,
  DEFAULT_POLICY,
  type HttpRequestParts,
  receiveSignature,
  SignatureError,
  verifySignature
} from './index.js'

const LENIENT = {
  ageMaxSeconds: 1e9,
  futureMaxSeconds: 1e9,
  tagRequired: false,
  authorizationRequired: false,
  releasedClientForms: true
}

/** A signed reading whose `signature-input` is edited afterwards. */
function edited(edit: (input: string) => string, request = signed(reading)): HttpRequestParts {
  return withHeaders(request, { 'signature-input': edit(String(request.headers['signature-input'])) })
}

describe('a signed request', () => {
  it('is accepted, with and without a body', () => {
    expect(resultOf(() => accept(signed(creation)))).toBe('accepted')
    expect(resultOf(() => accept(signed(reading)))).toBe('accepted')
    expect(resultOf(() => accept(signed({ ...reading, body: new Uint8Array() })))).toBe('accepted')
  })

  it('exposes the parameters of its signature', () => {
    const options = {
      label: 'gnap-1',
      nonce: 'n-0S6',
      tag: 'gnap',
      expiresSeconds: nowSeconds + 60,
      includeAlg: true
    }
    expect(receive(signed(reading, options))).toMatchObject({
      label: 'gnap-1',
      keyId: client.kid,
      createdSeconds: nowSeconds,
      expiresSeconds: nowSeconds + 60,
      nonce: 'n-0S6',
      tag: 'gnap',
      base: [
        '"@method": GET',
        '"@target-uri": https://wallet.example/incoming-payments/1',
        '"authorization": GNAP 8aXc0token',
        '"@signature-params": ("@method" "@target-uri" "authorization");keyid="client-key";created=1767225600;expires=1767225660;nonce="n-0S6";alg="ed25519";tag="gnap"'
      ].join('\n')
    })
  })

  it('has no nonce, tag or expiry unless it says so', () => {
    expect(receive(signed(reading))).toMatchObject({
      nonce: undefined,
      tag: undefined,
      expiresSeconds: undefined
    })
  })

  it('may cover more components, in any order, with any white space between parameters', () => {
    const components = [
      'content-type',
      '@query',
      '@authority',
      'content-digest',
      'authorization',
      '@target-uri',
      '@method'
    ]
    const request = signed(creation, { components })
    expect(resultOf(() => accept(request))).toBe('accepted')
    expect(
      resultOf(() =>
        accept(edited((input) => input.replace(';keyid', ';  keyid').replace('(', '(  '), request))
      )
    ).toBe('accepted')
  })

  it('may have unknown parameters, which are then covered by the signature', () => {
    const request = edited((input) => `${input};ext="x"`)
    expect(resultOf(() => receive(request))).toBe('accepted')
    expect(resultOf(() => accept(request))).toBe('mismatch')
  })
})

describe('a request is refused as', () => {
  it.each(['signature', 'signature-input'])('missing, when it has no %s header', (name) => {
    for (const value of [undefined, '', '  ', []]) {
      expect(resultOf(() => receive(withHeaders(signed(reading), { [name]: value })))).toBe('missing')
    }
    expect(resultOf(() => receive(reading))).toBe('missing')
  })

  it('several, when it carries two signatures under two labels, however they are written', () => {
    const one = signed(reading)
    const two = signed(reading, { label: 'sig2' })
    const joined = (name: string): string => `${String(one.headers[name])}, ${String(two.headers[name])}`
    const inputs = { 'signature-input': joined('signature-input') }
    const signatures = { signature: joined('signature') }
    expect(resultOf(() => receive(withHeaders(one, { ...inputs, ...signatures })))).toBe('several')
    expect(resultOf(() => receive(withHeaders(one, inputs)))).toBe('several')
    expect(resultOf(() => receive(withHeaders(one, signatures)))).toBe('several')
    const listed = { signature: [String(one.headers.signature), String(two.headers.signature)] }
    expect(resultOf(() => receive(withHeaders(one, listed)))).toBe('several')
  })

  it('several, when one label occurs twice, which a dictionary parser would hide', () => {
    const one = signed(reading)
    const other = signed(reading, { nonce: 'a, b' })
    for (const name of ['signature', 'signature-input']) {
      const twice = `${String(other.headers[name])}, ${String(one.headers[name])}`
      expect(resultOf(() => receive(withHeaders(one, { [name]: twice })))).toBe('several')
    }
  })

  it('none of these, when only a parameter contains a comma', () => {
    expect(resultOf(() => accept(signed(reading, { nonce: 'a, sig1=b' })))).toBe('accepted')
  })

  it.each([
    ['no dictionary', () => edited(() => '("@method"')],
    ['a list', () => edited((input) => input.replace('sig1=', ''))],
    ['a label without a value', () => edited(() => 'sig1')],
    ['an item instead of components', () => edited(() => 'sig1="@method"')],
    ['another label than the signature', () => edited((input) => input.replace('sig1', 'sig2'))],
    ['a token as a component', () => edited((input) => input.replace('"@method"', 'method'))],
    ['a component twice', () => edited((input) => input.replace('("@method"', '("@method" "@method"'))],
    [
      'a field name in upper case',
      () => edited((input) => input.replace('"authorization"', '"Authorization"'))
    ],
    ['an empty component name', () => edited((input) => input.replace('("@method"', '("" "@method"'))],
    [
      'a component name with a line break',
      () => edited((input) => input.replace('("@method"', '("x\n" "@method"'))
    ],
    ['no created', () => edited((input) => input.replace(/;created=\d+/, ''))],
    ['created that is a decimal', () => edited((input) => input.replace(/created=(\d+)/, 'created=$1.5'))],
    ['created that is a string', () => edited((input) => input.replace(/created=(\d+)/, 'created="$1"'))],
    ['created that is a date', () => edited((input) => input.replace(/created=(\d+)/, 'created=@$1'))],
    ['created without a value', () => edited((input) => input.replace(/created=(\d+)/, 'created'))],
    ['created too long', () => edited((input) => input.replace(/created=(\d+)/, 'created=1111111111111111'))],
    ['expires that is no integer', () => edited((input) => `${input};expires="never"`)],
    ['keyid that is no string', () => edited((input) => input.replace(/keyid="[^"]*"/, 'keyid=5'))],
    ['keyid that is empty', () => edited((input) => input.replace(/keyid="[^"]*"/, 'keyid=""'))],
    ['keyid that is too long', () => signed(reading, { keyId: 'k'.repeat(257) })],
    ['nonce that is no string', () => edited((input) => `${input};nonce=5`)],
    ['nonce that is too long', () => signed(reading, { nonce: 'n'.repeat(257) })],
    ['a header that is too long', () => edited((input) => input + ' '.repeat(5_000))],
    [
      'a signature header that is too long',
      () => withHeaders(signed(reading), { signature: `sig1=:${'A'.repeat(2_000)}:` })
    ],
    [
      'too many components',
      () => edited(() => `sig1=(${Array.from({ length: 33 }, (_, index) => `"x-${index}"`).join(' ')})`)
    ],
    [
      'a signature that is no byte sequence',
      () => withHeaders(signed(reading), { signature: 'sig1="AAAA"' })
    ],
    [
      'a signature of 63 bytes',
      () => withHeaders(signed(reading), { signature: `sig1=:${Buffer.alloc(63).toString('base64')}:` })
    ],
    [
      'a signature of 65 bytes',
      () => withHeaders(signed(reading), { signature: `sig1=:${Buffer.alloc(65).toString('base64')}:` })
    ],
    ['a signature that is a list', () => withHeaders(signed(reading), { signature: 'sig1=(:AAAA:)' })],
    [
      'a covered header outside ASCII',
      () =>
        edited(
          (input) => input.replace('("@method"', '("x-name" "@method"'),
          withHeaders(signed(reading), { 'x-name': 'Zoë' })
        )
    ]
  ])('malformed, when it has %s', (_what, request) => {
    expect(resultOf(() => receive(request()))).toBe('malformed')
  })

  it.each(['@method', '@target-uri', 'authorization', 'content-digest'])(
    'coverage, when it does not cover %s',
    (left) => {
      const components = ['@method', '@target-uri', 'authorization', 'content-digest'].filter(
        (name) => name !== left
      )
      expect(resultOf(() => receive(signed(creation, { components })))).toBe('coverage')
    }
  )

  it.each([
    ['"@method";req', '"@method"'],
    ['"authorization";sf', '"authorization"'],
    ['"authorization";bs', '"authorization"'],
    ['"authorization";key="x"', '"authorization"'],
    ['"@method" "@status"', '"@method"'],
    ['"@method" "@query-param";name="q"', '"@method"'],
    ['"@method" "@signature-params"', '"@method"'],
    ['"@method" "@METHOD"', '"@method"'],
    ['"@method" "x-absent"', '"@method"'],
    ['"@method" "constructor"', '"@method"'],
    ['"@method" "__proto__"', '"@method"']
  ])('coverage, when it covers %s, which is not supported or not there', (replacement, original) => {
    expect(resultOf(() => receive(edited((input) => input.replace(original, replacement))))).toBe('coverage')
  })

  it('coverage, when the policy demands a token and there is none', () => {
    const anonymous = signed({ ...reading, headers: {} })
    expect(resultOf(() => receive(anonymous))).toBe('accepted')
    expect(resultOf(() => receive(anonymous, { authorizationRequired: true }))).toBe('coverage')
    const pretended = edited(
      (input) => input.replace('"@target-uri"', '"@target-uri" "authorization"'),
      anonymous
    )
    expect(resultOf(() => receive(pretended, { authorizationRequired: true }))).toBe('coverage')
  })

  it.each([
    ['the body has another byte', { ...signed(creation), body: Buffer.from('{"value":"900"}') }],
    ['the body was reformatted', { ...signed(creation), body: Buffer.from('{"value": "100"}') }],
    ['the body was taken away', { ...signed(creation), body: undefined }],
    ['the digest was taken away', withHeaders(signed(creation), { 'content-digest': undefined })],
    [
      'the digest has no algorithm it knows',
      withHeaders(signed(creation), { 'content-digest': 'md5=:AAAA:' })
    ],
    ['the digest is garbage', withHeaders(signed(creation), { 'content-digest': 'sha-512=' })]
  ])('digest, when %s', (_what, request) => {
    expect(resultOf(() => receive(request))).toBe('digest')
  })

  it.each(['alg="rsa-pss-sha512"', 'alg="hmac-sha256"', 'alg="Ed25519"', 'alg=ed25519', 'alg', 'alg=""'])(
    'algorithm, when it states %s',
    (parameter) => {
      expect(resultOf(() => receive(edited((input) => `${input};${parameter}`)))).toBe('algorithm')
    }
  )

  it('tag, when it has another tag, or none where one is required', () => {
    expect(resultOf(() => receive(signed(reading, { tag: 'other' })))).toBe('tag')
    expect(resultOf(() => receive(edited((input) => `${input};tag=gnap`)))).toBe('tag')
    expect(resultOf(() => receive(signed(reading), { tagRequired: true }))).toBe('tag')
    expect(resultOf(() => receive(signed(reading, { tag: 'gnap' }), { tagRequired: true }))).toBe('accepted')
  })

  it('key, when keyid is missing or another', () => {
    expect(resultOf(() => receive(edited((input) => input.replace(/;keyid="[^"]*"/, ''))))).toBe('key')
    const received = receive(signed(reading))
    expect(resultOf(() => verified(received, { ...client, kid: 'Client-Key' }))).toBe('key')
  })

  it('key, when the key given cannot verify', () => {
    const received = receive(signed(reading))
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    expect(resultOf(() => verified(received, { kid: client.kid, publicKey }))).toBe('key')
    const { privateKey } = client
    expect(resultOf(() => verified(received, { kid: client.kid, publicKey: privateKey }))).toBe('key')
  })

  it('stale or future, to the millisecond', () => {
    const at = (seconds: number, atMs: number): string =>
      resultOf(() => receiveSignature(signed(reading, { createdSeconds: seconds }), DEFAULT_POLICY, atMs))
    expect(at(nowSeconds - 300, nowMs)).toBe('accepted')
    expect(at(nowSeconds - 300, nowMs + 1)).toBe('stale')
    expect(at(nowSeconds + 30, nowMs)).toBe('accepted')
    expect(at(nowSeconds + 30, nowMs - 1)).toBe('future')
    expect(at(0, nowMs)).toBe('stale')
    expect(at(-1, nowMs)).toBe('stale')
    expect(at(999_999_999_999_999, nowMs)).toBe('future')
  })

  it('stale or future by the limits of the policy', () => {
    const request = signed(reading, { createdSeconds: nowSeconds - 11 })
    expect(resultOf(() => receive(request, { ageMaxSeconds: 10 }))).toBe('stale')
    expect(resultOf(() => receive(request, { ageMaxSeconds: 11 }))).toBe('accepted')
    const ahead = signed(reading, { createdSeconds: nowSeconds + 1 })
    expect(resultOf(() => receive(ahead, { futureMaxSeconds: 0 }))).toBe('future')
  })

  it('expired, from the moment it names', () => {
    const request = signed(reading, { expiresSeconds: nowSeconds })
    expect(resultOf(() => receiveSignature(request, DEFAULT_POLICY, nowMs - 1))).toBe('accepted')
    expect(resultOf(() => receiveSignature(request, DEFAULT_POLICY, nowMs))).toBe('expired')
  })

  it.each([
    ['the method', { method: 'PUT' }],
    ['the path', { targetUri: 'https://wallet.example/outgoing-payments2?trace=1' }],
    ['the query', { targetUri: 'https://wallet.example/outgoing-payments?trace=2' }],
    ['the host', { targetUri: 'https://wallet.evil/outgoing-payments?trace=1' }],
    ['the scheme', { targetUri: 'http://wallet.example/outgoing-payments?trace=1' }]
  ])('mismatch, when %s is another than the one signed', (_what, change) => {
    expect(resultOf(() => accept({ ...signed(creation), ...change }))).toBe('mismatch')
  })

  it('mismatch, when the token, the content type, or body and digest together are replaced', () => {
    const request = signed(creation)
    const body = Buffer.from('{"value":"900"}')
    expect(resultOf(() => accept(withHeaders(request, { authorization: 'GNAP other' })))).toBe('mismatch')
    expect(resultOf(() => accept(withHeaders(request, { 'content-type': 'text/plain' })))).toBe('mismatch')
    expect(
      resultOf(() => accept(withHeaders({ ...request, body }, { 'content-digest': contentDigest(body) })))
    ).toBe('mismatch')
  })

  it('mismatch, when any parameter is changed or any bit of the signature is flipped', () => {
    const later = edited((input) => input.replace(/created=\d+/, `created=${nowSeconds + 1}`))
    expect(resultOf(() => accept(later))).toBe('mismatch')
    const received = receive(signed(reading))
    for (let bit = 0; bit < 512; bit += 1) {
      const signature = Uint8Array.from(received.signature)
      signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(resultOf(() => verified({ ...received, signature }, client))).toBe('mismatch')
    }
  })

  it('mismatch, when another key of the same name signed it', () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    expect(resultOf(() => accept(signed(reading, { privateKey })))).toBe('mismatch')
  })
})

describe('the text of a refusal', () => {
  it('contains neither token, signature nor signature base', () => {
    const request = signed(creation)
    const tampered = [
      withHeaders(request, { authorization: 'GNAP 8aXc0secret\u0000' }),
      withHeaders(request, { signature: `${String(request.headers.signature)}x` }),
      { ...request, targetUri: 'https://wallet.example/8aXc0secret' }
    ]
    for (const attempt of tampered) {
      let refusal: unknown
      try {
        verifySignature(receiveSignature(attempt, LENIENT, nowMs), client)
      } catch (error) {
        refusal = error
      }
      expect(refusal).toBeInstanceOf(SignatureError)
      const { message } = refusal as SignatureError
      expect(message).not.toMatch(/8aXc0|GNAP/)
      expect(message).not.toContain(String(request.headers.signature).slice(6, 30))
    }
  })

  it('is short, whatever the request', () => {
    const long = edited((input) => input.replace('"@method"', `"@${'m'.repeat(3_000)}"`))
    expect(() => receive(long)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{1,200}$/) })
    )
  })
})
