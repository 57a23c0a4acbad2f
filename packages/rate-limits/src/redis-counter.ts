import type { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Count, Counter, RateLimit } from './counter.js'

/** What counting in Redis needs. */
export interface RedisCounterOptions {
  readonly redis: Redis
  /** Put before every key. */
  readonly keyPrefix: string
  readonly limit: RateLimit
  /** Counts when Redis does not answer. */
  readonly insurance: Counter
}

/** Counts in Redis, for all replicas together: one round trip each, and none while the connection is lost. */
export function createRedisCounter({ redis, keyPrefix, limit, insurance }: RedisCounterOptions): Counter {
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix,
    points: limit.points,
    duration: limit.durationSeconds,
    rejectIfRedisNotReady: true
  })
  return {
    async count(key): Promise<Count> {
      try {
        return toCount(await limiter.consume(key), false)
      } catch (rejection) {
        // It rejects with what it counted when that is too much; everything else says that it could not count.
        return rejection instanceof RateLimiterRes ? toCount(rejection, true) : insurance.count(key)
      }
    }
  }
}

function toCount({ remainingPoints, msBeforeNext }: RateLimiterRes, isOver: boolean): Count {
  return { isOver, remaining: remainingPoints, resetMs: Math.max(0, msBeforeNext) }
}
