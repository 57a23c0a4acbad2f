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

/**
 * The signature base (RFC 9421 §2.5): the ASCII text that is signed.
 *
 * @throws SignatureError when the request lacks a component or has an unsignable value
 */
export function signatureBase(request: HttpRequestParts, input: SignatureInput): string {
  const lines = input.components.map((name) => `"${name}": ${componentValue(request, name)}`)
  return [...lines, `"@signature-params": ${serializeSignatureInput(input)}`].join('\n')
}
