import { createPublicKey, sign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  DEFAULT_POLICY,
  type HttpRequestParts,
  receiveSignature,
  SignatureError,
  verifySignature
} from '@open-payments-server/http-signatures'
import { wireBytes } from './released-clients.js'
import {
  readWireFixtures,
  WIRE_FIXTURE_PARTS,
  type WireFixture,
  type WireFixtureKind
} from './wire-fixtures.js'

const { privateKey, keyId } = WIRE_FIXTURE_PARTS
const key = { kid: keyId, publicKey: createPublicKey(privateKey) }

const FIXTURES = readWireFixtures()

/** A request, received when it was signed. */
interface Received extends HttpRequestParts {
  readonly createdSeconds: number
}

/** Reads a request as a server does. */
function parse({ bytes, origin, createdSeconds }: WireFixture): Received {
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
    body: bytes.length === end + 4 ? undefined : bytes.subarray(end + 4),
    createdSeconds
  }
}

function resultOf({ createdSeconds, ...request }: Received, releasedClientForms = true): string {
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
  request: Received,
  change: (headers: { input: string; signature: string }) => { input: string; signature: string }
): Received {
  const { input, signature } = change({
    input: String(request.headers['signature-input']),
    signature: String(request.headers.signature)
  })
  return { ...request, headers: { ...request.headers, 'signature-input': input, signature } }
}

function fixtureOf(name: string, wanted: WireFixtureKind = 'payment'): Received {
  const found = FIXTURES.find(({ client, kind }) => client.name.startsWith(name) && kind === wanted)
  if (found === undefined) throw new Error(`there is no fixture of ${name}`)
  return parse(found)
}

describe.each(FIXTURES.map((fixture) => [fixture.file, fixture] as const))('%s', (_file, fixture) => {
  const { client, bytes, call, createdSeconds } = fixture
  const request = parse(fixture)

  it('is accepted; a form outside RFC 9421 only with the setting', () => {
    expect(resultOf(request)).toBe('accepted')
    expect(resultOf(request, false)).toBe(client.isOutsideRfc ? 'malformed' : 'accepted')
  })

  it('is, byte for byte, what this project writes for this client', () => {
    const wire = client.write(call, { privateKey, keyId, createdSeconds })
    expect(wireBytes(wire).toString()).toBe(bytes.toString())
  })

  it('is refused with any bit of its body, or any letter of its method, URL or signature changed', () => {
    if (request.body !== undefined) {
      const body = Buffer.from(request.body)
      body.writeUInt8(body.readUInt8(10) ^ 1, 10)
      expect(resultOf({ ...request, body })).toBe('digest')
    }
    expect(resultOf({ ...request, method: 'PUT' })).toBe('mismatch')
    expect(resultOf({ ...request, targetUri: `${request.targetUri}/` })).toBe('mismatch')
    const flipped = changed(request, ({ input, signature }) => ({
      input,
      signature: signature.replace(/(.)(?=[^:=]{20}[:=]*$)/, (letter) => (letter === 'A' ? 'B' : 'A'))
    }))
    expect(resultOf(flipped)).toBe('mismatch')
  })
})

describe.each(['Rust', 'PHP'])('the form of the %s client', (name) => {
  const request = fixtureOf(name)

  it.each<[string, (headers: { input: string; signature: string }) => { input: string; signature: string }]>([
    ['another label', (headers) => ({ ...headers, input: headers.input.replace('sig1', 'sig2') })],
    ['a space before its parameters', (headers) => ({ ...headers, input: headers.input.replace(';', '; ') })],
    ['another parameter', (headers) => ({ ...headers, input: `${headers.input};alg="ed25519"` })],
    [
      'a repeated parameter',
      (headers) => ({ ...headers, input: `${headers.input};created=${String(request.createdSeconds)}` })
    ],
    ['a component twice', (headers) => ({ ...headers, input: headers.input.replace(')', ' @method)') })],
    ['another component', (headers) => ({ ...headers, input: headers.input.replace(')', ' date)') })],
    ['a second signature', ({ input, signature }) => ({ input, signature: `${signature}, ${signature}` })],
    ['a second input', ({ input, signature }) => ({ input: `${input}, ${input}`, signature })],
    ['a line behind it', ({ input, signature }) => ({ input: `${input}\n`, signature })],
    ['an escaped keyid', (headers) => ({ ...headers, input: headers.input.replace('key-1', 'key\\"-1') })],
    [
      'a time with a zero before it',
      (headers) => ({ ...headers, input: headers.input.replace(/created=(?=\d)/, 'created=0') })
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
    expect(resultOf(changed(request, change))).toMatch(/^(malformed|several)$/)
  })

  it('is refused when it does not cover everything required', () => {
    const headers = { ...request.headers, authorization: undefined }
    const uncovered = fixtureOf(name, 'grant')
    expect(resultOf({ ...uncovered, headers: { ...uncovered.headers, authorization: 'GNAP other' } })).toBe(
      'coverage'
    )
    expect(resultOf({ ...request, headers })).toBe('coverage')
  })
})

it('a signature in one form never verifies in the other: the Rust client signs its unquoted list', () => {
  const rust = fixtureOf('Rust')
  const quotedInput = String(rust.headers['signature-input']).replace(/\(.*\)/, (list) =>
    list.replace(/[^() ]+/g, (component) => `"${component}"`)
  )
  const asRfc = changed(rust, ({ signature }) => ({ input: quotedInput, signature: `sig1=:${signature}:` }))
  expect(resultOf(asRfc)).toBe('mismatch')
  // And what RFC 9421 says of the same components, sent unquoted.
  const base = receiveSignature(asRfc, DEFAULT_POLICY, rust.createdSeconds * 1_000).base
  const signature = sign(null, Buffer.from(base), privateKey).toString('base64')
  expect(resultOf(changed(rust, () => ({ input: quotedInput, signature: `sig1=:${signature}:` })))).toBe(
    'accepted'
  )
  expect(resultOf(changed(rust, ({ input }) => ({ input, signature })))).toBe('mismatch')
})
