import { setTimeout as delay } from 'node:timers/promises'
import {
  type JsonResponse,
  OutgoingRequestError,
  parseHttpUrl,
  type SafeHttpClient
} from '@open-payments-server/http-client'
import { signRequest } from '@open-payments-server/http-signatures/sign'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { ClientIdentity } from './identity.js'
import { isPassing } from './provider-failure.js'

/** How often a request is sent at most. */
const ATTEMPTS_MAX = 3
/** About how long the first pause is, in milliseconds; each further one is three times as long. */
const FIRST_PAUSE_MS = 100
const PAUSE_FACTOR = 3

/** What requests to other providers need. */
export interface ProviderRequestsDependencies {
  readonly http: Pick<SafeHttpClient, 'getJson' | 'postJson'>
  readonly identity: Pick<ClientIdentity, 'signingKey'>
  readonly clock: Clock
  readonly random: Random
}

/** What a request has besides its URL. */
export interface ProviderRequest {
  /** Sent as `Authorization: GNAP <token>` (RFC 9635 §7.2). */
  readonly accessToken?: string
  /** Ends the request; it then fails with the signal's reason. */
  readonly signal: AbortSignal
}

/**
 * Requests to other providers. Each throws OutgoingRequestError for its last attempt.
 *
 * What only reads is sent up to three times, as long as there is no answer, or one with 408, 429 or a status from 500. What may
 * change something is sent again only if it certainly did not leave.
 */
export interface ProviderRequests {
  /** Reads what is public, without a signature. */
  getPublic(url: string, request: Pick<ProviderRequest, 'signal'>): Promise<JsonResponse>
  /** Reads, with our signature. */
  get(url: string, request: ProviderRequest): Promise<JsonResponse>
  /**
   * Posts, with our signature.
   *
   * @param request.body sent as JSON; nothing is sent unless given
   */
  post(url: string, request: ProviderRequest & { readonly body?: object }): Promise<JsonResponse>
}

/** Requests that are signed with our key (RFC 9421), as the clients of Open Payments sign them. */
export function createProviderRequests(dependencies: ProviderRequestsDependencies): ProviderRequests {
  const { http, random } = dependencies
  const again = { random, isWorthwhile: isPassing }
  const againIfUnsent = {
    random,
    isWorthwhile: (error: OutgoingRequestError): boolean => error.isUnsent && isPassing(error)
  }
  return {
    getPublic: (url, { signal }) => repeat(() => http.getJson(url, { signal }), signal, again),
    get(url, { accessToken, signal }) {
      const send = async (): Promise<JsonResponse> =>
        http.getJson(url, { headers: sign({ method: 'GET', url, accessToken }, dependencies), signal })
      return repeat(send, signal, again)
    },
    post(url, { accessToken, body: content, signal }) {
      const body = content === undefined ? undefined : JSON.stringify(content)
      const send = async (): Promise<JsonResponse> =>
        http.postJson(url, {
          headers: sign({ method: 'POST', url, accessToken, body }, dependencies),
          body,
          signal
        })
      return repeat(send, signal, againIfUnsent)
    }
  }
}

/**
 * The headers of a signed request. Each attempt is signed anew, because a signature is only fresh for a while.
 *
 * @throws OutgoingRequestError with reason `url`
 */
function sign(
  request: {
    readonly method: 'GET' | 'POST'
    readonly url: string
    readonly accessToken: string | undefined
    readonly body?: string | undefined
  },
  { identity, clock }: Pick<ProviderRequestsDependencies, 'identity' | 'clock'>
): Record<string, string> {
  const { method, url, accessToken } = request
  const { origin, pathname, search } = parseHttpUrl(url)
  const body = request.body === undefined ? undefined : Buffer.from(request.body)
  const headers: Record<string, string> = {
    ...(accessToken === undefined ? {} : { authorization: `GNAP ${accessToken}` }),
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(body.length) })
  }
  // The URL as it arrives: without the question mark of an empty query.
  const parts = { method, targetUri: `${origin}${pathname}${search}`, headers, body }
  const createdSeconds = Math.floor(clock.now() / 1_000)
  return { ...headers, ...signRequest(parts, { ...identity.signingKey, createdSeconds }) }
}

/** Sends a request until it succeeds, or fails in a way that another attempt would not change. */
async function repeat(
  send: () => Promise<JsonResponse>,
  signal: AbortSignal,
  { random, isWorthwhile }: { random: Random; isWorthwhile: (error: OutgoingRequestError) => boolean }
): Promise<JsonResponse> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (error) {
      const mayRepeat = error instanceof OutgoingRequestError && isWorthwhile(error)
      if (!mayRepeat || attempt === ATTEMPTS_MAX) throw error
    }
    await delay(pauseMs(attempt, random), undefined, { signal }).catch(() => undefined)
    signal.throwIfAborted()
  }
}

/** Between half and one and a half of the mean, so that those who failed together do not come back together. */
function pauseMs(attempt: number, random: Random): number {
  const share = random.bytes(1).readUInt8() / 255
  return FIRST_PAUSE_MS * PAUSE_FACTOR ** (attempt - 1) * (0.5 + share)
}
