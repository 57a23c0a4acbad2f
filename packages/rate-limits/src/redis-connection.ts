import type { Logger } from '@open-payments-server/runtime'
import { Redis } from 'ioredis'

/** Longest that a request waits for Redis to count it, in milliseconds. Then the process counts, and the connection ends. */
export const COUNT_TIMEOUT_MS = 100
/** Longest that connecting may take, in milliseconds. */
const CONNECT_TIMEOUT_MS = 1_000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 2_000

/**
 * Connects to Redis. A connection that is lost, or does not answer in time, is made again in the background: until it is,
 * nothing waits for it.
 */
export async function connectRedis(url: string, logger: Logger): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COUNT_TIMEOUT_MS,
    socketTimeout: COUNT_TIMEOUT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt, 10), LAST_RETRY_MS)
  })
  let isTold = false
  redis.on('error', (error: Error) => {
    // Once is enough to know; an outage must not fill the log.
    if (!isTold) logger.warn({ err: error }, 'rate limits are counted in this process: Redis does not answer')
    isTold = true
  })
  redis.on('ready', () => {
    isTold = false
  })
  // Its failure is the `error` event, and limits hold without it.
  await redis.connect().catch(() => undefined)
  return redis
}
