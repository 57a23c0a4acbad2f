import type { Redis } from 'ioredis'
import type { RedisConnection, RedisStoreOptions } from './redis-connection.js'
import { isRemembered } from './shared-store.js'

const MS_PER_SECOND = 1_000
const AHEAD_MAX_SECONDS = 60

/**
 * Marks a key and reads the epoch in one step, so that no loss can come between them.
 *
 * Without an epoch the server has lost everything, recently, and signatures marked before that may have been dated ahead of
 * the clock: so the epoch is set that far ahead. One that is more than twice as far ahead was set by a wrong clock, and
 * would refuse everything until then.
 *
 * KEYS: the mark, the epoch. ARGV: lifetime, present, how far ahead; all in milliseconds. Returns whether the key was
 * marked now (1) or before (0), and the epoch.
 */
const MARK_ONCE = `
local marked = redis.call('set', KEYS[1], '1', 'PX', ARGV[1], 'NX')
local epoch = tonumber(redis.call('get', KEYS[2]) or '')
local now, ahead = tonumber(ARGV[2]), tonumber(ARGV[3])
if not epoch or epoch > now + 2 * ahead then
  epoch = epoch and now + 2 * ahead or now + ahead
  redis.call('set', KEYS[2], string.format('%.0f', epoch))
end
return { marked and 1 or 0, epoch }`

interface MarkingRedis extends Redis {
  markOnce(
    mark: string,
    epoch: string,
    lifetimeMs: number,
    nowMs: number,
    aheadMs: number
  ): Promise<[marked: number, epochMs: number]>
}

/**
 * Single-use marks in Redis, and its epoch: the time since which it has lost none. A server that was flushed, or restarted
 * without its data, has no epoch, and the first caller sets one.
 */
export class RedisMarks {
  readonly #connection: RedisConnection
  readonly #options: RedisStoreOptions
  readonly #epochKey: string
  readonly #clock: () => number
  readonly #aheadMs: number

  constructor(connection: RedisConnection, options: RedisStoreOptions) {
    this.#connection = connection
    this.#options = options
    const { keyPrefix, clock = Date.now, aheadMaxSeconds = AHEAD_MAX_SECONDS } = options
    this.#epochKey = `${keyPrefix}epoch`
    this.#clock = clock
    // One more, because creation times are in whole seconds, and count as the end of their second.
    this.#aheadMs = (aheadMaxSeconds + 1) * MS_PER_SECOND
    connection.redis.defineCommand('markOnce', { numberOfKeys: 2, lua: MARK_ONCE })
    // On the first connection the server may be new, with nothing marked before. Sent ahead of any mark.
    connection.redis.once('ready', () => {
      // A connection that breaks now has been reported; then the first mark sets the epoch, with its margin.
      connection.redis.set(this.#epochKey, this.#clock(), 'NX').catch(() => undefined)
    })
  }

  /** @throws SharedStoreUnavailable */
  async markOnce(key: string, lifetimeSeconds: number, createdSeconds: number | undefined): Promise<boolean> {
    const lifetimeMs = Math.ceil(lifetimeSeconds * MS_PER_SECOND)
    const [marked, epochMs] = await this.#connection.run((redis) =>
      (redis as MarkingRedis).markOnce(
        `${this.#options.keyPrefix}${key}`,
        this.#epochKey,
        lifetimeMs,
        this.#clock(),
        this.#aheadMs
      )
    )
    return marked === 1 && isRemembered(createdSeconds, epochMs)
  }
}
