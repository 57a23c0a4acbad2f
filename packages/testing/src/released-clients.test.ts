import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import {
  DEFAULT_POLICY,
  type HttpRequestParts,
  receiveSignature,
  SignatureError,
  verifySignature
} from '@open-payments-server/http-signatures'
import { RELEASED_CLIENTS, wireBytes } from './released-clients.js'

const createdSeconds = 1_767_225_600
/** The key `test-key-ed25519`, published in RFC 9421 Appendix B.1.4. */
const rfcPrivateKey = createPrivateKey({
  key: Buffer.from('MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF', 'base64'),
  format: 'der',
  type: 'pkcs8'
})
const key = { kid: 'key-1', publicKey: createPublicKey(rfcPrivateKey) }

/** The grant request and the payment of each client, built as the release's source builds them, signed with the key of RFC 9421. */
const FIXTURES = RELEASED_CLIENTS.flatMap((client) =>
  (['grant', 'payment'] as const).map((kind) => {
    const file = `${client.name
      .toLowerCase()
      .replace('.net', 'dotnet')
      .replace(/[^a-z0-9.]+/g, '-')}-${kind}.http`
    const url = new URL(`../wire/${file}`, import.meta.url)
    return { client, kind, file, bytes: readFileSync(url) }
  })
)
const origins = { grant: 'https://auth.example', payment: 'https://wallet.example' }

/** Reads a request as a server does. */
function parse(bytes: Buffer, origin: string): HttpRequestParts {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const [method = '', target = ''] = first.split(' ')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return {
    method,
    targetUri: origin + target,
    headers: Object.fromEntries(headers),
    body: bytes.subarray(end + 4)
  }
}

function outcome(request: HttpRequestParts, releasedClientForms = true): string {
  try {
    const policy = { ...DEFAULT_POLICY, releasedClientForms }
    verifySignature(receiveSignature(request, policy, createdSeconds * 1_000), key)
    return 'accepted'
  } catch (error) {
    if (error instanceof SignatureError) return error.reason
    throw error
  }
}

/** The request with its two signature headers changed. */
function changed(
  request: HttpRequestParts,
  change: (headers: { input: string; signature: string }) => { input: string; signature: string }
): HttpRequestParts {
  const { input, signature } = change({
    input: String(request.headers['signature-input']),
    signature: String(request.headers.signature)
  })
  return { ...request, headers: { ...request.headers, 'signature-input': input, signature } }
}

function fixtureOf(name: string): HttpRequestParts {
  const found = FIXTURES.find(({ client, kind }) => client.name.startsWith(name) && kind === 'payment')
  if (found === undefined) throw new Error(`there is no fixture of ${name}`)
  return parse(found.bytes, origins.payment)
}

describe.each(FIXTURES.map((fixture) => [fixture.file, fixture] as const))(
  '%s',
  (_file, { client, kind, bytes }) => {
    const request = parse(bytes, origins[kind])

    it('is built as the source of the release builds it, byte for byte', () => {
      const walletAddress = 'https://wallet.example/alice'
      const written =
        kind === 'grant'
          ? {
              method: 'POST' as const,
              url: client.grantUrl(origins.grant),
              body: client.grantBody({
                client: 'https://shop.example/shop',
                walletAddress,
                debitValue: '1250',
                finishUri: 'https://shop.example/finish?order=17&x=1',
                nonce: 'client-nonce'
              })
            }
          : {
              method: 'POST' as const,
              url: client.paymentUrl(origins.payment),
              accessToken: 'OS9M2PMHKUR64TB8N6BW7OZB8CDFONP219RP1LT0',
              body: client.paymentBody({
                walletAddress,
                quoteId: 'https://wallet.example/quotes/ab03296b-0c8b-4776-b94e-7ee27d868d4d',
                note: 'Crème brûlée <&> 🍮'
              })
            }
      const wire = client.write(written, { privateKey: rfcPrivateKey, keyId: key.kid, createdSeconds })
      expect(wireBytes(wire).toString()).toBe(bytes.toString())
    })

    it('is accepted; a form outside RFC 9421 only with the setting', () => {
      expect(outcome(request)).toBe('accepted')
      expect(outcome(request, false)).toBe(client.isOutsideRfc ? 'malformed' : 'accepted')
    })

    it('is refused with any bit of its body, or any letter of its method, URL or signature changed', () => {
      const body = Buffer.from(request.body ?? [])
      body.writeUInt8(body.readUInt8(10) ^ 1, 10)
      expect(outcome({ ...request, body })).toBe('digest')
      expect(outcome({ ...request, method: 'PUT' })).toBe('mismatch')
      expect(outcome({ ...request, targetUri: `${request.targetUri}/` })).toBe('mismatch')
      const flipped = changed(request, ({ input, signature }) => ({
        input,
        signature: signature.replace(/(.)(?=[^:=]{20}[:=]*$)/, (letter) => (letter === 'A' ? 'B' : 'A'))
      }))
      expect(outcome(flipped)).toBe('mismatch')
    })
  }
)

