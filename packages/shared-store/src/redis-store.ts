import { setTimeout as delay } from 'node:timers/promises'
import { Cluster, type Redis } from 'ioredis'
import { evictionPolicyOf } from './eviction.js'
import { type RedisClient, RedisClients } from './redis-clients.js'
import { RedisConnection, type RedisStoreOptions } from './redis-connection.js'
import { RedisMarks } from './redis-marks.js'
import { RedisSubscriber } from './redis-subscriber.js'
import { assertKey, assertMarkable, type SharedStore } from './shared-store.js'

/** Pause before a message is sent again, in milliseconds. */
const PUBLISH_AGAIN_MS = 100

/**
 * The store of a service with several replicas. Connects at once, and reconnects whenever the connection is lost. The
 * servers must not evict keys (`maxmemory-policy noeviction`): an evicted mark would allow a replay.
 */
export function createRedisStore(options: RedisStoreOptions): SharedStore {
  const { keyPrefix, place, commandTimeoutMs } = options
  const clients = new RedisClients(place, commandTimeoutMs)
  const connection = new RedisConnection(options, clients, clients.open())
  // Used only for what is dated ahead.
  const aheadConnection = new RedisConnection(options, clients, clients.open())
  const subscriber = new RedisSubscriber(options, clients)
  let isClosed = false
  const marks = new RedisMarks(connection, aheadConnection, options)
  connection.redis.on('ready', () => {
    for (const server of serversOf(connection.redis)) void tellOfEviction(server, options)
  })
  connection.connect()
  return {
    async markOnce(key, lifetimeSeconds, createdSeconds) {
      assertMarkable(key, lifetimeSeconds)
      return marks.markOnce(key, lifetimeSeconds, createdSeconds)
    },
    async wasMarked(key, createdSeconds) {
      assertKey(key)
      return marks.wasMarked(key, createdSeconds)
    },
    async publish(channel, message, patienceMs = 0) {
      const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
      const untilMs = performance.now() + (place.topology === 'single' ? 0 : patienceMs)
      for (;;) {
        try {
          // Subscribers go to the primary: none may be at another one already.
          await connection.runOnPrimary(0, (redis) => redis.publish(`${keyPrefix}${channel}`, bytes))
          return
        } catch (error) {
          if (isClosed || performance.now() > untilMs) throw error
          await delay(PUBLISH_AGAIN_MS)
        }
      }
    },
    subscribe: (channel, handlers) => subscriber.subscribe(channel, handlers),
    async check() {
      await connection.run((redis) => redis.ping())
    },
    async close() {
      isClosed = true
      marks.close()
      await Promise.all([connection.close(), aheadConnection.close(), subscriber.close()])
      clients.close()
    }
  }
}

function serversOf(client: RedisClient): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

async function tellOfEviction(redis: Redis, { onEvictionPossible }: RedisStoreOptions): Promise<void> {
  // Managed servers may not report it; then their operators must know.
  const info = await redis.info('memory').catch(() => '')
  const policy = evictionPolicyOf(info)
  if (policy !== undefined) onEvictionPossible?.(policy)
}
