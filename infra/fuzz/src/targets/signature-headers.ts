import { createHash, verify } from 'node:crypto'
import {
  type HttpRequestParts,
  verifyContentDigest,
  verifySignature
} from '@open-payments-server/http-signatures'
import fc from 'fast-check'
import {
  bareItem,
  dictionary,
  fieldPiece,
  key as fieldKey,
  parameters as fieldParameters
} from '../generators/structured-fields.js'
import { anyText, grown, mutated, mutatedBytes } from '../generators/text.js'
import {
  CLIENT_KEY,
  headerOf,
  NOW_SECONDS,
  receive,
  refusalOfSignature,
  sign,
  withHeaders
} from '../signing.js'
import { ACCEPTED, type AnyTarget, mustHold, refusedAs, target } from '../target.js'

/** Longest header section that a listener takes, in bytes. */
const HEADER_BYTES_MAX = 16_384
/** Longest body that a listener takes, in bytes. */
const BODY_BYTES_MAX = 65_536

const PLAIN: HttpRequestParts = {
  method: 'POST',
  targetUri: 'https://wallet.example/outgoing-payments?trace=1',
  headers: {
    authorization: 'GNAP 8aXc0token',
    'content-type': 'application/json',
    'content-digest': `sha-256=:${createHash('sha256').update('{"value":"100"}').digest('base64')}:`
  },
  body: Buffer.from('{"value":"100"}')
}
const SIGNED = [
  sign(PLAIN),
  sign({ ...PLAIN, method: 'GET', body: undefined, headers: { authorization: 'GNAP 8aXc0token' } }),
  sign(PLAIN, { nonce: 'a, "b', tag: 'gnap', includeAlg: true, expiresSeconds: NOW_SECONDS + 60 })
]

const requiredComponents = '"@method" "@target-uri" "authorization" "content-digest"'
const components = fc.oneof(
  { weight: 4, arbitrary: fc.constant(requiredComponents) },
  {
    weight: 2,
    arbitrary: fc
      .array(
        fc.constantFrom(
          '"@path"',
          '"@query"',
          '"@authority"',
          '"@scheme"',
          '"content-type"',
          '"@request-target"'
        )
      )
      .map((more) => [requiredComponents, ...more].join(' '))
  },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.tuple(bareItem, fieldParameters), { maxLength: 5 })
      .map((items) => items.map((item) => item.join('')).join(' '))
  },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.constantFrom('"@status"', '"@query-param";name="a"', '"x-absent"', '"@method";req', '"cookie"')
      )
      .map((more) => [requiredComponents, ...more].join(' '))
  }
)

/** A parameter of a signature: often what it must be, at times anything. */
function parameter(name: string, proper: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 12, arbitrary: proper.map((value) => `;${name}=${value}`) },
    { weight: 1, arbitrary: bareItem.map((value) => `;${name}=${value}`) },
    { weight: 1, arbitrary: fc.constantFrom('', `;${name}`, `;${name}=`) }
  )
}

const created = fc.integer({ min: NOW_SECONDS - 300, max: NOW_SECONDS + 30 }).map(String)
const signatureParameters = fc
  .tuple(
    parameter('created', fc.oneof({ weight: 6, arbitrary: created }, { weight: 1, arbitrary: bareItem })),
    parameter('keyid', fc.constantFrom('"client-key"', '"other-key"', `"${'k'.repeat(256)}"`)),
    fc.oneof(
      { weight: 4, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: parameter('nonce', bareItem) },
      { weight: 1, arbitrary: parameter('expires', fc.constant(String(NOW_SECONDS + 1))) },
      { weight: 1, arbitrary: parameter('alg', fc.constant('"ed25519"')) },
      { weight: 1, arbitrary: parameter('tag', fc.constant('"gnap"')) }
    ),
    fc.oneof({ weight: 3, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fieldParameters })
  )
  .map((some) => some.join(''))

const label = fc.oneof({ weight: 8, arbitrary: fc.constant('sig1') }, { weight: 1, arbitrary: fieldKey })
const signatureBytes = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ minLength: 64, maxLength: 64 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 65 }) }
)

const writtenHeaders = fc
  .tuple(label, label, components, signatureParameters, signatureBytes)
  .map(([inputLabel, signatureLabel, covered, more, bytes]) => ({
    'signature-input': `${inputLabel}=(${covered})${more}`,
    signature: `${signatureLabel}=:${Buffer.from(bytes).toString('base64')}:`
  }))