describe.each(['Rust', 'PHP'])('the form of the %s client', (name) => {
  const request = fixtureOf(name)

  it.each<[string, (headers: { input: string; signature: string }) => { input: string; signature: string }]>([
    ['another label', (headers) => ({ ...headers, input: headers.input.replace('sig1', 'sig2') })],
    ['a space before its parameters', (headers) => ({ ...headers, input: headers.input.replace(';', '; ') })],
    ['another parameter', (headers) => ({ ...headers, input: `${headers.input};alg="ed25519"` })],
    ['a repeated parameter', (headers) => ({ ...headers, input: `${headers.input};created=1767225600` })],
    ['a component twice', (headers) => ({ ...headers, input: headers.input.replace(')', ' @method)') })],
    ['another component', (headers) => ({ ...headers, input: headers.input.replace(')', ' date)') })],
    ['a second signature', ({ input, signature }) => ({ input, signature: `${signature}, ${signature}` })],
    ['a second input', ({ input, signature }) => ({ input: `${input}, ${input}`, signature })],
    ['a line behind it', ({ input, signature }) => ({ input: `${input}\n`, signature })],
    ['an escaped keyid', (headers) => ({ ...headers, input: headers.input.replace('key-1', 'key\\"-1') })],
    [
      'a time with a zero before it',
      (headers) => ({ ...headers, input: headers.input.replace('=1767', '=01767') })
    ],
    ['a longer signature', ({ input, signature }) => ({ input, signature: signature.replace('==', 'AA==') })],
    [
      'another alphabet',
      ({ input, signature }) => ({ input, signature: signature.replace(/.{10}(?===$)/, '-'.repeat(10)) })
    ],
    [
      'bits after its last byte',
      ({ input, signature }) => ({
        input,
        signature: signature.replace(/.(?===$)/, (letter) => String.fromCharCode(letter.charCodeAt(0) + 1))
      })
    ]
  ])('is refused with %s', (_what, change) => {
    expect(outcome(changed(request, change))).toMatch(/^(malformed|several)$/)
  })

  it('is refused when it does not cover everything required', () => {
    const headers = { ...request.headers, authorization: undefined }
    const grant = FIXTURES.find(({ client, kind }) => client.name.startsWith(name) && kind === 'grant')
    const uncovered = parse(grant?.bytes ?? Buffer.alloc(0), origins.grant)
    expect(outcome({ ...uncovered, headers: { ...uncovered.headers, authorization: 'GNAP other' } })).toBe(
      'coverage'
    )
    expect(outcome({ ...request, headers })).toBe('coverage')
  })
})

it('a signature in one form never verifies in the other: the Rust client signs its unquoted list', () => {
  const rust = fixtureOf('Rust')
  const quotedInput = String(rust.headers['signature-input']).replace(/\(.*\)/, (list) =>
    list.replace(/[^() ]+/g, (component) => `"${component}"`)
  )
  const asRfc = changed(rust, ({ signature }) => ({ input: quotedInput, signature: `sig1=:${signature}:` }))
  expect(outcome(asRfc)).toBe('mismatch')
  // And what RFC 9421 says of the same components, sent unquoted.
  const base = receiveSignature(asRfc, DEFAULT_POLICY, createdSeconds * 1_000).base
  const signature = sign(null, Buffer.from(base), rfcPrivateKey).toString('base64')
  expect(outcome(changed(rust, () => ({ input: quotedInput, signature: `sig1=:${signature}:` })))).toBe(
    'accepted'
  )
  expect(outcome(changed(rust, ({ input }) => ({ input, signature })))).toBe('mismatch')
})
