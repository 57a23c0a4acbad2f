import { Agent, type Dispatcher } from 'undici'
import { HEADER_BYTES_MAX } from './client.js'
import { watchDeparture } from './departure.js'
import { failureOf } from './failure-of.js'
import { createNameServerLookup, GuardedLookups, type Lookup, notReachable } from './lookup.js'
import { isInNetworks, type Network } from './networks.js'
import { isPublicAddress } from './public-address.js'
import { flattenHeaders, readBody } from './read-body.js'
import { startRequestSpan } from './request-span.js'
import { literalAddress, parseHttpUrl, refused } from './target.js'
import { startTimeLimit, type TimeLimit } from './time-limit.js'

/** How long an idle connection is kept, in milliseconds. */
const IDLE_CONNECTION_MS = 4_000
/** How much of an answer's body is read, in bytes, so that its connection can be used again: nothing depends on it. */
const BODY_BYTES_READ_MAX = 16_384

/** Settings of a client that posts. */
export interface PostClientOptions {
  /** Private networks whose addresses may be connected to, and without TLS. */
  readonly privateNetworks: readonly Network[]
  /** Maximum time until the status of an answer is known: lookup and connection included. */
  readonly timeoutMs: number
  /** Maximum time until the message begins to leave: lookup and connection. By default it has all of the time. */
  readonly departureMs?: number | undefined
  /** Its `User-Agent`. */
  readonly userAgent: string
  /** Maximum number of connections to one host. */
  readonly connectionsMax: number
  /** Resolves hosts; by default the name servers are asked. */
  readonly lookup?: Lookup | undefined
}

/** What is posted. */
interface Message<Body extends string | Buffer> {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
  /** Aborts the request; it then fails with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The answer to a message: its body is not read. */
export interface PostResponse {
  readonly status: number
  /** The header `Retry-After`, as it came. */
  readonly retryAfter: string | undefined
}

/** The answer to a message, with its body. */
export interface ExchangeResponse {
  readonly status: number
  /** The header `Content-Type`, as it came. */
  readonly contentType: string | undefined
  readonly body: Buffer
}

/** Posts messages to endpoints that an operator registered. */
export interface PostClient {
  /**
   * Whether a URL may be posted to, as far as can be told without connecting: the addresses of its host are looked up. A name
   * that cannot be resolved now may be.
   *
   * @throws OutgoingRequestError with reason `url` or `address`
   */
  check(url: string): Promise<void>
  /**
   * Posts a message. Redirects are not followed.
   *
   * @throws OutgoingRequestError when there was no answer
   */
  post(url: string, message: Message<string>): Promise<PostResponse>
  /**
   * Posts a message, and reads the whole answer within the time limit, whatever its status. Redirects are not followed.
   *
   * @param message.bodyBytesMax maximum size of the answer's body, in bytes
   * @throws OutgoingRequestError when there was no answer, or its body is too large or compressed;
   *   {@link OutgoingRequestError.isUnsent} tells whether the message may have arrived
   */
  exchange(
    url: string,
    message: Message<Buffer> & { readonly bodyBytesMax: number }
  ): Promise<ExchangeResponse>
  /** Closes every connection. */
  close(): Promise<void>
}

/**
 * A client for posting messages: to addresses on the public internet with TLS, and to those of allowed private networks with
 * or without. Addresses are checked at connection time.
 */
export function createPostClient(options: PostClientOptions): PostClient {
  const { timeoutMs, lookup = createNameServerLookup() } = options
  const targets = createTargets({ ...options, lookup })
  return {
    async check(text) {
      const target = targets.parse(text)
      if (literalAddress(target.url) !== undefined) return
      const limit = startTimeLimit(timeoutMs, undefined, () => false)
      const unresolved = (): Awaited<ReturnType<Lookup>> => []
      try {
        const looking = lookup(target.url.hostname, limit.signal).catch(unresolved)
        const found = await Promise.race([looking, limit.passed.catch(unresolved)])
        targets.refuseUnless(
          target,
          found.map(({ address }) => address)
        )
      } finally {
        limit.clear()
      }
    },
    async post(text, message) {
      return send(
        targets.parse(text),
        message,
        async (response, limit) => {
          // The message has arrived: whatever becomes of the rest of the answer, within the same time, changes nothing.
          response.body
            .dump({ limit: BODY_BYTES_READ_MAX })
            .catch(() => undefined)
            .finally(() => {
              limit.clear()
            })
          const retryAfter = response.headers['retry-after']
          return {
            status: response.statusCode,
            retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter
          }
        },
        options
      )
    },
    async exchange(text, message) {
      return send(
        targets.parse(text),
        message,
        async (response, limit) => {
          const headers = flattenHeaders(response.headers)
          const body = await readBody(response, headers, message.bodyBytesMax)
          limit.clear()
          return { status: response.statusCode, contentType: headers['content-type'], body }
        },
        options
      )
    },
    close: () => targets.close()
  }
}

/**
 * Sends a message, within the time limit.
 *
 * @param read reads the answer, and clears the limit when that is done
 */
async function send<Answer extends { readonly status: number }>(
  { url, connections }: Target,
  { headers, body, signal }: Message<string | Buffer>,
  read: (response: Dispatcher.ResponseData, limit: TimeLimit) => Promise<Answer>,
  { timeoutMs, departureMs, userAgent }: PostClientOptions
): Promise<Answer> {
  const endLookup = connections.lookups.want(url.hostname)
  const { dispatcher, mayHaveLeft } = watchDeparture(connections.agent)
  const limit = startTimeLimit(timeoutMs, signal, mayHaveLeft, departureMs)
  const span = startRequestSpan('POST', url)
  const sending = async (): Promise<Answer> => {
    const response = await dispatcher.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      headers: { 'accept-encoding': 'identity', 'user-agent': userAgent, ...headers },
      body,
      signal: limit.signal
    })
    return read(response, limit)
  }
  try {
    // undici notices an abort only once a connection exists, so the limit is awaited beside it.
    const answer = await Promise.race([sending(), limit.passed])
    span?.answered(answer.status)
    return answer
  } catch (error) {
    const failure: unknown = limit.signal.aborted ? limit.signal.reason : failureOf(error, !mayHaveLeft())
    limit.clear()
    span?.failed(failure)
    throw failure
  } finally {
    endLookup()
  }
}

