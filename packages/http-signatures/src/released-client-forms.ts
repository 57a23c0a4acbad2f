import { type HttpRequestParts, joinedHeader } from './http-request.js'
import { SignatureError } from './signature-error.js'
import type { SignatureHeaders } from './signature-base.js'

/** What every released client writes as its label. */
const LABEL = 'sig1'

/** The characters of a key identifier that a structured field string contains without an escape. */
const KEY_ID = '[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}'
const CREATED = '0|[1-9]\\d{0,14}'
const SIGNATURE = '[A-Za-z0-9+/]{86}=='

/** `open-payments` 0.1.2 for Rust: names without quotes, which no structured field parser reads. */
const RUST_INPUT = new RegExp(
  '^sig1=(\\((@method @target-uri content-type(?: authorization)?(?: content-digest content-length)?)\\)' +
    `;created=(${CREATED});keyid="(${KEY_ID})")$`
)
/** And a signature without a label and without colons. */
const RUST_SIGNATURE = new RegExp(`^(${SIGNATURE})$`)

/** `interledger/open-payments-php` up to 1.1.0: a well-formed input. */
const PHP_INPUT = new RegExp(
  '^sig1=(\\(("@method" "@target-uri"(?: "authorization")?' +
    '(?: "content-digest" "content-length" "content-type")?)\\)' +
    `;keyid="(${KEY_ID})";created=(${CREATED}))$`
)
/** But a signature without colons. */
const PHP_SIGNATURE = new RegExp(`^sig1=(${SIGNATURE})$`)

/**
 * Reads the two headers where they are written exactly as a release of a client writes them that does not keep to
 * RFC 9421: the Rust client 0.1.2 and the PHP client up to 1.1.0. A header in one of these forms is none in the other or in
 * the form of the RFC, and has one signature. The base that the Rust client signs ends with its own unquoted list, so that a
 * signature of the one form never fits the other.
 *
 * @returns undefined where they are written in any other way
 * @throws SignatureError `malformed` for base64 that no encoder writes
 */
export function readReleasedClientForm(request: HttpRequestParts): SignatureHeaders | undefined {
  const signature = joinedHeader(request, 'signature') ?? ''
  // A signature as RFC 9421 writes it, which nearly all are, ends with a colon.
  if (!signature.endsWith('==')) return undefined
  const input = joinedHeader(request, 'signature-input') ?? ''
  return readRustForm(input, signature) ?? readPhpForm(input, signature)
}

function readRustForm(input: string, signature: string): SignatureHeaders | undefined {
  const [, base64] = RUST_SIGNATURE.exec(signature) ?? []
  const [, serializedInput, names, created, keyId] = RUST_INPUT.exec(input) ?? []
  if (base64 === undefined || serializedInput === undefined || names === undefined || keyId === undefined) {
    return undefined
  }
  const components = names.split(' ')
  return createHeaders({ components, serializedInput, created: Number(created), keyId, base64 })
}

function readPhpForm(input: string, signature: string): SignatureHeaders | undefined {
  const [, base64] = PHP_SIGNATURE.exec(signature) ?? []
  const [, serializedInput, names, keyId, created] = PHP_INPUT.exec(input) ?? []
  if (base64 === undefined || serializedInput === undefined || names === undefined || keyId === undefined) {
    return undefined
  }
  const components = names.split(' ').map((name) => name.slice(1, -1))
  return createHeaders({ components, serializedInput, created: Number(created), keyId, base64 })
}

interface ReadForm {
  readonly components: string[]
  readonly serializedInput: string
  readonly created: number
  readonly keyId: string
  readonly base64: string
}

function createHeaders({ components, serializedInput, created, keyId, base64 }: ReadForm): SignatureHeaders {
  const signature = Buffer.from(base64, 'base64')
  // Two texts must not be the same signature: the last character before the padding has bits that are not used.
  if (signature.toString('base64') !== base64) {
    throw new SignatureError('malformed', 'the signature is not canonical base64')
  }
  const parameters = new Map<string, string | number>([
    ['created', created],
    ['keyid', keyId]
  ])
  return { label: LABEL, components, parameters, serializedInput, signature }
}
