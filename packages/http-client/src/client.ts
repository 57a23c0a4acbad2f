import { Agent, type Dispatcher } from 'undici'
import { Admission, type Ending } from './admission.js'
import { OutgoingRequestError } from './errors.js'
import { failureOf } from './failure-of.js'
import { createNameServerLookup, GuardedLookups, type Lookup, systemLookup } from './lookup.js'
import { maxAgeSeconds } from './max-age.js'
import { isPublicAddress } from './public-address.js'
import { readJson } from './read-json.js'
import { startRequestSpan } from './request-span.js'
import { parseTarget } from './target.js'
import { startTimeLimit } from './time-limit.js'

/** Maximum size of an answer's headers, in bytes. */
export const HEADER_BYTES_MAX = 16_384

/** Maximum number of connections to one host, unless configured otherwise. */
const CONNECTIONS_PER_HOST_MAX = 8

/** How long an idle connection is kept. The other side may request less, not more. */
const IDLE_CONNECTION_MS = 4_000

/** Settings of a client. */
export interface SafeHttpClientOptions {
  /** For development only: also allows private addresses, `http:` and every port. */
  readonly allowPrivateNetworks: boolean
  /** Maximum duration of a request in total: lookup, connection and the whole answer. */
  readonly timeoutMs: number
  /** Maximum size of an answer's body, in bytes. */
  readonly bodyBytesMax: number
  /** Its `User-Agent`. */
  readonly userAgent: string
  /** Resolves hosts; by default the name servers are asked, and the system in development. */
  readonly lookup?: Lookup | undefined
  /** Origins that always have slots: our own hosts. */
  readonly ownOrigins?: readonly string[] | undefined
  /** Maximum number of connections to one host. */
  readonly connectionsMax?: number | undefined
}

/** A successful answer. */
export interface JsonResponse {
  readonly status: number
  /** Names in lower case; the values of a repeated header joined with commas. */
  readonly headers: Readonly<Record<string, string>>
  /** The parsed body; the caller must check its shape. */
  readonly body: unknown
  /** How long the answer may be cached, from `Cache-Control` and `Age`; `undefined` when it does not say. */
  readonly maxAgeSeconds: number | undefined
}

/** Fetches JSON from hosts that strangers name. */
export interface SafeHttpClient {
  /**
   * Fetches a JSON document.
   *
   * @param options.accept media types to request; default `application/json`
   * @param options.signal aborts the request; it then fails with the signal's reason
   * @throws OutgoingRequestError
   */
  getJson(
    url: string,
    options?: { readonly accept?: string | undefined; readonly signal?: AbortSignal | undefined }
  ): Promise<JsonResponse>
  /**
   * Vouches for the host of a URL. For an hour, or until it does not answer, strangers cannot take its slots.
   *
   * @param url one that may be fetched
   */
  vouchFor(url: string): void
  /** Waits for the running requests, then closes every connection. */
  close(): Promise<void>
}

/**
 * A client for fetching what strangers point to, which cannot be turned against the network it runs in: HTTPS on its
 * default port, only to addresses on the public internet (checked at connection time), no redirects, no proxies, no
 * compression, and with limits on time, size and number.
 */
export function createSafeHttpClient(options: SafeHttpClientOptions): SafeHttpClient {
  const { allowPrivateNetworks, timeoutMs, bodyBytesMax, userAgent } = options
  const lookup = options.lookup ?? (allowPrivateNetworks ? systemLookup : createNameServerLookup())
  const lookups = new GuardedLookups(lookup, (address) => allowPrivateNetworks || isPublicAddress(address))
  const agent = new Agent({
    connect: {
      lookup: lookups.lookup,
      timeout: timeoutMs,
      // Applies whatever the environment says about certificates.
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
      const limit = startTimeLimit(timeoutMs, signal)
      const span = startRequestSpan('GET', target)
      try {
        // undici notices an abort only once a connection exists, so the limit is awaited beside it.
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
  // With a status there was an answer, if not the expected one: the host is up and not slow.
  return failure.status === undefined ? 'not answered' : 'answered'
}

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
