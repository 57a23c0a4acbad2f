import {
  type JsonResponse,
  OutgoingRequestError,
  parseHttpUrl,
  type SafeHttpClient
} from '@open-payments-server/http-client'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'
import { createProviderGrants, type GrantStore, type ProviderGrants } from './grants.js'
import type { ClientIdentity } from './identity.js'
import { readAuthServer, readRemoteReceiver, type RemoteReceiver } from './incoming-payment-document.js'
import { failureOfRequest, ProviderFailure } from './provider-failure.js'
import { createProviderRequests, type ProviderRequests } from './requests.js'
import { withinTime } from './within-time.js'

/** How long reading an incoming payment may take in total unless configured otherwise, in milliseconds. */
const TIMEOUT_MS = 5_000

/** Maximum number of hosts whose auth server is known. */
const AUTH_SERVERS_KEPT_MAX = 10_000

/** Statuses that say that there is no such payment. */
const GONE: ReadonlySet<number | undefined> = new Set([404, 410])
/** Statuses that say that the token is not good enough. */
const TOKEN_REFUSED: ReadonlySet<number | undefined> = new Set([401, 403])

/**
 * What became of reading an incoming payment at another provider:
 * - `found`: also one that is completed, has expired or cannot be paid over Interledger
 * - `not-found`: there is none, or something else
 * - `unreachable`: the provider does not answer now; it may be tried again later
 * - `refused`: the provider does not let us read it
 * - `invalid`: what the provider says is nonsense, or contradicts itself
 *
 * `failure` is for the log. It has neither tokens nor anything else that was received.
 */
export type ReceiverReading =
  | { readonly kind: 'found'; readonly receiver: RemoteReceiver }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'unreachable' | 'refused' | 'invalid'; readonly failure: ProviderFailure }

/** What reading incoming payments of other providers needs. */
export interface ReceiverReaderDependencies {
  /** Its answers should be limited to 64 KB, and each of its requests to less than {@link timeoutMs}, so that one can be repeated. */
  readonly http: Pick<SafeHttpClient, 'getJson' | 'postJson' | 'vouchFor'>
  /** Whom other providers see. */
  readonly identity: ClientIdentity
  readonly store: GrantStore
  readonly clock: Clock
  readonly random: Random
  /** How long reading one may take in total, in milliseconds; default: 5 seconds. */
  readonly timeoutMs?: number | undefined
}

