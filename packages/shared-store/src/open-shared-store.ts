import { createInProcessStore } from './in-process-store.js'
import type { RedisPlace } from './redis-place.js'
import { createRedisStore } from './redis-store.js'
import type { SharedStore } from './shared-store.js'

/** How a service opens its shared store. */
export interface OpenSharedStoreOptions {
  /** Where Redis is; undefined for a store in this process, which no other replica shares. */
  readonly place: RedisPlace | undefined
  /** Name of the service: prefix of its keys. */
  readonly service: string
  /** How long Redis may take to answer, in milliseconds. */
  readonly commandTimeoutMs: number
  /** How far ahead of the clock a marked instant may be, in seconds. */
  readonly aheadMaxSeconds: number
  readonly clock: { now(): number }
  readonly logger: { warn(fields: object, message: string): void }
}

/** Opens the store that the replicas of a service share. Whoever opens it closes it. */
export function openSharedStore(options: OpenSharedStoreOptions): SharedStore {
  const { place, service, clock, logger, commandTimeoutMs, aheadMaxSeconds } = options
  const now = (): number => clock.now()
  if (place === undefined) return createInProcessStore(now)
  return createRedisStore({
    place,
    keyPrefix: `${service}:`,
    commandTimeoutMs,
    clock: now,
    aheadMaxSeconds,
    onEvictionPossible: (policy) => {
      logger.warn({ policy }, 'Redis may evict marks of used nonces: set maxmemory-policy to noeviction')
    },
    onConnectionError: (error) => {
      logger.warn({ err: error }, 'Redis connection lost')
    }
  })
}
