import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { HttpErrorStatus } from './http-errors.js'
import { HEADER_COUNT_MAX, TARGET_LENGTH_MAX } from './limits.js'
import { codeOf, errorBody } from './public-error.js'

/** Why a request never reaches the app. */
export interface Refusal {
  /** HTTP status. */
  readonly status: HttpErrorStatus
  /** Text for the caller. Holds nothing of the request. */
  readonly description: string
}

/**
 * Headers that may occur only once. Node keeps the first of some and joins others, so two servers could read one request
 * differently. `Authorization` and the signature headers are checked where they are read.
 */
const GIVEN_ONCE = [
  'host',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'idempotency-key',
  'x-idp-secret'
] as const

/** A request target in origin form (RFC 9112 §3.2.1): visible ASCII that starts with a slash and has no fragment. */
const ORIGIN_FORM = /^\/[\x21\x22\x24-\x7e]*$/

/**
 * Finds an error in the message itself, before anything of it is used.
 *
 * @returns undefined when the app may have it
 */
export function findRefusal(request: IncomingMessage): Refusal | undefined {
  const { rawHeaders, httpVersion, url = '' } = request
  // Node's own limit drops headers silently, and with them what a signature may cover.
  if (rawHeaders.length > 2 * HEADER_COUNT_MAX) return { status: 431, description: 'too many header fields' }
  if (url.length > TARGET_LENGTH_MAX)
    return { status: 414, description: `the address has more than ${String(TARGET_LENGTH_MAX)} characters` }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return { status: 505, description: 'only HTTP/1.1 is spoken here' }
  }
  if (!ORIGIN_FORM.test(url) && !(url === '*' && request.method === 'OPTIONS')) {
    return { status: 400, description: 'the request target must be a path' }
  }
  return findHeaderRefusal(request)
}

function findHeaderRefusal({ headersDistinct, httpVersion }: IncomingMessage): Refusal | undefined {
  const repeated = GIVEN_ONCE.find((name) => (headersDistinct[name]?.length ?? 0) > 1)
  if (repeated !== undefined) return { status: 400, description: `the header ${repeated} is repeated` }
  if (headersDistinct.host === undefined && httpVersion === '1.1') {
    return { status: 400, description: 'the header host is missing' }
  }
  const [transferCoding] = headersDistinct['transfer-encoding'] ?? []
  if (transferCoding === undefined) return undefined
  if (httpVersion === '1.0') return { status: 400, description: 'HTTP/1.0 has no transfer codings' }
  return transferCoding.toLowerCase() === 'chunked'
    ? undefined
    : { status: 501, description: 'only the transfer coding chunked is known' }
}

/**
 * The answer to an error of Node's parser.
 *
 * @param code the error's code
 * @returns undefined when there is no client to answer
 */
export function refusalOf(code: string | undefined): Refusal | undefined {
  switch (code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, description: 'the request took too long' }
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, description: 'the headers are too large' }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, description: 'the body is too large' }
    default:
      return { status: 400, description: 'the request cannot be read' }
  }
}

/**
 * Answers a request that does not reach the app.
 *
 * @param badRequestCode as in the app
 */
export function refuse(response: ServerResponse, refusal: Refusal, badRequestCode: string): void {
  const { headers, body } = answerOf(refusal, badRequestCode)
  response.writeHead(refusal.status, headers).end(body)
}

/** The same as bytes, for a connection without a request yet. */
export function refusalBytes(refusal: Refusal, badRequestCode: string): string {
  const { headers, body } = answerOf(refusal, badRequestCode)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const reason = STATUS_CODES[refusal.status] ?? ''
  return [`HTTP/1.1 ${String(refusal.status)} ${reason}`, ...lines, '', body].join('\r\n')
}

function answerOf(
  { status, description }: Refusal,
  badRequestCode: string
): { headers: Readonly<Record<string, string>>; body: string } {
  const body = JSON.stringify(errorBody(codeOf(status, badRequestCode), description))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close'
  }
  return { headers, body }
}
