import type { Logger } from '@open-payments-server/runtime'
import type { RedisPlace } from '@open-payments-server/shared-store'
import type { Clock } from '@open-payments-server/value-types/clock'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import { type AddressedRequest, type Answer, createAddressLimit } from './address-limit.js'
import { siteOf } from './client-network.js'
import { type Count, LIMIT_KINDS, type LimitKind, type RateLimit } from './counter.js'
import { limitItem, secondsUntilReset } from './fields.js'
import { LimitedKind } from './limited-kind.js'
import { type Schedule, SharedCounts } from './shared-counts.js'

/** How limits are counted. */
export interface RateLimitsOptions {
  readonly limits: Readonly<Record<LimitKind, RateLimit>>
  /** Where Redis is; undefined counts in this process alone. */
  readonly redisPlace: RedisPlace | undefined
  /** Prefix of every key in Redis, so that services count separately. */
  readonly keyPrefix: string
  readonly clock: Clock
  readonly logger: Logger
  /** Whether proxies are trusted to state a client's address. */
  readonly trustsProxies: boolean
  /** Paths where GET and HEAD are never limited, so health checks cannot be blocked. */
  readonly exemptPaths: readonly string[]
  /** Observes every refusal. */
  readonly onRefused: (kind: LimitKind) => void
  /** Schedules the synchronization of replicas; default: timers. */
  readonly schedule?: Schedule
}

/** Keys to count by. A kind without a key is not counted. */
export type LimitKeys = Readonly<Partial<Record<LimitKind, string | undefined>>>

/**
 * The keys of a request that may store a row.
 *
 * @param network it comes from, as {@link RateLimits.admit} sets it
 */
export function rowKeys(network: string | undefined, client: string): LimitKeys {
  const site = network === undefined ? undefined : siteOf(network)
  return { 'address-rows': network, 'site-rows': site, 'client-rows': client }
}

/**
 * Limits the rate of requests. Counting never waits: it uses what this process knows, and with Redis all replicas learn of
 * each other's counts a moment later.
 */
export interface RateLimits {
  /**
   * Counts a request by its network, before anything else is done with it. Sets `request.answer` and `request.network` for
   * later counts.
   *
   * @throws Refusal `too-many-requests`, which says when to try again, when the limit is exceeded
   */
  readonly admit: (request: AddressedRequest, answer: Answer) => void
  /**
   * Counts a request by what is known of it now.
   *
   * @param answer the answer to it: `request.answer` after `admit`; undefined when its fields cannot be written
   * @throws Refusal `too-many-requests`, which says when to try again, when one of the limits is exceeded
   */
  count(answer: Answer | undefined, keys: LimitKeys): void
  /** Synchronizes with the other replicas now, rather than a moment later. */
  flush(): Promise<void>
  /** Sends the remaining counts to the other replicas, and closes the connection to Redis. */
  close(): Promise<void>
}

/** Creates the limits. Resolves when Redis, if configured, has answered or timed out: the limits apply either way. */
export async function createRateLimits(options: RateLimitsOptions): Promise<RateLimits> {
  const { redisPlace, limits, clock } = options
  const shared =
    redisPlace === undefined
      ? undefined
      : await SharedCounts.open({ schedule: runLater, ...options, redisPlace })
  const kinds = LIMIT_KINDS.map((kind) => new LimitedKind(kind, limits[kind], shared))

  const count: RateLimits['count'] = (answer, keys) => {
    const counted = countKinds(kinds, keys, clock.now())
    if (answer?.isSent === false) tell(answer, counted)
    const refused = counted.filter(({ isOver }) => isOver)
    for (const { limited } of refused) options.onRefused(limited.kind)
    if (refused.length > 0) throw tooManyRequests(refused)
  }

  return {
    admit: createAddressLimit({ ...options, count }),
    count,
    async flush() {
      await shared?.flush()
    },
    async close() {
      await shared?.close()
    }
  }
}

function runLater(run: () => void, delayMs: number): void {
  setTimeout(run, delayMs).unref()
}

/** A count and its kind of limit. */
interface KindCount extends Count {
  readonly limited: LimitedKind
}

function countKinds(kinds: readonly LimitedKind[], keys: LimitKeys, nowMs: number): readonly KindCount[] {
  const known: KindCount[] = []
  for (const limited of kinds) {
    const key = keys[limited.kind]
    const refused = key === undefined ? undefined : limited.findRefused(key, nowMs)
    if (refused !== undefined) known.push({ limited, ...refused })
  }
  // A key known to be over its limit uses up nothing else: a refused client must not use up a wallet address's budget.
  if (known.length > 0) return known
  const counted: KindCount[] = []
  for (const limited of kinds) {
    const key = keys[limited.kind]
    if (key !== undefined) counted.push({ limited, ...limited.count(key, nowMs) })
  }
  return counted
}

function tell(answer: Answer, counted: readonly KindCount[]): void {
  if (counted.length === 0) return
  answer.addField('RateLimit-Policy', counted.map(({ limited }) => limited.policy).join(', '))
  answer.addField('RateLimit', counted.map((count) => limitItem(count.limited.kind, count)).join(', '))
}

function tooManyRequests(refused: readonly Count[]): Error {
  return new CommonRefusal('too-many-requests', 'too many requests', {
    retryAfterSeconds: Math.max(...refused.map(secondsUntilReset))
  })
}
