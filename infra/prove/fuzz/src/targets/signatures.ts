import { createHash, createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto'
import {
  DEFAULT_POLICY,
  type HttpRequestParts,
  type ReceivedSignature,
  receiveSignature,
  SignatureError,
  verifySignature
} from '@open-payments-server/http-signatures'
import { signRequest } from '@open-payments-server/http-signatures/sign'
import fc from 'fast-check'
import {
  anyText,
  characterOf,
  editsOf,
  grown,
  joined,
  mixed,
  mutated,
  oddPiece,
  withEdits,
  word
} from '../generators/text.js'
import { ACCEPTED, mustHold, resultOf, type RefusalKind, target } from '../target.js'

/** Maximum length of a header section, in bytes. */
const HEADER_BYTES_MAX = 16_384
/** The moment at which everything is signed and received, in seconds since 1970. */
const NOW_SECONDS = 1_767_225_600
/** The order of the group of Ed25519 (RFC 8032 §5.1): adding it to a signature must not make another valid one. */
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

/** A fixed key, so that a seed gives the same cases in every run. */
function privateKeyOf(byte: string): KeyObject {
  const key = Buffer.from(`302e020100300506032b657004220420${byte.repeat(32)}`, 'hex')
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

const clientsKey = privateKeyOf('11')
const strangersKey = privateKeyOf('22')
const CLIENT = { kid: 'client-key', publicKey: createPublicKey(clientsKey) }

const refusal: RefusalKind = (error) => (error instanceof SignatureError ? error.reason : undefined)

/** Receives a signature as the services do. */
function receive(request: HttpRequestParts): ReceivedSignature {
  return receiveSignature(request, DEFAULT_POLICY, NOW_SECONDS * 1_000)
}

// Structured fields (RFC 9651) of every type and with extreme values, and texts that are nearly such fields.

const knownItem = word(
  String.raw`"" "a" "\"" "\\" "\a" " 0 1 -0 00 -1 +1 - 999999999999999 -999999999999999 1000000000000000 ${'9'.repeat(40)} 0.0 -0.0
  1. .5 1.0000 999999999999.999 1000000000000.0 1e3 a A * a/b a:b gnap ed25519 sha-256 a!#$%&'*+-.^_~ : :: :=: :a: :====: :AAAA
  :AAAA: :AAA_: :AAAB==: @ @- @0 @-0 @1.5 @999999999999999 %"" %"a" %"%c3%a9" %"%C3%A9" %"%ff" %"%f0%9f%98%80" %"%0a" %" %a
  ?0 ?1 ? ?2 ?true (a)`
)
const properString = fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text))
const integer = fc.integer().map(String)
const bareItem = mixed([6, knownItem], [2, properString], [2, integer], [2, mutated(knownItem)])
const oddKey = word(`__proto__ constructor A 9a -a ${'a'.repeat(300)}`)
const key = mixed([4, word('sig1 sig2 a sha-256 sha-512 * *a a_b-c.d* x9')], [1, oddKey], [1, anyText])
const valueOfKey = mixed([1, fc.constant('')], [4, joined(word('='), bareItem)])
const parameters = listed(joined(fc.constantFrom(';', ';', ';', '; ', ';\t'), key, valueOfKey), '')
const innerList = joined(word('('), fc.oneof(listed(bareItem, ' '), listed(bareItem, ',')), word(')'))
const dictionary = listed(joined(key, word('='), fc.oneof(bareItem, innerList), parameters), ', ')
const pieces = word(
  String.raw`( ) " \ \" ; ;a ;a=1 ;req , a=1, a, : :AAAA: 9 ?1 @1 %" %ff = - . * "a" ("a"), sig1=("@method"), "@status" "x-one"`
)
const fieldPiece = mixed([1, knownItem], [2, pieces], [1, fc.constantFrom(' ', '\t', ', ')], [1, oddPiece])

/** Of maximum length; white space, which is trimmed, is more frequent. */
const longText = grown(mixed([1, fc.constantFrom(' ', '\t')], [2, fieldPiece]), HEADER_BYTES_MAX, fieldPiece)

/** Up to five texts with a separator between them. */
function listed(texts: fc.Arbitrary<string>, separator: string): fc.Arbitrary<string> {
  return fc.array(texts, { maxLength: 5 }).map((some) => some.join(separator))
}

// Requests that are changed after they were signed.

