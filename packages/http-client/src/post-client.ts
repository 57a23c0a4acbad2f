import { Agent } from 'undici'
import { HEADER_BYTES_MAX } from './client.js'
import { failureOf } from './failure-of.js'
import { createNameServerLookup, GuardedLookups, type Lookup, notReachable } from './lookup.js'
import { isInNetworks, type Network } from './networks.js'
import { isPublicAddress } from './public-address.js'
import { startRequestSpan } from './request-span.js'
import { literalAddress, parseHttpUrl, refused } from './target.js'
import { startTimeLimit } from './time-limit.js'

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
  /** Its `User-Agent`. */
  readonly userAgent: string
  /** Maximum number of connections to one host. */
  readonly connectionsMax: number
  /** Resolves hosts; by default the name servers are asked. */
  readonly lookup?: Lookup | undefined
}

/** The answer to a message: its body is not read. */
export interface PostResponse {
  readonly status: number
  /** The header `Retry-After`, as it came. */
  readonly retryAfter: string | undefined
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
  post(
    url: string,
    message: {
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      readonly signal?: AbortSignal
    }
  ): Promise<PostResponse>
  /** Closes every connection. */
  close(): Promise<void>
}

/**
 * A client for posting messages: to addresses on the public internet with TLS, and to those of allowed private networks with
 * or without. Addresses are checked at connection time.
 */
export function createPostClient(options: PostClientOptions): PostClient {
  const { timeoutMs, userAgent, lookup = createNameServerLookup() } = options
  const targets = createTargets({ ...options, lookup })
  const send = async (
    { url, connections }: Target,
    message: Parameters<PostClient['post']>[1],
    signal: AbortSignal
  ) => {
    const response = await connections.agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      headers: { 'accept-encoding': 'identity', 'user-agent': userAgent, ...message.headers },
      body: message.body,
      signal
    })
    const retryAfter = response.headers['retry-after']
    return { response, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter }
  }

  return {
    async check(text) {
      const target = targets.parse(text)
      if (literalAddress(target.url) !== undefined) return
      const limit = startTimeLimit(timeoutMs, undefined)
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
      const target = targets.parse(text)
      const endLookup = target.connections.lookups.want(target.url.hostname)
      const limit = startTimeLimit(timeoutMs, message.signal)
      const span = startRequestSpan('POST', target.url)
      try {
        // undici notices an abort only once a connection exists, so the limit is awaited beside it.
        const { response, retryAfter } = await Promise.race([
          send(target, message, limit.signal),
          limit.passed
        ])
        span?.answered(response.statusCode)
        // The message has arrived: whatever becomes of the rest of the answer, within the same time, changes nothing.
        response.body
          .dump({ limit: BODY_BYTES_READ_MAX })
          .catch(() => undefined)
          .finally(() => {
            limit.clear()
          })
        return { status: response.statusCode, retryAfter }
      } catch (error) {
        const failure: unknown = limit.signal.aborted ? limit.signal.reason : failureOf(error)
        limit.clear()
        span?.failed(failure)
        throw failure
      } finally {
        endLookup()
      }
    },
    close: () => targets.close()
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
  connectionsMax
}: PostClientOptions & { readonly lookup: Lookup }) {
  const isPrivate = (address: string): boolean => isInNetworks(address, privateNetworks)
  const connect = (isAllowed: Connections['isAllowed']): Connections => {
    const lookups = new GuardedLookups(lookup, isAllowed)
    const agent = new Agent({
      connect: { lookup: lookups.lookup, timeout: timeoutMs, rejectUnauthorized: true },
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
