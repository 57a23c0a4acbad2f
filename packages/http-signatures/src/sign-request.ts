import { type KeyObject, sign } from 'node:crypto'
import { httpbis } from 'http-message-signatures'
import { type InnerList, serializeDictionary, serializeInnerList } from 'structured-headers'
import { assertComponentName, componentValue } from './components.js'
import { contentDigest } from './content-digest.js'
import { hasBody, type HttpRequestParts, joinedHeader } from './http-request.js'
import { SIGNATURE_ALGORITHM } from './receive-signature.js'
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
  /** In which order the parameters stand; {@link PARAMETER_ORDER} when left out. What is not named is left out. */
  readonly parameterOrder?: readonly string[]
}

/** `keyid` before `created`, as the official JavaScript client writes them, and then what it does not write. */
const PARAMETER_ORDER = ['keyid', 'created', 'expires', 'nonce', 'alg', 'tag'] as const

/**
 * Signs a request (RFC 9421, Ed25519), as the official JavaScript client does: with the signature base of
 * `http-message-signatures`, and with `keyid` before `created`. Verifying builds its base itself, so that a mistake in either
 * shows as a signature that does not fit.
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
  for (const name of components) {
    assertComponentName(name)
    componentValue(digested, name)
  }
  const base = httpbis.createSignatureBase({ fields: [...components] }, libraryMessage(digested))
  const list: InnerList = [
    components.map((name) => [name, new Map<string, never>()]),
    signatureParameters(options)
  ]
  const serializedInput = serializeInnerList(list)
  base.push(['"@signature-params"', [serializedInput]])
  const signature = sign(null, Buffer.from(httpbis.formatSignatureBase(base)), privateKey)
  return {
    ...digestHeader,
    'signature-input': `${label}=${serializedInput}`,
    signature: serializeDictionary({ [label]: signature })
  }
}

/** A request as `http-message-signatures` takes it. */
function libraryMessage({ method, targetUri, headers }: HttpRequestParts): {
  method: string
  url: string
  headers: Record<string, string | string[]>
} {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]] as const]
  )
  return { method, url: targetUri, headers: Object.fromEntries(entries) }
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
  const values = new Map<string, string | number | undefined>([
    ['keyid', options.keyId],
    ['created', options.createdSeconds],
    ['expires', options.expiresSeconds],
    ['nonce', options.nonce],
    ['alg', options.includeAlg === true ? SIGNATURE_ALGORITHM : undefined],
    ['tag', options.tag]
  ])
  const { parameterOrder = PARAMETER_ORDER } = options
  return new Map(
    parameterOrder.flatMap((name) => {
      const value = values.get(name)
      return value === undefined ? [] : [[name, value] as const]
    })
  )
}
