import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type HttpRequestParts, SignatureError } from '../src/index.js'
import { accept, creation, reading, signed } from './fixtures.js'

/** Pieces of structured fields, so that garbage gets past the first character of the parser. */
const piece = fc.constantFrom(
  ...[
    'sig1',
    'sig2',
    '=',
    '(',
    ')',
    ' ',
    '"',
    '\\',
    ';',
    ',',
    ':',
    '?1',
    '?',
    '@',
    '%"',
    '%ff',
    '-',
    '.',
    '*',
    '\t'
  ],
  ...[
    '"@method"',
    '"@target-uri"',
    '"@query"',
    '"authorization"',
    '"content-digest"',
    '"__proto__"',
    '"constructor"'
  ],
  ...[
    'created',
    'expires',
    'keyid',
    'alg',
    'tag',
    'nonce',
    '="ed25519"',
    '="gnap"',
    '=1767225600',
    '=9.5',
    '=@1'
  ],
  ...[
    ':AAAA:',
    ':*:',
    ':=:',
    'sha-256',
    'sha-512',
    '__proto__',
    '\u0000',
    '\u00e9',
    '999999999999999',
    '-0',
    '0.000'
  ]
)
const garbage = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
)

/** A text with a piece of it cut out, doubled or replaced. */
function mutated(text: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.nat({ max: text.length }), fc.nat({ max: 12 }), fc.oneof(piece, fc.constant(''), garbage))
    .map(([at, length, insert]) => text.slice(0, at) + insert + text.slice(at + length))
}

function mutatedHeader(request: HttpRequestParts, name: string): fc.Arbitrary<string | string[] | undefined> {
  const original = String(request.headers[name] ?? '')
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(original) },
    { weight: 3, arbitrary: mutated(original) },
    { weight: 1, arbitrary: garbage },
    { weight: 1, arbitrary: fc.array(fc.oneof(garbage, fc.constant(original)), { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant(undefined) }
  )
}

const requests = [
  signed(creation),
  signed(reading),
  signed(creation, { nonce: 'n', tag: 'gnap', includeAlg: true })
]

describe('whatever the headers of a request hold', () => {
  it('it is authenticated or fails with a signature error, never another error', () => {
    const attempt = fc.constantFrom(...requests).chain((request) =>
      fc.record({
        request: fc.constant(request),
        headers: fc.record({
          'signature-input': mutatedHeader(request, 'signature-input'),
          signature: mutatedHeader(request, 'signature'),
          'content-digest': mutatedHeader(request, 'content-digest'),
          authorization: mutatedHeader(request, 'authorization')
        }),
        targetUri: fc.oneof(
          { weight: 3, arbitrary: fc.constant(request.targetUri) },
          { weight: 1, arbitrary: garbage }
        ),
        body: fc.oneof(fc.constant(request.body), fc.option(fc.uint8Array(), { nil: undefined }))
      })
    )
    const results = new Set<string>()
    fc.assert(
      fc.property(attempt, ({ request, headers, targetUri, body }) => {
        const attacked = { ...request, targetUri, body, headers: { ...request.headers, ...headers } }
        try {
          accept(attacked)
          results.add('accepted')
        } catch (error) {
          expect(error).toBeInstanceOf(SignatureError)
          results.add((error as SignatureError).reason)
        }
      }),
      { numRuns: 8_000 }
    )
    // Random input is useful only if it reaches every check.
    expect([...results]).toEqual(
      expect.arrayContaining([
        'accepted',
        'missing',
        'malformed',
        'several',
        'coverage',
        'digest',
        'mismatch'
      ])
    )
  })

  it('it is never accepted with signed content changed', () => {
    const change = fc.record({
      method: fc.constantFrom('POST', 'PUT', 'GET'),
      targetUri: fc.oneof(fc.constant(creation.targetUri), mutated(creation.targetUri)),
      authorization: fc.oneof(fc.constant('GNAP 8aXc0token'), mutated('GNAP 8aXc0token')),
      body: fc.oneof(fc.constant('{"value":"100"}'), mutated('{"value":"100"}'))
    })
    const request = signed(creation)
    fc.assert(
      fc.property(change, ({ method, targetUri, authorization, body }) => {
        const isSame =
          method === creation.method &&
          targetUri === creation.targetUri &&
          // White space around a field value is no part of it.
          authorization.replace(/^[ \t]+|[ \t]+$/g, '') === 'GNAP 8aXc0token' &&
          body === '{"value":"100"}'
        const attacked = {
          method,
          targetUri,
          body: Buffer.from(body),
          headers: { ...request.headers, authorization }
        }
        let isAccepted = true
        try {
          accept(attacked)
        } catch {
          isAccepted = false
        }
        expect(isAccepted).toBe(isSame)
      }),
      { numRuns: 2_000 }
    )
  })
})