/** Connections to addresses of one kind. */
interface Connections {
  readonly isAllowed: (address: string) => boolean
  readonly lookups: GuardedLookups
  readonly agent: Agent
}

/** Where a message goes. */
interface Target {
  readonly url: URL
  readonly connections: Connections
}

/** Tells which URLs may be posted to, and over which connections: private addresses alone may be reached without TLS. */
function createTargets({
  privateNetworks,
  lookup,
  timeoutMs,
  departureMs = timeoutMs,
  connectionsMax
}: PostClientOptions & { readonly lookup: Lookup }) {
  const isPrivate = (address: string): boolean => isInNetworks(address, privateNetworks)
  const connect = (isAllowed: Connections['isAllowed']): Connections => {
    const lookups = new GuardedLookups(lookup, isAllowed)
    const agent = new Agent({
      connect: { lookup: lookups.lookup, timeout: departureMs, rejectUnauthorized: true },
      connections: connectionsMax,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: HEADER_BYTES_MAX,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS
    })
    return { isAllowed, lookups, agent }
  }
  const encrypted = connect((address) => isPublicAddress(address) || isPrivate(address))
  const plain = connect(isPrivate)
  const refuseUnless = ({ connections }: Target, addresses: readonly string[]): void => {
    if (!addresses.every(encrypted.isAllowed)) throw notReachable()
    if (!addresses.every(connections.isAllowed)) throw refused('must be an https URL')
  }
  return {
    parse(text: string): Target {
      const url = parseHttpUrl(text)
      const target = { url, connections: url.protocol === 'https:' ? encrypted : plain }
      const address = literalAddress(url)
      if (address !== undefined) refuseUnless(target, [address])
      return target
    },
    refuseUnless,
    async close(): Promise<void> {
      await Promise.all([encrypted.agent.destroy(), plain.agent.destroy()])
    }
  }
}