/** A header of a signed request, changed or replaced. */
function changedHeader(request: HttpRequestParts, name: string): fc.Arbitrary<string | string[] | undefined> {
  const original = headerOf(request, name)
  return fc.oneof(
    { weight: 20, arbitrary: fc.constant(original) },
    { weight: 4, arbitrary: mutated(fc.constant(original), fieldPiece) },
    { weight: 2, arbitrary: dictionary },
    { weight: 2, arbitrary: dictionary.map((more) => `${original}, ${more}`) },
    { weight: 1, arbitrary: fc.array(fc.oneof(anyText, fc.constant(original)), { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant(undefined) }
  )
}

const changedRequests = fc.oneof(
  ...SIGNED.map((request) =>
    fc
      .record({
        'signature-input': changedHeader(request, 'signature-input'),
        signature: changedHeader(request, 'signature'),
        'content-digest': changedHeader(request, 'content-digest'),
        authorization: changedHeader(request, 'authorization')
      })
      .map((headers) => withHeaders(request, headers))
  )
)

// White space, which is trimmed, more often than the rest.
const longPiece = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(' ', '\t') },
  { weight: 2, arbitrary: fieldPiece }
)
const longHeader = grown(longPiece, HEADER_BYTES_MAX, fieldPiece)
const longRequests = fc.oneof(
  grown(fieldPiece, 4_096, fc.constantFrom('sig1=("@method"', 'sig1=(', 'sig1=();a=', ')', '"')).map((text) =>
    withHeaders(PLAIN, { ...SIGNED[0]?.headers, 'signature-input': text })
  ),
  grown(fieldPiece, 1_024).map((text) => withHeaders(PLAIN, { ...SIGNED[0]?.headers, signature: text })),
  grown(fieldPiece, 1_024).map((text) =>
    withHeaders(PLAIN, { ...SIGNED[0]?.headers, 'content-digest': text })
  ),
  // What is covered may be as long as all headers together, and is looked at before anything is known of who signed.
  longHeader.map((text) =>
    withHeaders(PLAIN, {
      ...SIGNED[0]?.headers,
      'x-long': text,
      'signature-input': `sig1=(${requiredComponents} "x-long");created=${String(NOW_SECONDS)};keyid="client-key"`
    })
  ),
  longHeader.map((text) => ({ ...(SIGNED[0] ?? PLAIN), targetUri: `https://wallet.example/${text}` }))
)

const anyHeaders = target({
  name: 'signature headers',
  share: 1_400,
  acceptedMin: 0.1,
  cases: fc.oneof(
    { weight: 50, arbitrary: writtenHeaders.map((headers) => withHeaders(PLAIN, headers)) },
    { weight: 45, arbitrary: changedRequests },
    { weight: 5, arbitrary: longRequests }
  ),
  attack: (request) =>
    refusedAs(() => {
      const received = receive(request)
      const lines = received.base.split('\n')
      mustHold(
        lines.every((line) => /^"[@!#$%&'*+\-.^_`|~0-9a-z]+": [\t\x20-\x7e]*$/.test(line)),
        'every line of a signature base is one component'
      )
      mustHold(
        lines.filter((line) => line.startsWith('"@signature-params": ')).length === 1,
        'a signature base has its parameters once'
      )
      mustHold(
        received.createdSeconds >= NOW_SECONDS - 300 && received.createdSeconds <= NOW_SECONDS + 30,
        'what is received is fresh'
      )
      // Whether it verifies is what node:crypto says, and nothing else.
      const isVerified =
        refusedAs(() => (verifySignature(received, CLIENT_KEY), ACCEPTED), refusalOfSignature) === ACCEPTED
      const isGenuine = verify(null, Buffer.from(received.base), CLIENT_KEY.publicKey, received.signature)
      mustHold(
        isVerified === (isGenuine && received.keyId === CLIENT_KEY.kid),
        'only what was signed verifies'
      )
      return ACCEPTED
    }, refusalOfSignature)
})

// Digests of bodies.

const digestedBodies = fc.oneof(
  { weight: 60, arbitrary: fc.uint8Array({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.constant(new Uint8Array(BODY_BYTES_MAX)) }
)
const digestAlgorithm = fc.constantFrom('sha-256', 'sha-512', 'sha-256', 'sha-512', 'md5', 'SHA-256', 'sha')

const digests = target({
  name: 'content digests',
  share: 200,
  acceptedMin: 0.1,
  cases: digestedBodies.chain((body) => {
    const right = digestAlgorithm.map((name) => {
      const digest = createHash(name.toLowerCase() === 'sha-512' ? 'sha512' : 'sha256').update(body)
      return `${name}=:${digest.digest('base64')}:`
    })
    const headers = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.array(right, { minLength: 1, maxLength: 3 }).map((some) => some.join(', '))
      },
      { weight: 3, arbitrary: mutated(right, fieldPiece) },
      { weight: 2, arbitrary: dictionary },
      { weight: 1, arbitrary: grown(fieldPiece, 1_024) }
    )
    return fc.record({ header: headers, body: fc.oneof(fc.constant(body), mutatedBytes(fc.constant(body))) })
  }),
  attack: ({ header, body }) =>
    refusedAs(() => {
      verifyContentDigest(header, body)
      const rightDigests = ['sha256', 'sha512'].map((name) => createHash(name).update(body).digest('hex'))
      const given = [...header.matchAll(/:([^:]*):/g)].map(([, text = '']) =>
        Buffer.from(text, 'base64').toString('hex')
      )
      mustHold(
        given.some((digest) => rightDigests.includes(digest)),
        'a body that is accepted has its digest in the header'
      )
      return ACCEPTED
    }, refusalOfSignature)
})

/** The headers that authenticate a request, whatever they hold. */
export const SIGNATURE_HEADER_TARGETS: readonly AnyTarget[] = [anyHeaders, digests]
