import { Agent, type Dispatcher, errors } from 'undici'
import { Admission, type Ending } from './admission.js'
import { OutgoingRequestError, type OutgoingRequestErrorReason } from './errors.js'
import { createNameServerLookup, GuardedLookups, type Lookup, systemLookup } from './lookup.js'
import { maxAgeSeconds } from './max-age.js'
import { readJson } from './read-json.js'
import { startRequestSpan } from './request-span.js'
import { parseTarget } from './target.js'

/** Most bytes of an answer's headers. */
export const HEADER_BYTES_MAX = 16_384

/** Most connections to one host, unless the client's owner says otherwise. */
const CONNECTIONS_PER_HOST_MAX = 8

/** How long an unused connection is kept. The other side may ask for less, not for more. */
const IDLE_CONNECTION_MS = 4_000

/** Settings of a client. */
export interface SafeHttpClientOptions {
  /** For development only: also allows private addresses, `http:` and every port. */
  readonly allowPrivateNetworks: boolean
  /** How long a request may take in all: look-up, connection and the whole answer. */
  readonly timeoutMs: number
  /** Most bytes of an answer's body. */
  readonly bodyBytesMax: number
  /** How the client calls itself to others. */
  readonly userAgent: string
  /** Finds the addresses of hosts; unless given, the name servers are asked, and the system for development. */
  readonly lookup?: Lookup | undefined
  /** Origins that always have places: hosts of our own. */
  readonly ownOrigins?: readonly string[] | undefined
  /** Most connections to one host. */
  readonly connectionsMax?: number | undefined
}

/** An answer: its status is a success. */
export interface JsonResponse {
  readonly status: number
  /** Names in lower case; the values of a repeated header joined with commas. */
  readonly headers: Readonly<Record<string, string>>
  /** What the body says; whoever asked must check its shape. */
  readonly body: unknown
  /** How long the answer may be kept, from `Cache-Control` and `Age`; `undefined` when it does not say. */
  readonly maxAgeSeconds: number | undefined
}

/** Fetches JSON from hosts that strangers name. */
export interface SafeHttpClient {
  /**
   * Fetches a JSON document.
   *
   * @param options.accept media types to ask for; `application/json` unless given
   * @param options.signal gives the request up; it then fails with the signal's reason
   * @throws OutgoingRequestError
   */
  getJson(
    url: string,
    options?: { readonly accept?: string | undefined; readonly signal?: AbortSignal | undefined }
  ): Promise<JsonResponse>
  /**
   * Tells that somebody who is known now stands behind the host of a URL. For an hour, or until it does not answer, strangers
   * cannot take its places.
   *
   * @param url one that may be fetched
   */
  vouchFor(url: string): void
  /** Waits for the running requests, then closes every connection. */
  close(): Promise<void>
}

/**
 * A client for fetching what strangers point to, which cannot be turned against the network it runs in: HTTPS on its
 * default port, only to addresses on the public internet (checked on the address connected to), no redirects, no proxies,
 * no compression, and with limits on time, size and number.
 */
export function createSafeHttpClient(options: SafeHttpClientOptions): SafeHttpClient {
  const { allowPrivateNetworks, timeoutMs, bodyBytesMax, userAgent } = options
  const lookup = options.lookup ?? (allowPrivateNetworks ? systemLookup : createNameServerLookup())
  const lookups = new GuardedLookups(lookup, allowPrivateNetworks)
  const agent = new Agent({
    connect: {
      lookup: lookups.lookup,
      timeout: timeoutMs,
      // Stands whatever the environment says of certificates.
      rejectUnauthorized: true
    },
    connections: options.connectionsMax ?? CONNECTIONS_PER_HOST_MAX,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: IDLE_CONNECTION_MS
  })
  const admission = new Admission(options.ownOrigins)

  const fetchJson = async (url: URL, accept: string, signal: AbortSignal): Promise<JsonResponse> => {
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      headers: { accept, 'accept-encoding': 'identity', 'user-agent': userAgent },
      signal
    })
    const headers = flatten(response.headers)
    const body = await readJson(response, headers, bodyBytesMax)
    return { status: response.statusCode, headers, body, maxAgeSeconds: maxAgeSeconds(headers) }
  }

  return {
    async getJson(url, { accept = 'application/json', signal } = {}) {
      const target = parseTarget(url, allowPrivateNetworks)
      signal?.throwIfAborted()
      const leave = admission.enter(target.origin)
      const endLookup = lookups.want(target.hostname)
      const limit = startLimit(timeoutMs, signal)
      const span = startRequestSpan(target)
      try {
        // undici notices an abort only once a connection is there, so the limit is waited for beside it.
        const response = await Promise.race([fetchJson(target, accept, limit.signal), limit.passed])
        leave('answered')
        span?.answered(response.status)
        return response
      } catch (error) {
        const failure: unknown = limit.signal.aborted ? limit.signal.reason : failureOf(error)
        leave(endingOf(failure))
        span?.failed(failure)
        throw failure
      } finally {
        limit.clear()
        endLookup()
      }
    },
    vouchFor(url) {
      admission.vouchFor(new URL(url).origin)
    },
    close: () => agent.close()
  }
}

function endingOf(failure: unknown): Ending {
  if (!(failure instanceof OutgoingRequestError)) return 'given up'
  // With a status there was an answer, if not the one that was wanted: the host is there, and not slow.
  return failure.status === undefined ? 'not answered' : 'answered'
}

interface Limit {
  readonly signal: AbortSignal
  /** Rejects when the limit has passed. */
  readonly passed: Promise<never>
  clear(): void
}

/** Aborts after a time, or when the caller does. */
function startLimit(timeoutMs: number, outer: AbortSignal | undefined): Limit {
  const abort = new AbortController()
  const onOuterAbort = (): void => {
    abort.abort(outer?.reason)
  }
  const timer = setTimeout(() => {
    abort.abort(new OutgoingRequestError({ reason: 'timeout', message: 'Not answered in time' }))
  }, timeoutMs)
  outer?.addEventListener('abort', onOuterAbort, { once: true })
  const passed = new Promise<never>((_, reject) => {
    abort.signal.addEventListener('abort', () => {
      reject(abort.signal.reason as Error)
    })
  })
  return {
    signal: abort.signal,
    passed,
    clear() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', onOuterAbort)
    }
  }
}

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

/** What undici's errors mean here; the first that fits. */
const FAILURES: readonly (readonly [
  type: abstract new (...args: never[]) => Error,
  reason: OutgoingRequestErrorReason,
  message: string
])[] = [
  [errors.ConnectTimeoutError, 'timeout', 'Not answered in time'],
  [errors.HeadersTimeoutError, 'timeout', 'Not answered in time'],
  [errors.BodyTimeoutError, 'timeout', 'Not answered in time'],
  [errors.HeadersOverflowError, 'too-large', 'The headers of the answer are too large'],
  [errors.HTTPParserError, 'malformed', 'The answer is not HTTP']
]

function failureOf(error: unknown): OutgoingRequestError {
  if (error instanceof OutgoingRequestError) return error
  const [, reason, message] = FAILURES.find(([type]) => error instanceof type) ?? [
    undefined,
    'network' as const,
    'No connection, or it broke'
  ]
  return new OutgoingRequestError({ reason, message, cause: error })
}
