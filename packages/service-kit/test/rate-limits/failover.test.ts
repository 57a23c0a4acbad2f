import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, it } from '@jest/globals'
import { createLogger, systemClock } from '@open-payments-server/runtime'
import {
  isRedisInstalled,
  startRedisCluster,
  startRedisSentinels
} from '@open-payments-server/local-services'
import type { RedisPlace } from '@open-payments-server/shared-store'
import { Refusal } from '@open-payments-server/value-types/refusals'
import { createRateLimits, type RateLimits } from '../../src/rate-limits/index.js'

const hasRedis = await isRedisInstalled()
const describeWithRedis = hasRedis ? describe : describe.skip

const POINTS = 10
/** So many clients that every server of a cluster counts some. */
const CLIENTS = 40
const PATIENCE_MS = 60_000

function open(redisPlace: RedisPlace, keyPrefix: string): Promise<RateLimits> {
  const limit = { points: POINTS, durationSeconds: 600 }
  return createRateLimits({
    limits: {
      address: limit,
      client: limit,
      'wallet-address': limit,
      'address-rows': limit,
      'site-rows': limit,
      'client-rows': limit
    },
    redisPlace,
    keyPrefix,
    clock: systemClock,
    logger: createLogger({ service: 'test', level: 'silent' }),
    trustsProxies: false,
    exemptPaths: [],
    onRefused: () => undefined
  })
}

function isRefused(limits: RateLimits, client: string): boolean {
  try {
    limits.count(undefined, { client })
    return false
  } catch (error) {
    if (error instanceof Refusal) return true
    throw error
  }
}

async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS
  while (!(await holds())) {
    if (performance.now() > untilMs) throw new Error(`not within a minute: ${what}`)
    await delay(50)
  }
}

/** Two replicas count together before and after a server is lost, and nobody notices meanwhile. */
async function countThrough(redisPlace: RedisPlace, lose: () => Promise<void>): Promise<void> {
  const keyPrefix = `test-${randomUUID()}:`
  const [one, other] = [await open(redisPlace, keyPrefix), await open(redisPlace, keyPrefix)]
  /** Whether one learns how often new clients have asked at the other. */
  const isShared = async (): Promise<boolean> => {
    const names = Array.from({ length: CLIENTS }, () => randomUUID())
    for (const name of names) for (let times = 0; times < POINTS; times += 1) isRefused(one, name)
    await one.flush()
    for (const name of names) isRefused(other, name)
    await other.flush()
    return names.every((name) => isRefused(other, name))
  }
  try {
    await eventually('counts are shared', isShared)
    await lose()
    await eventually('counts are shared again', isShared)
  } finally {
    await Promise.all([one.close(), other.close()])
  }
}

describeWithRedis(`rate limits (${hasRedis ? 'redis-server found' : 'no redis-server on the PATH'})`, () => {
  it('are shared before and after sentinels put another server in the place of the primary', async () => {
    const redis = await startRedisSentinels()
    const primary = await redis.primary()
    await countThrough(
      { topology: 'sentinel', urls: redis.urls, sentinel: { name: redis.name } },
      async () => {
        await primary.kill()
        await redis.replaced(primary)
      }
    )
    await redis.stop()
  })

  it('are shared before and after a cluster puts another server in the place of a primary', async () => {
    const redis = await startRedisCluster()
    const [primary] = await redis.primaries()
    if (primary === undefined) throw new Error('there is no primary')
    await countThrough({ topology: 'cluster', urls: redis.urls }, async () => {
      await primary.kill()
      await redis.replaced(primary)
    })
    await redis.stop()
  })
})
