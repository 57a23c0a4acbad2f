import { type InnerList, isInnerList, type Item, parseDictionary, parseList } from 'structured-headers'
import { assertComponentName } from './components.js'
import { type HttpRequestParts, joinedHeader } from './http-request.js'
import { readReleasedClientForm } from './released-client-forms.js'
import { type InputHeader, serializeSignatureInput, type SignatureHeaders } from './signature-base.js'
import { SignatureError } from './signature-error.js'

/** The longest `signature-input` header, in characters. */
const SIGNATURE_INPUT_LENGTH_MAX = 4_096

/** The longest `signature` header, in characters; an Ed25519 signature takes 88. */
const SIGNATURE_LENGTH_MAX = 1_024

/** The most components a signature may cover. */
const COVERED_COMPONENTS_MAX = 32

/** The length of an Ed25519 signature, in bytes (RFC 8032). */
const SIGNATURE_BYTES = 64

/**
 * Reads the headers `signature-input` and `signature` (RFC 9421 §4). They must carry exactly one signature, under one
 * label, so this profile never has to choose between several.
 *
 * @param releasedClientForms whether the forms of {@link readReleasedClientForm} are also read
 * @throws SignatureError `missing`, `several`, `malformed`, or `coverage` for a component that is not supported
 */
export function readSignatureHeaders(
  request: HttpRequestParts,
  releasedClientForms = false
): SignatureHeaders {
  const released = releasedClientForms ? readReleasedClientForm(request) : undefined
  if (released !== undefined) return released
  const input = parseInput(readHeader(request, 'signature-input', SIGNATURE_INPUT_LENGTH_MAX))
  const { label, signature } = parseSignature(readHeader(request, 'signature', SIGNATURE_LENGTH_MAX))
  if (input.label !== label) {
    throw new SignatureError('malformed', 'signature-input and signature carry different labels')
  }
  return { ...input, signature }
}

function parseInput(header: string): InputHeader {
  const { label, member } = readSingleMember(header, 'signature-input')
  if (!isInnerList(member)) {
    throw new SignatureError('malformed', 'signature-input is not a list of covered components')
  }
  const components = readComponents(member)
  const [, parameters] = member
  return {
    label,
    components,
    parameters,
    serializedInput: serializeSignatureInput({ components, parameters })
  }
}

function parseSignature(header: string): { label: string; signature: Uint8Array } {
  const { label, member } = readSingleMember(header, 'signature')
  const [bytes] = member
  if (!(bytes instanceof ArrayBuffer) || bytes.byteLength !== SIGNATURE_BYTES) {
    throw new SignatureError('malformed', `the signature is not a sequence of ${SIGNATURE_BYTES} bytes`)
  }
  return { label, signature: new Uint8Array(bytes) }
}

function readComponents([items]: InnerList): string[] {
  if (items.length > COVERED_COMPONENTS_MAX) {
    throw new SignatureError(
      'malformed',
      `the signature covers more than ${COVERED_COMPONENTS_MAX} components`
    )
  }
  const names = items.map(([name, parameters]) => {
    if (typeof name !== 'string') {
      throw new SignatureError('malformed', 'a covered component is not a string')
    }
    assertComponentName(name)
    if (parameters.size > 0) {
      throw new SignatureError('coverage', `parameters of the component ${name} are not supported`)
    }
    return name
  })
  if (new Set(names).size !== names.length) {
    throw new SignatureError('malformed', 'the signature covers a component twice')
  }
  return names
}

function readHeader(request: HttpRequestParts, headerName: string, lengthMax: number): string {
  const header = joinedHeader(request, headerName)
  if (header === undefined || header.trim() === '') {
    throw new SignatureError('missing', `the request has no ${headerName} header`)
  }
  if (header.length > lengthMax) {
    throw new SignatureError('malformed', `${headerName} is longer than ${lengthMax} characters`)
  }
  return header
}

function readSingleMember(header: string, headerName: string): { label: string; member: Item | InnerList } {
  const members = [...parseOrThrow(() => parseDictionary(header), headerName)]
  const [first] = members
  if (first === undefined) {
    throw new SignatureError('missing', `the request has no ${headerName} header`)
  }
  const [label, member] = first
  if (members.length > 1 || isRepeatedLabel(header, label)) {
    throw new SignatureError('several', `${headerName} carries more than one signature`)
  }
  return { label, member }
}

/**
 * Whether a header that parsed to one member repeats that member's label. A dictionary keeps the last value of a
 * repeated key without a word (RFC 9651 §3.2), so a second signature could hide behind it.
 */
function isRepeatedLabel(header: string, label: string): boolean {
  if (!header.includes(',')) {
    return false
  }
  const value = header.trimStart().slice(label.length + 1)
  try {
    return parseList(value).length !== 1
  } catch {
    // The value of one member is a list of one; with a second `label=` in it, it is none.
    return true
  }
}

function parseOrThrow<T>(parse: () => T, headerName: string): T {
  try {
    return parse()
  } catch (cause) {
    throw new SignatureError('malformed', `${headerName} is not a structured field dictionary`, { cause })
  }
}
