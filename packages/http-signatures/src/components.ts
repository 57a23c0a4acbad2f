import { type HttpRequestParts, headerValues } from './http-request.js'
import { SignatureError } from './signature-error.js'

const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const TARGET_URI = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/
const SIGNABLE_VALUE = /^[\t\x20-\x7e]*$/
const LINE_FOLD = /\r?\n(?=[ \t])/
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' }

/**
 * The derived components (RFC 9421 §2.2) that this profile supports. Each is taken from the target URI as it is:
 * normalising it would sign, or verify, another request than the one that is served.
 */
const DERIVED_COMPONENTS = new Map<string, (request: HttpRequestParts) => string>([
  ['@method', (request) => request.method],
  ['@target-uri', (request) => request.targetUri],
  ['@authority', (request) => splitTargetUri(request).authority],
  ['@scheme', (request) => splitTargetUri(request).scheme],
  ['@request-target', (request) => splitTargetUri(request).path + splitTargetUri(request).query],
  ['@path', (request) => splitTargetUri(request).path],
  // RFC 9421 §2.2.7: an absent query is a lone question mark.
  ['@query', (request) => splitTargetUri(request).query || '?']
])

/**
 * Checks that a name is a component this profile supports: a derived component of {@link DERIVED_COMPONENTS}, or a
 * header field in lower case.
 *
 * @throws SignatureError `coverage` for another derived component, `malformed` for what is no name at all
 */
export function assertComponentName(name: string): void {
  if (name.startsWith('@')) {
    if (!DERIVED_COMPONENTS.has(name)) {
      throw new SignatureError('coverage', `the component ${describeName(name)} is not supported`)
    }
  } else if (!FIELD_NAME.test(name)) {
    throw new SignatureError('malformed', 'a covered component is not a field name in lower case')
  }
}

/**
 * The value of a component in the signature base (RFC 9421 §2).
 *
 * @param name a name that {@link assertComponentName} accepts
 * @throws SignatureError `coverage` when the request does not have the header, `malformed` when the value is not
 *   printable ASCII
 */
export function componentValue(request: HttpRequestParts, name: string): string {
  const derive = DERIVED_COMPONENTS.get(name)
  const value = derive === undefined ? combinedFieldValue(request, name) : derive(request)
  // A line break would let a value pass for another line of the base, and the base is ASCII (RFC 9421 §2.5).
  if (!SIGNABLE_VALUE.test(value)) {
    throw new SignatureError('malformed', `the value of ${describeName(name)} is not printable ASCII`)
  }
  return value
}

/** The combined value of a header field (RFC 9421 §2.1). */
function combinedFieldValue(request: HttpRequestParts, name: string): string {
  const values = headerValues(request, name)
  if (values === undefined) {
    throw new SignatureError(
      'coverage',
      `the signature covers ${describeName(name)}, which the request does not have`
    )
  }
  const [first = '', ...others] = values
  return others.length === 0 ? fieldValue(first) : values.map(fieldValue).join(', ')
}

/** A field value without the white space around it, and with obsolete line folding replaced by a space. */
function fieldValue(value: string): string {
  return value.includes('\n')
    ? withoutSpaceAround(value.split(LINE_FOLD).map(withoutSpaceAround).join(' '))
    : withoutSpaceAround(value)
}

/** No regular expression: trimming the end would be quadratic in inner spaces. */
function withoutSpaceAround(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isSpace(value.charAt(start))) start += 1
  while (end > start && isSpace(value.charAt(end - 1))) end -= 1
  return value.slice(start, end)
}

function isSpace(character: string): boolean {
  return character === ' ' || character === '\t'
}

function splitTargetUri({
  targetUri
}: HttpRequestParts): Record<'scheme' | 'authority' | 'path' | 'query', string> {
  const match = TARGET_URI.exec(targetUri)
  if (match === null) {
    throw new SignatureError('malformed', 'the target URI is not an absolute URI')
  }
  const [, scheme = '', authority = '', path = '', query = ''] = match
  return {
    scheme: scheme.toLowerCase(),
    authority: withoutDefaultPort(authority.toLowerCase(), scheme.toLowerCase()),
    path: path || '/',
    query
  }
}

function withoutDefaultPort(authority: string, scheme: string): string {
  const port = DEFAULT_PORTS[scheme]
  return port !== undefined && authority.endsWith(port) ? authority.slice(0, -port.length) : authority
}

/** The longest part of a client's own text that a message repeats, in characters. */
const DESCRIBED_LENGTH_MAX = 64

function describeName(name: string): string {
  return name.length > DESCRIBED_LENGTH_MAX ? `${name.slice(0, DESCRIBED_LENGTH_MAX)}…` : name
}
