import { Agent, type Dispatcher } from 'undici'
import { Admission, type Ending } from './admission.js'
import { watchDeparture } from './departure.js'
import { OutgoingRequestError } from './errors.js'
import { failureOf } from './failure-of.js'
import { createNameServerLookup, GuardedLookups, type Lookup, systemLookup } from './lookup.js'
import { maxAgeSeconds } from './max-age.js'
import { isPublicAddress } from './public-address.js'
import { flattenHeaders } from './read-body.js'
import { readJson } from './read-json.js'
import { startRequestSpan } from './request-span.js'
import { parseTarget } from './target.js'
import { startTimeLimit } from './time-limit.js'

/** Maximum size of an answer's headers, in bytes. */
export const HEADER_BYTES_MAX = 16_384

/** Maximum number of connections to one host, unless configured otherwise. */
const CONNECTIONS_PER_HOST_MAX = 8

const JSON_TYPE = 'application/json'

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

/** What a request for JSON may have besides its URL. */
export interface JsonRequestOptions {
  /** Names in lower case. They come before the client's own, except for `accept-encoding` and `user-agent`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Aborts the request; it then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Fetches JSON from hosts that strangers name, and posts JSON to them. */
export interface SafeHttpClient {
  /**
   * Fetches a JSON document.
   *
   * @param options.accept media types to request; default `application/json`
   * @throws OutgoingRequestError
   */
  getJson(
    url: string,
    options?: JsonRequestOptions & { readonly accept?: string | undefined }
  ): Promise<JsonResponse>
  /**
   * Posts JSON, or nothing, and reads the JSON of the answer: with the same limits, and to the same addresses only. Never sent
   * twice; {@link OutgoingRequestError.isUnsent} tells whether the caller may send it again.
   *
   * @param options.body a JSON text, byte for byte what is sent
   * @throws OutgoingRequestError
   */
  postJson(
    url: string,
    options?: JsonRequestOptions & { readonly body?: string | undefined }
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

/** A request that is about to be sent. */
interface JsonRequest extends JsonRequestOptions {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/**
 * A client for asking those whom strangers point to, which cannot be turned against the network it runs in: HTTPS on its
 * default port, only to addresses on the public internet (checked at connection time), no redirects, no proxies, no
 * compression, and with limits on time, size and number.
 */
export function createSafeHttpClient(options: SafeHttpClientOptions): SafeHttpClient {
  const { allowPrivateNetworks, timeoutMs } = options
  const lookup = options.lookup ?? (allowPrivateNetworks ? systemLookup : createNameServerLookup())
  const lookups = new GuardedLookups(lookup, (address) => allowPrivateNetworks || isPublicAddress(address))
  const agent = createAgent(lookups, options)
  const admission = new Admission(options.ownOrigins)

  const ask = async (url: string, request: JsonRequest): Promise<JsonResponse> => {
    const target = parseTarget(url, allowPrivateNetworks)
    request.signal?.throwIfAborted()
    const leave = admission.enter(target.origin)
    const endLookup = lookups.want(target.hostname)
    const { dispatcher, mayHaveLeft } = watchDeparture(agent)
    const limit = startTimeLimit(timeoutMs, request.signal, mayHaveLeft)
    const span = startRequestSpan(request.method, target)
    try {
      // undici notices an abort only once a connection exists, so the limit is awaited beside it.
      const sending = send(target, { ...request, signal: limit.signal }, dispatcher, options)
      const response = await Promise.race([sending, limit.passed])
      leave('answered')
      span?.answered(response.status)
      return response
    } catch (error) {
      const failure: unknown = limit.signal.aborted ? limit.signal.reason : failureOf(error, !mayHaveLeft())
      leave(endingOf(failure))
      span?.failed(failure)
      throw failure
    } finally {
      limit.clear()
      endLookup()
    }
  }

  return {
    getJson: (url, { accept = JSON_TYPE, headers, signal } = {}) =>
      ask(url, { method: 'GET', headers: { accept, ...headers }, signal }),
    postJson: (url, { headers, body, signal } = {}) =>
      ask(url, {
        method: 'POST',
        headers: {
          accept: JSON_TYPE,
          ...(body === undefined ? {} : { 'content-type': JSON_TYPE }),
          ...headers
        },
        body,
        signal
      }),
    vouchFor(url) {
      admission.vouchFor(new URL(url).origin)
    },
    close: () => agent.close()
  }
}

async function send(
  url: URL,
  { method, headers, body, signal }: JsonRequest,
  dispatcher: Dispatcher,
  { bodyBytesMax, userAgent }: SafeHttpClientOptions
): Promise<JsonResponse> {
  const response = await dispatcher.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': userAgent },
    body: body ?? null,
    signal
  })
  const answered = flattenHeaders(response.headers)
  return {
    status: response.statusCode,
    headers: answered,
    body: await readJson(response, answered, bodyBytesMax),
    maxAgeSeconds: maxAgeSeconds(answered)
  }
}

function createAgent(
  lookups: GuardedLookups,
  { timeoutMs, connectionsMax = CONNECTIONS_PER_HOST_MAX }: SafeHttpClientOptions
): Agent {
  return new Agent({
    connect: {
      lookup: lookups.lookup,
      timeout: timeoutMs,
      // Applies whatever the environment says about certificates.
      rejectUnauthorized: true
    },
    connections: connectionsMax,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: IDLE_CONNECTION_MS
  })
}

function endingOf(failure: unknown): Ending {
  if (!(failure instanceof OutgoingRequestError)) return 'given up'
  // With a status there was an answer, if not the expected one: the host is up and not slow.
  return failure.status === undefined ? 'not answered' : 'answered'
}
