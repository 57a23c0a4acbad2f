import { createPublicKey } from 'node:crypto'
import { type HttpRequestParts, verifySignature } from '@open-payments-server/http-signatures'
import fc from 'fast-check'
import { anyText, characterOf } from '../generators/text.js'
import {
  CLIENT_KEY,
  headerOf,
  NOW_SECONDS,
  receive,
  refusalOfSignature,
  sign,
  STRANGERS_KEY,
  withHeaders
} from '../signing.js'
import { ACCEPTED, type AnyTarget, mustHold, refusedAs, target } from '../target.js'

/** The order of the group of Ed25519 (RFC 8032 §5.1): added to a signature, it must not make another that verifies. */
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

const visible = fc.string({ unit: characterOf("abcXYZ019-._~!$&'()*+,;=:@%/"), maxLength: 30 })
const fieldValue = fc.string({ unit: characterOf('aZ09 \t",;=:()\\/@'), maxLength: 20 })
const FIELDS = ['authorization', 'x-one', 'x-two', 'content-type'] as const

const unsignedRequests: fc.Arbitrary<HttpRequestParts> = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'DELETE'),
    path: visible,
    query: fc.option(visible, { nil: undefined }),
    values: fc.tuple(...FIELDS.map(() => fc.option(fieldValue, { nil: undefined }))),
    body: fc.option(fc.uint8Array({ maxLength: 60 }), { nil: undefined })
  })
  .map(({ method, path, query, values, body }) => ({
    method,
    // As every client sends it that makes its requests from a URL, the library that signs among them; but for an empty query,
    // whose question mark that library leaves out of `@request-target` (docs/decisions/own-signature-base.md).
    targetUri: new URL(
      `https://wallet.example/${path}${query === undefined || query === '' ? '' : `?${query}`}`
    ).href,
    headers: Object.fromEntries(FIELDS.map((name, index) => [name, values[index]])),
    body
  }))

const signingOptions = fc.record({
  label: fc.constantFrom('sig1', 'a', '*x', 'gnap-1'),
  createdSeconds: fc.integer({ min: NOW_SECONDS - 300, max: NOW_SECONDS + 30 }),
  nonce: fc.option(fc.string({ minLength: 1, maxLength: 20 }), { nil: undefined }),
  tag: fc.constantFrom(undefined, 'gnap'),
  expiresSeconds: fc.constantFrom(undefined, NOW_SECONDS + 60),
  includeAlg: fc.boolean(),
  /** Orders what is covered, and what is covered besides what must be. */
  order: fc.nat(),
  derived: fc.subarray(['@authority', '@scheme', '@path', '@query', '@request-target'])
})

/** One thing that is changed after signing. */
const CHANGES = [
  'nothing',
  'nothing',
  'method',
  'target',
  'field',
  'field-absent',
  'field-twice',
  'body',
  'body-absent',
  'digest',
  'parameters',
  'components',
  'signature-bit',
  'signature-order',
  'label',
  'other-key',
  'resigned'
] as const
type Change = (typeof CHANGES)[number]

interface SignedCase {
  readonly request: HttpRequestParts
  readonly options: typeof signingOptions extends fc.Arbitrary<infer Options> ? Options : never
  readonly change: Change
  /** What is changed, and where; each change takes of it what it needs. */
  readonly place: number
  readonly text: string
}

const signedCases: fc.Arbitrary<SignedCase> = fc.record({
  request: unsignedRequests,
  options: signingOptions,
  change: fc.constantFrom(...CHANGES),
  place: fc.nat(1_000_000),
  text: fc.oneof(visible, fieldValue, anyText)
})

/** What is covered: all that must be and all that the request has, in some order. */
function coveredBy({ request, options }: SignedCase): string[] {
  const fields = FIELDS.filter((name) => request.headers[name] !== undefined)
  const hasBody = request.body !== undefined && request.body.length > 0
  const all = [
    '@method',
    '@target-uri',
    ...options.derived,
    ...fields,
    ...(hasBody ? ['content-digest'] : [])
  ]
  const turn = options.order % all.length
  return [...all.slice(turn), ...all.slice(0, turn)]
}

function splice(text: string, place: number, inserted: string): string {
  const at = place % (text.length + 1)
  return text.slice(0, at) + inserted + text.slice(at + 1)
}

