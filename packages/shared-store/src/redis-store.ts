import { RedisConnection, type RedisStoreOptions } from './redis-connection.js'
import { RedisSubscriber } from './redis-subscriber.js'
import { assertMarkable, type SharedStore } from './shared-store.js'

/**
 * The store of a service with several replicas. Connects on first use, and again whenever the connection is lost.
 * The server must not evict keys (`maxmemory-policy noeviction`): an evicted mark would allow a replay.
 */
export function createRedisStore(options: RedisStoreOptions): SharedStore {
  const connection = new RedisConnection(options)
  const subscriber = new RedisSubscriber(options)
  const { keyPrefix } = options
  return {
    async markOnce(key, lifetimeSeconds) {
      assertMarkable(key, lifetimeSeconds)
      const lifetimeMs = Math.ceil(lifetimeSeconds * 1_000)
      const answer = await connection.run((redis) =>
        redis.set(`${keyPrefix}${key}`, '1', 'PX', lifetimeMs, 'NX')
      )
      return answer === 'OK'
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