const FIELDS = ['x-one', 'x-two', 'content-type', 'authorization'] as const
const visible = fc.string({ unit: characterOf("abcXYZ019-._~!$&'()*+,;=:@%/"), maxLength: 30 })
const fieldValue = fc.string({ unit: characterOf('aZ09 \t",;=:()\\/@'), maxLength: 20 })
// As every client sends it that builds its requests from a URL, including the signing library. An empty query is left out, because
// that library omits its question mark from `@request-target` (docs/decisions/own-signature-base.md).
const targetUri = fc
  .tuple(visible, visible)
  .map(([path, query]) => new URL(`https://wallet.example/${path}${query && `?${query}`}`).href)
const unsigned = fc.record({
  method: word('GET POST DELETE'),
  targetUri,
  headers: fc.record(Object.fromEntries(FIELDS.map((name) => [name, fieldValue])), {
    requiredKeys: ['authorization']
  }),
  body: fc.option(fc.uint8Array({ maxLength: 60 }), { nil: undefined })
})
const options = {
  label: word('sig1 a *x gnap-1'),
  createdSeconds: fc.integer({ min: NOW_SECONDS - 300, max: NOW_SECONDS + 30 }),
  nonce: fc.string({ minLength: 1, maxLength: 20 }),
  tag: fc.constant('gnap'),
  expiresSeconds: fc.constant(NOW_SECONDS + 60),
  includeAlg: fc.boolean()
}
const MAIN = ['signature-input', 'signature', 'content-digest', 'authorization', 'targetUri'] as const

const cases = fc.record({
  request: unsigned,
  options: fc.record(options, { requiredKeys: ['label', 'createdSeconds'] }),
  derived: fc.subarray(['@authority', '@scheme', '@path', '@query', '@request-target']),
  /** The order of the covered components. */
  order: fc.nat(),
  /** What is changed after signing, and how. */
  part: fc.constantFrom(...MAIN, ...MAIN, 'method', 'body', ...FIELDS),
  way: word(
    'none none edited edited edited replaced appended emptied bit absent twice long scalar respelled'
  ),
  edits: editsOf(mixed([1, visible], [1, fieldValue], [2, fieldPiece])),
  other: fc.oneof(dictionary, anyText),
  long: longText,
  host: word('WALLET.example wallet.example:443 wallet.example/. wallet.example/x/..')
})
type Case = typeof cases extends fc.Arbitrary<infer One> ? One : never

/** The covered components: all required and all present ones, in some order. */
function coveredBy({ request, derived, order }: Case): string[] {
  const fields = FIELDS.filter((name) => request.headers[name] !== undefined)
  const digest = (request.body ?? []).length > 0 ? ['content-digest'] : []
  const all = ['@method', '@target-uri', ...derived, ...fields, ...digest]
  const turn = order % all.length
  return [...all.slice(turn), ...all.slice(0, turn)]
}

/** A signed request with one thing changed. */
function changed(signed: HttpRequestParts, { part, way, order, edits, ...given }: Case): HttpRequestParts {
  const withHeader = (name: string, value: string | string[] | undefined): HttpRequestParts => ({
    ...signed,
    headers: { ...signed.headers, [name]: value }
  })
  const waysOf = (text: string): Readonly<Record<string, string>> => ({
    edited: withEdits(text, edits),
    replaced: given.other,
    appended: `${text}, ${given.other}`,
    emptied: text.replace(/:[^:]*:/, '::'),
    bit: withOtherBit(text, order),
    long: given.long
  })
  const edited = (text: string): string => waysOf(text)[way] ?? withEdits(text, edits)
  if (way === 'scalar') return withHeader('signature', withOtherScalar(headerOf(signed, 'signature')))
  if (way === 'respelled')
    return { ...signed, targetUri: signed.targetUri.replace('wallet.example', given.host) }
  if (part === 'method' || part === 'targetUri') return { ...signed, [part]: edited(signed[part]) }
  if (part === 'body') {
    const body = edited(Buffer.from(signed.body ?? []).toString('latin1'))
    return { ...signed, body: way === 'absent' ? undefined : Buffer.from(body, 'latin1') }
  }
  const value = headerOf(signed, part)
  if (way === 'absent') return withHeader(part, undefined)
  return withHeader(part, way === 'twice' ? [value, withEdits(value, edits)] : edited(value))
}

/** A text with one bit of one of its characters changed. */
function withOtherBit(text: string, place: number): string {
  const at = place % (text.length + 1)
  const other = String.fromCharCode(text.charCodeAt(at) ^ (1 << (place % 5)))
  return text.slice(0, at) + other + text.slice(at + 1)
}