function change(
  signed: HttpRequestParts,
  { change: kind, place, text, options }: SignedCase
): HttpRequestParts {
  const name = FIELDS[place % FIELDS.length] ?? 'authorization'
  const value = headerOf(signed, name)
  switch (kind) {
    case 'nothing':
      return signed
    case 'method':
      return { ...signed, method: splice(signed.method, place, text) }
    case 'target':
      return { ...signed, targetUri: splice(signed.targetUri, place, text) }
    case 'field':
      return withHeaders(signed, { [name]: splice(value, place, text) })
    case 'field-absent':
      return withHeaders(signed, { [name]: undefined })
    case 'field-twice':
      return withHeaders(signed, { [name]: [value, text] })
    case 'body':
      return {
        ...signed,
        body: Buffer.from(splice(Buffer.from(signed.body ?? []).toString('latin1'), place, text))
      }
    case 'body-absent':
      return { ...signed, body: undefined }
    case 'digest':
      return withHeaders(signed, {
        'content-digest': splice(headerOf(signed, 'content-digest'), place, text)
      })
    case 'parameters':
    case 'components':
      return withHeaders(signed, {
        'signature-input': splice(headerOf(signed, 'signature-input'), place, text)
      })
    case 'label':
      return withHeaders(signed, { signature: splice(headerOf(signed, 'signature'), place, text) })
    case 'signature-bit':
    case 'signature-order':
      return withHeaders(signed, { signature: `${options.label}=:${changedSignature(signed, kind, place)}:` })
    case 'other-key':
    case 'resigned':
      return signed
  }
}

function changedSignature(signed: HttpRequestParts, kind: Change, place: number): string {
  const bytes = Buffer.from(/:(.*):/.exec(headerOf(signed, 'signature'))?.[1] ?? '', 'base64')
  if (kind === 'signature-bit') {
    const at = place % bytes.length
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (place % 8)), at)
    return bytes.toString('base64')
  }
  // The same point and a scalar that is the same in the group, but not the canonical one.
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + GROUP_ORDER
  const written = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse()
  return Buffer.concat([bytes.subarray(0, 32), written]).toString('base64')
}

const signedRequests = target({
  name: 'signed requests, one thing changed',
  share: 700,
  acceptedMin: 0.1,
  cases: signedCases,
  attack(input) {
    const covered = coveredBy(input)
    const signed = sign(input.request, { ...input.options, components: covered })
    const original = receive(signed)
    verifySignature(original, CLIENT_KEY)
    if (input.change === 'nothing') return ACCEPTED
    if (input.change === 'resigned') {
      const forged = sign(input.request, { ...input.options, components: covered, privateKey: STRANGERS_KEY })
      return mustBeRefused(() => verifySignature(receive(forged), CLIENT_KEY))
    }
    if (input.change === 'other-key') {
      const publicKey = createPublicKey(STRANGERS_KEY)
      return mustBeRefused(() => verifySignature(original, { kid: CLIENT_KEY.kid, publicKey }))
    }
    const changed = change(signed, input)
    return refusedAs(() => {
      const received = receive(changed)
      verifySignature(received, CLIENT_KEY)
      mustHold(received.base === original.base, 'what verifies is what was signed')
      mustHold(
        Buffer.from(received.signature).equals(Buffer.from(original.signature)),
        'a signature has one form'
      )
      mustHold(isSameRequest(changed, signed, covered), 'what is covered cannot be changed')
      return 'the same'
    }, refusalOfSignature)
  }
})

function mustBeRefused(attempt: () => void): string {
  const outcome = refusedAs(() => (attempt(), ACCEPTED), refusalOfSignature)
  mustHold(outcome !== ACCEPTED, 'nobody signs for another')
  return outcome
}

/** Whether everything that is covered is the same but for white space around a field's value. */
function isSameRequest(left: HttpRequestParts, right: HttpRequestParts, covered: readonly string[]): boolean {
  const bodies = [left, right].map(({ body }) => Buffer.from(body ?? []).toString('hex'))
  const isSameField = (name: string): boolean => {
    const values = [left, right].map(({ headers }) =>
      [headers[name] ?? 'absent']
        .flat()
        .map((value) => value.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, ''))
    )
    return values[0]?.join(', ') === values[1]?.join(', ')
  }
  return (
    left.method === right.method &&
    left.targetUri === right.targetUri &&
    bodies[0] === bodies[1] &&
    covered.filter((name) => !name.startsWith('@')).every(isSameField)
  )
}

/** Requests that are signed, and then changed. */
export const SIGNED_REQUEST_TARGETS: readonly AnyTarget[] = [signedRequests]
