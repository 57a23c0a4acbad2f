import { type Parameters, serializeInnerList } from 'structured-headers'
import { componentValue } from './components.js'
import type { HttpRequestParts } from './http-request.js'

/** What a signature covers: component names in order, none with parameters, and the signature's parameters in order. */
export interface SignatureInput {
  readonly components: readonly string[]
  readonly parameters: Parameters
}

/** The canonical form of a signature's input: the value of its `Signature-Input` member (RFC 9421 §2.3). */
export function serializeSignatureInput({ components, parameters }: SignatureInput): string {
  return serializeInnerList([components.map((name) => [name, new Map<string, never>()]), parameters])
}

/** What a signature covers, and the canonical form of its input. */
export interface CoveredInput {
  /** Names, in order. */
  readonly components: readonly string[]
  /** As {@link serializeSignatureInput} writes it. */
  readonly serializedInput: string
}

/**
 * The signature base (RFC 9421 §2.5): the ASCII text that is signed. Why it is built here rather than by
 * `http-message-signatures`: see docs/decisions/own-signature-base.md.
 *
 * @throws SignatureError when the request lacks a component or has an unsignable value
 */
export function signatureBase(
  request: HttpRequestParts,
  { components, serializedInput }: CoveredInput
): string {
  let base = ''
  for (const name of components) base += `"${name}": ${componentValue(request, name)}\n`
  return `${base}"@signature-params": ${serializedInput}`
}

/** What `signature-input` says. */
export interface InputHeader extends CoveredInput {
  readonly label: string
  readonly parameters: Parameters
}

/** The one signature of a request, as its two headers carry it. Nothing in it is checked against the request yet. */
export interface SignatureHeaders extends InputHeader {
  readonly signature: Uint8Array
}