/** The same point, with a scalar that is equal in the group but not canonical. */
function withOtherScalar(header: string): string {
  const [name = '', base64 = ''] = header.split(':')
  const bytes = Buffer.from(base64, 'base64')
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + GROUP_ORDER
  const other = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse()
  return `${name}:${Buffer.concat([bytes.subarray(0, 32), other]).toString('base64')}:`
}

/** A header's values as one; empty when it is absent. */
function headerOf({ headers }: HttpRequestParts, name: string): string {
  return [headers[name] ?? ''].flat().join(', ')
}

const signedRequests = target({
  name: 'signed requests, one thing changed',
  share: 2_300,
  cases,
  attack(input) {
    const { request } = input
    const covered = coveredBy(input)
    const signing = { ...input.options, keyId: CLIENT.kid, components: covered }
    const sign = (privateKey: KeyObject): HttpRequestParts => ({
      ...request,
      headers: { ...request.headers, ...signRequest(request, { ...signing, privateKey }) }
    })
    const signed = sign(clientsKey)
    const original = receive(signed)
    mustHold({ 'what was signed verifies': isBy(CLIENT, original) })
    if (input.way === 'none') {
      const stranger = { ...CLIENT, publicKey: createPublicKey(strangersKey) }
      const isForged = isBy(CLIENT, receive(sign(strangersKey))) || isBy(stranger, original)
      mustHold({ 'nobody signs for another': !isForged })
      return ACCEPTED
    }
    const attempted = changed(signed, input)
    let received: ReceivedSignature | undefined
    const result = resultOf(() => {
      received = receive(attempted)
    }, refusal)
    if (received === undefined) return result
    const isVerified = isBy(CLIENT, received)
    mustBeSound(attempted, received)
    // The same result as node:crypto.
    const isGenuine = verify(null, Buffer.from(received.base), CLIENT.publicKey, received.signature)
    const isSame = tellCovered(attempted, covered) === tellCovered(signed, covered)
    const isSameSignature = Buffer.compare(received.signature, original.signature) === 0
    mustHold({
      'only what was signed verifies': isVerified === (isGenuine && received.keyId === CLIENT.kid),
      'what verifies is what was signed': !isVerified || received.base === original.base,
      'a signature has one form': !isVerified || isSameSignature,
      'what is covered cannot be changed': !isVerified || isSame
    })
    return isVerified ? 'the same' : 'mismatch'
  }
})

function isBy(client: typeof CLIENT, received: ReceivedSignature): boolean {
  return resultOf(verifySignature.bind(undefined, received, client), refusal) === ACCEPTED
}

/** Properties of a signature that passed every check without a key. */
function mustBeSound(request: HttpRequestParts, { base, createdSeconds }: ReceivedSignature): void {
  const lines = base.split('\n')
  const component = /^"[@!#$%&'*+\-.^_`|~0-9a-z]+": [\t\x20-\x7e]*$/
  const { body = Buffer.alloc(0) } = request
  const given = [...headerOf(request, 'content-digest').matchAll(/:([^:]*):/g)].map(([, text = '']) =>
    Buffer.from(text, 'base64').toString('hex')
  )
  const right = ['sha256', 'sha512'].map((name) => createHash(name).update(body).digest('hex'))
  mustHold({
    'every line of a signature base is one component': lines.every((line) => component.test(line)),
    'a signature base has its parameters once':
      lines.filter((line) => line.startsWith('"@signature-params": ')).length === 1,
    'what is received is fresh': createdSeconds >= NOW_SECONDS - 300 && createdSeconds <= NOW_SECONDS + 30,
    'a body has its digest in the header': body.length === 0 || right.some((digest) => given.includes(digest))
  })
}

/** All covered content, except for white space around a field's value and its folding (RFC 9421 §2.1). */
function tellCovered(
  { method, targetUri: uri, headers, body }: HttpRequestParts,
  names: readonly string[]
): string {
  const trimmed = (value: string): string => value.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')
  const unfolded = (value: string): string =>
    trimmed(
      value
        .split(/\r?\n(?=[ \t])/)
        .map(trimmed)
        .join(' ')
    )
  const fields = names.map((name) => [headers[name] ?? 'absent'].flat().map(unfolded).join(', '))
  return JSON.stringify([method, uri, Buffer.from(body ?? []).toString('hex'), ...fields])
}

/** Signed requests, and arbitrary content in the headers that authenticate them. */
export const SIGNATURE_TARGETS = [signedRequests]