/** Reads incoming payments that other providers host. */
export interface ReceiverReader {
  /**
   * Reads an incoming payment that is to be paid.
   *
   * @param url of the incoming payment
   * @param options.signal ends the reading; it then fails with the signal's reason
   * @throws whatever the store of grants throws
   */
  readReceiver(url: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<ReceiverReading>
  /**
   * Vouches for the provider of an incoming payment, because money was delivered there: as many as may of its payments are read at a time,
   * which strangers cannot keep from happening.
   *
   * @param url of the incoming payment
   */
  vouchFor(url: string): void
}

/**
 * Reads incoming payments as any client of Open Payments does. The public form names the auth server, which gives us a token for
 * reading; with it, the provider tells what can still be received, and how to send it. The public form is only read where the auth
 * server that another payment of the host named gave us no token that is good enough.
 */
export function createReceiverReader(dependencies: ReceiverReaderDependencies): ReceiverReader {
  const { timeoutMs = TIMEOUT_MS } = dependencies
  const requests = createProviderRequests(dependencies)
  const provider = {
    requests,
    grants: createProviderGrants({ ...dependencies, requests, timeoutMs }),
    authServers: new LRUCache<string, string>({ max: AUTH_SERVERS_KEPT_MAX })
  }
  return {
    async readReceiver(url, { signal } = {}) {
      try {
        return await withinTime(timeoutMs, signal, (limit) => read({ url, signal: limit }, provider))
      } catch (error) {
        if (!(error instanceof ProviderFailure)) throw error
        return { kind: error.kind, failure: error }
      }
    },
    vouchFor(url) {
      const authServer = provider.authServers.get(parseHttpUrl(url).origin)
      for (const known of [url, authServer]) if (known !== undefined) dependencies.http.vouchFor(known)
    }
  }
}

/** What one reading needs. */
interface Provider {
  readonly requests: ProviderRequests
  readonly grants: ProviderGrants
  /** The auth servers that payments named last, by the origin of the payments. */
  readonly authServers: LRUCache<string, string>
}

/** An incoming payment that is to be read. */
interface Asked {
  readonly url: string
  readonly signal: AbortSignal
}

async function read(asked: Asked, provider: Provider): Promise<ReceiverReading> {
  try {
    const response = (await getAsBefore(asked, provider)) ?? (await getAsNamed(asked, provider))
    if (response === undefined) return { kind: 'not-found' }
    return { kind: 'found', receiver: readRemoteReceiver(response.body, asked.url) }
  } catch (error) {
    if (!(error instanceof OutgoingRequestError)) throw error
    if (GONE.has(error.status)) return { kind: 'not-found' }
    throw failureOfRequest(error, 'incoming payment')
  }
}

/**
 * Reads with a token of the auth server that another payment of the host named.
 *
 * @returns undefined when the payment itself is to be asked for its auth server
 */
async function getAsBefore(
  { url, signal }: Asked,
  { requests, grants, authServers }: Provider
): Promise<JsonResponse | undefined> {
  const authServer = authServers.get(parseHttpUrl(url).origin)
  if (authServer === undefined) return undefined
  try {
    const { accessToken } = await grants.current(authServer)
    return await requests.get(url, { accessToken, signal })
  } catch (error) {
    if (error instanceof ProviderFailure || isRefused(error) || isSomethingElse(error)) return undefined
    throw error
  }
}

/**
 * Reads with a token of the auth server that the payment names.
 *
 * @returns undefined when there is no incoming payment at the URL
 */
async function getAsNamed({ url, signal }: Asked, provider: Provider): Promise<JsonResponse | undefined> {
  const authServer = await findAuthServer(url, signal, provider)
  if (authServer === undefined) return undefined
  const response = await getWithToken({ url, authServer, signal }, provider)
  provider.authServers.set(parseHttpUrl(url).origin, authServer)
  return response
}

/** The auth server of an incoming payment; undefined when there is no incoming payment at the URL. */
async function findAuthServer(
  url: string,
  signal: AbortSignal,
  { requests }: Provider
): Promise<string | undefined> {
  try {
    const { body } = await requests.getPublic(url, { signal })
    return readAuthServer(body)
  } catch (error) {
    if (!(error instanceof OutgoingRequestError)) throw error
    // Nothing was presented that could be refused: some say so of what is not there.
    if (isSomethingElse(error) || isRefused(error) || GONE.has(error.status)) return undefined
    throw failureOfRequest(error, 'public incoming payment')
  }
}

/** Reads with our token. One that is refused is replaced once: it may have been revoked. */
async function getWithToken(
  { url, authServer, signal }: { url: string; authServer: string; signal: AbortSignal },
  { requests, grants }: Provider
): Promise<JsonResponse> {
  const grant = await grants.current(authServer)
  try {
    return await requests.get(url, { accessToken: grant.accessToken, signal })
  } catch (error) {
    if (!isRefused(error)) throw error
    const another = await grants.replace(authServer, grant)
    if (another === undefined) throw error
    return requests.get(url, { accessToken: another.accessToken, signal })
  }
}

/** Whether the token is not good enough. */
function isRefused(error: unknown): boolean {
  return error instanceof OutgoingRequestError && TOKEN_REFUSED.has(error.status)
}

/** Whether the URL is that of something else: a page for people, for example. */
function isSomethingElse(error: unknown): boolean {
  return error instanceof OutgoingRequestError && error.reason === 'content-type'
}
