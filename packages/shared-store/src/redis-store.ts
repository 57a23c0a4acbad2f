import type { Redis } from 'ioredis'
import { evictionPolicyOf } from './eviction.js'
import { RedisConnection, type RedisStoreOptions } from './redis-connection.js'
import { RedisMarks } from './redis-marks.js'
import { RedisSubscriber } from './redis-subscriber.js'
import { assertMarkable, type SharedStore } from './shared-store.js'

/**
 * The store of a service with several replicas. Connects at once, and reconnects whenever the connection is lost. The
 * server must not evict keys (`maxmemory-policy noeviction`): an evicted mark would allow a replay.
 */
export function createRedisStore(options: RedisStoreOptions): SharedStore {
  const connection = new RedisConnection(options)
  const subscriber = new RedisSubscriber(options)
  const marks = new RedisMarks(connection, options)
  const { keyPrefix } = options
  connection.redis.on('ready', () => void tellOfEviction(connection.redis, options))
  connection.connect()
  return {
    async markOnce(key, lifetimeSeconds, createdSeconds) {
      assertMarkable(key, lifetimeSeconds)
      return marks.markOnce(key, lifetimeSeconds, createdSeconds)
    },
    async publish(channel, message) {
      const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
      await connection.run((redis) => redis.publish(`${keyPrefix}${channel}`, bytes))
    },
    subscribe: (channel, handlers) => subscriber.subscribe(channel, handlers),
    async check() {
      await connection.run((redis) => redis.ping())
    },
    async close() {
      await Promise.all([connection.close(), subscriber.close()])
    }
  }
}

async function tellOfEviction(redis: Redis, { onEvictionPossible }: RedisStoreOptions): Promise<void> {
  // Managed servers may not report it; then their operators must know.
  const info = await redis.info('memory').catch(() => '')
  const policy = evictionPolicyOf(info)
  if (policy !== undefined) onEvictionPossible?.(policy)
}
