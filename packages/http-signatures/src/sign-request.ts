import { type KeyObject, sign } from 'node:crypto'
import { serializeDictionary } from 'structured-headers'
import { assertComponentName } from './components.js'
import { contentDigest } from './content-digest.js'
import { hasBody, type HttpRequestParts, joinedHeader } from './http-request.js'
import { SIGNATURE_ALGORITHM } from './receive-signature.js'
import { serializeSignatureInput, signatureBase } from './signature-base.js'
import { SignatureError } from './signature-error.js'

/** How to sign a request. Times are in seconds since 1970. */
export interface SigningOptions {
  /** An Ed25519 private key. */
  readonly privateKey: KeyObject
  /** The `kid` under which the public key is published. */
  readonly keyId: string
  readonly createdSeconds: number
  /** `sig1` by default, the label of the Open Payments clients. */
  readonly label?: string
  readonly nonce?: string
  readonly tag?: string
  readonly expiresSeconds?: number
  /** What to cover; {@link defaultComponents} when left out. */
  readonly components?: readonly string[]
  /** Whether to state `alg="ed25519"`. */
  readonly includeAlg?: boolean
}

/**
 * Signs a request (RFC 9421, Ed25519).
 *
 * @returns the headers to add, names in lower case: `content-digest` when there is a body, `signature-input` and
 *   `signature`. A `content-digest` that the request already has is kept
 * @throws SignatureError when a component is not supported or the request does not have it, or `key` when the key is
 *   not an Ed25519 private key
 */
export function signRequest(request: HttpRequestParts, options: SigningOptions): Record<string, string> {
  const { privateKey, label = 'sig1' } = options
  if (privateKey.type !== 'private' || privateKey.asymmetricKeyType !== 'ed25519') {
    throw new SignatureError('key', 'the key is not an Ed25519 private key')
  }
  const digestHeader: Record<string, string> = hasBody(request)
    ? { 'content-digest': joinedHeader(request, 'content-digest') ?? contentDigest(request.body) }
    : {}
  const digested: HttpRequestParts = { ...request, headers: { ...request.headers, ...digestHeader } }
  const components = options.components ?? defaultComponents(digested)
  components.forEach(assertComponentName)
  const serializedInput = serializeSignatureInput({ components, parameters: signatureParameters(options) })
  const base = signatureBase(digested, { components, serializedInput })
  const signature = sign(null, Buffer.from(base, 'ascii'), privateKey)
  return {
    ...digestHeader,
    'signature-input': `${label}=${serializedInput}`,
    signature: serializeDictionary({ [label]: signature })
  }
}

/**
 * What the Open Payments clients cover: `@method`, `@target-uri`, `authorization` when the request has it, and with a
 * body `content-digest`, and `content-length` and `content-type` when the request has them.
 */
function defaultComponents(request: HttpRequestParts): string[] {
  const fields = [
    'authorization',
    ...(hasBody(request) ? ['content-digest', 'content-length', 'content-type'] : [])
  ]
  return ['@method', '@target-uri', ...fields.filter((name) => joinedHeader(request, name) !== undefined)]
}

function signatureParameters(options: SigningOptions): Map<string, string | number> {
  const parameters: readonly (readonly [name: string, value: string | number | undefined])[] = [
    ['created', options.createdSeconds],
    ['expires', options.expiresSeconds],
    ['keyid', options.keyId],
    ['nonce', options.nonce],
    ['alg', options.includeAlg === true ? SIGNATURE_ALGORITHM : undefined],
    ['tag', options.tag]
  ]
  return new Map(parameters.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])))
}
