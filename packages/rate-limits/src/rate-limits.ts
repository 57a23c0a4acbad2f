import { PublicError } from '@open-payments-server/http-server'
import { type Clock, hashSecret, type Logger } from '@open-payments-server/runtime'
import type { RequestHandler, Response } from 'express'
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { clientNetwork } from './client-network.js'
import type { Count, Counter, RateLimit } from './counter.js'
import { limitItem, policyItem, secondsUntilReset } from './fields.js'
import { createInProcessCounter, KEYS_MAX } from './in-process-counter.js'
import { connectRedis } from './redis-connection.js'
import { createRedisCounter } from './redis-counter.js'

/** What is counted: requests of an address, of a client, and about a wallet address. */
export const LIMIT_KINDS = ['address', 'client', 'wallet-address'] as const

/** Kind of a limit; its name in `RateLimit-Policy`. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** How limits are counted, and what is answered beyond them. */
export interface RateLimitsOptions {
  readonly limits: Readonly<Record<LimitKind, RateLimit>>
  /** `redis://` or `rediss://`; undefined counts in this process alone. */
  readonly redisUrl: string | undefined
  /** Put before every key in Redis, so that services count apart. */
  readonly keyPrefix: string
  readonly clock: Clock
  readonly logger: Logger
  /** Code of a refusal: `too_many_attempts` on the auth server (RFC 9635 §3.6), `429` on the resource server. */
  readonly refusalCode: string
  /** Whether proxies are believed when they name a client's address. */
  readonly trustsProxies: boolean
  /** Paths where GET and HEAD are never limited: nobody may stop whoever looks after the process. */
  readonly exemptPaths: readonly string[]
  /** Is told of every refusal. */
  readonly onRefused: (kind: LimitKind) => void
}

/** What shows which request is counted: the one object that all who look at a request share. */
export type RequestHeaders = Readonly<Record<string, readonly string[] | undefined>>

/** Keys to count by. A kind without a key is not counted. */
export type LimitKeys = Readonly<Partial<Record<LimitKind, string | undefined>>>

/** Limits how often things are asked for. */
export interface RateLimits {
  /** Counts every request by the network it comes from, before anything else is done with it. */
  readonly byAddress: RequestHandler
  /**
   * Counts a request by what is known of it now: all kinds in one round trip.
   *
   * @param headers of the request, as `byAddress` met them; undefined when the fields of the answer cannot be written
   * @throws PublicError 429 with `Retry-After` when one of the limits is reached
   */
  count(headers: RequestHeaders | undefined, keys: LimitKeys): Promise<void>
  /** Ends the connection to Redis. */
  close(): void
}

/** Makes the limits. Resolves when Redis, where one is given, has answered or taken too long: the limits hold either way. */
export async function createRateLimits(options: RateLimitsOptions): Promise<RateLimits> {
  const redis =
    options.redisUrl === undefined ? undefined : await connectRedis(options.redisUrl, options.logger)
  const kinds = Object.fromEntries(
    LIMIT_KINDS.map((kind) => [kind, new LimitedKind(kind, redis, options)])
  ) as Readonly<Record<LimitKind, LimitedKind>>
  const answers = new WeakMap<RequestHeaders, Response>()

  const count: RateLimits['count'] = async (headers, keys) => {
    const asked = LIMIT_KINDS.flatMap((kind) => {
      const key = keys[kind]
      return key === undefined ? [] : [{ limited: kinds[kind], key: hashSecret(key).toString('base64url') }]
    })
    // Who is known to be over uses up nothing else: a refused client must not spend what a wallet address has left.
    const known = asked.flatMap(({ limited, key }) => limited.findRefused(key) ?? [])
    const counted =
      known.length > 0 ? known : await Promise.all(asked.map(({ limited, key }) => limited.count(key)))
    const answer = headers && answers.get(headers)
    if (answer !== undefined) for (const { item, policy } of counted) tell(answer, item, policy)
    const refused = counted.filter(({ isOver }) => isOver)
    for (const { kind } of refused) options.onRefused(kind)
    if (refused.length > 0) throw tooManyRequests(refused, options.refusalCode)
  }

  return {
    count,
    byAddress: createAddressLimit(options, answers, count),
    close() {
      redis?.disconnect()
    }
  }
}

const EXEMPT_METHODS: readonly string[] = ['GET', 'HEAD']

function createAddressLimit(
  { trustsProxies, exemptPaths, logger }: RateLimitsOptions,
  answers: WeakMap<RequestHeaders, Response>,
  count: RateLimits['count']
): RequestHandler {
  let isTold = trustsProxies
  return async (request, response, next) => {
    const { headersDistinct } = request
    if (!isTold && headersDistinct['x-forwarded-for'] !== undefined) {
      logger.warn('X-Forwarded-For is ignored: set TRUSTED_PROXIES where proxies in front are to be believed')
      isTold = true
    }
    const isExempt = EXEMPT_METHODS.includes(request.method) && exemptPaths.includes(request.path)
    if (!isExempt) {
      answers.set(headersDistinct, response)
      // What a proxy wrote may be no address; its own is.
      const address = clientNetwork(request.ip) ?? clientNetwork(request.socket.remoteAddress)
      await count(headersDistinct, { address: address ?? 'unknown' })
    }
    next()
  }
}

/** A count, with what the answer says of it. */
interface KindCount extends Count {
  readonly kind: LimitKind
  readonly item: string
  readonly policy: string
}

/** One kind of limit. It remembers who is over, so that those cost nothing until their window ends. */
class LimitedKind {
  readonly #kind: LimitKind
  readonly #policy: string
  readonly #clock: Clock
  readonly #counter: Counter
  readonly #refusals = new LRUCache<string, { fromMs: number; untilMs: number }>({ max: KEYS_MAX })

  constructor(kind: LimitKind, redis: Redis | undefined, { limits, keyPrefix, clock }: RateLimitsOptions) {
    const limit = limits[kind]
    const inProcess = createInProcessCounter(limit, clock)
    this.#kind = kind
    this.#policy = policyItem(kind, limit)
    this.#clock = clock
    this.#counter =
      redis === undefined
        ? inProcess
        : createRedisCounter({
            redis,
            keyPrefix: `${keyPrefix}rate-limit:${kind}`,
            limit,
            insurance: inProcess
          })
  }

  async count(key: string): Promise<KindCount> {
    const count = await this.#counter.count(key)
    if (count.isOver) {
      const fromMs = this.#clock.now()
      this.#refusals.set(key, { fromMs, untilMs: fromMs + count.resetMs })
    }
    return this.#describe(count)
  }

  /** What a key is told that is known to be over; undefined when it has to be counted. */
  findRefused(key: string): KindCount | undefined {
    const refusal = this.#refusals.get(key)
    const nowMs = this.#clock.now()
    if (refusal === undefined || nowMs < refusal.fromMs || nowMs >= refusal.untilMs) return undefined
    return this.#describe({ isOver: true, remaining: 0, resetMs: refusal.untilMs - nowMs })
  }

  #describe(count: Count): KindCount {
    return { ...count, kind: this.#kind, policy: this.#policy, item: limitItem(this.#kind, count) }
  }
}

function tell(answer: Response, item: string, policy: string): void {
  if (answer.headersSent) return
  answer.append('RateLimit-Policy', policy)
  answer.append('RateLimit', item)
}

function tooManyRequests(refused: readonly Count[], code: string): PublicError {
  const seconds = Math.max(...refused.map(secondsUntilReset))
  return new PublicError({
    status: 429,
    code,
    description: 'too many requests',
    headers: { 'Retry-After': String(seconds) }
  })
}
