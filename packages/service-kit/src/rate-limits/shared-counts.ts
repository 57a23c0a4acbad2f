import { type Logger, within } from '@open-payments-server/runtime'
import { type RedisClient, RedisClients, type RedisPlace, tagOf } from '@open-payments-server/shared-store'
import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import type { Window, WindowObserver } from './limited-kind.js'

/** Maximum time before a count is sent to the other replicas, in milliseconds. */
export const FLUSH_INTERVAL_MS = 100
/** The same when it may soon matter to them: near a limit, or when many counts are waiting. */
export const SOON_MS = 1
/** Share of a limit from which each count matters. */
const NEAR_SHARE = 0.8
/** Maximum number of keys sent at a time: Redis does nothing else meanwhile, for about a millisecond. */
const KEYS_TOLD_MAX = 500
/** Maximum time for Redis to answer, in milliseconds. After that the connection is closed; no request waits for it. */
const ANSWER_TIMEOUT_MS = 1_000

/**
 * Adds the counts of one replica to the counts of all. A window that is new to Redis ends with that of the replica.
 *
 * KEYS: the counts. ARGV: for each of them the number to add, and the milliseconds left of its window. Returns for each of
 * them the count of all replicas, and the milliseconds left.
 */
const ADD_COUNTS = `
local answer = {}
for i, key in ipairs(KEYS) do
  local count = redis.call('incrby', key, ARGV[2 * i - 1])
  local left = redis.call('pttl', key)
  if left < 0 then
    left = tonumber(ARGV[2 * i])
    redis.call('pexpire', key, left)
  end
  answer[2 * i - 1], answer[2 * i] = count, left
end
return answer`

type CountingRedis = RedisClient & {
  addCounts(keyCount: number, ...keysThenValues: (string | number)[]): Promise<number[]>
}

/** What is told of a window. */
interface Told {
  readonly window: Window
  readonly count: number
  readonly leftMs: number
}

/** Runs something later. */
export type Schedule = (run: () => void, delayMs: number) => void

/** What keeping counts in step needs. */
export interface SharedCountsOptions {
  readonly redisPlace: RedisPlace
  /** Prefix of every key in Redis. */
  readonly keyPrefix: string
  readonly clock: Clock
  readonly logger: Logger
  readonly schedule: Schedule
}

/**
 * Synchronizes the counts of all replicas through Redis, in the background: all new counts are sent together, one call at a
 * time, and the reply brings the others' counts. While Redis does not answer, each replica counts alone, and sends its
 * counts when Redis is back.
 */
export class SharedCounts implements WindowObserver {
  readonly #options: SharedCountsOptions
  readonly #clients: RedisClients
  readonly #redis: CountingRedis
  readonly #untold = new Set<Window>()
  #flushing: Promise<void> | undefined
  /** Delay of the next scheduled flush, in milliseconds. */
  #plannedInMs = Infinity
  #isUrgent = false
  #isOutageTold = false

  private constructor(options: SharedCountsOptions) {
    this.#options = options
    this.#clients = new RedisClients(options.redisPlace, ANSWER_TIMEOUT_MS)
    const redis = this.#clients.open().client
    redis.defineCommand('addCounts', { lua: ADD_COUNTS })
    for (const event of ['error', 'node error']) {
      redis.on(event, (error: Error) => {
        this.#tellOutage(error)
      })
    }
    redis.on('ready', () => {
      if (this.#untold.size > 0) this.#plan(SOON_MS)
    })
    this.#redis = redis as CountingRedis
  }

  /** Connects. Resolves when Redis has answered, or timed out: counting works either way. */
  static async open(options: SharedCountsOptions): Promise<SharedCounts> {
    const counts = new SharedCounts(options)
    // Its failure is the `error` event. While sentinels agree on no primary there is nothing to connect to.
    await within(ANSWER_TIMEOUT_MS, 'Redis', counts.#redis.connect()).catch(() => undefined)
    return counts
  }

  counted(window: Window): void {
    this.#untold.add(window)
    this.#isUrgent ||=
      window.count >= window.limited.limit.points * NEAR_SHARE || this.#untold.size >= KEYS_TOLD_MAX
    this.#plan(this.#isUrgent ? SOON_MS : FLUSH_INTERVAL_MS)
  }

  closed(window: Window): void {
    this.#untold.delete(window)
  }

  /** Sends all counts to Redis, if it can be reached, and takes over the others' counts. */
  async flush(): Promise<void> {
    await this.#flushing
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined
      if (this.#untold.size > 0) this.#plan(this.#isUrgent ? SOON_MS : FLUSH_INTERVAL_MS)
    })
    return this.#flushing
  }

  /** Sends the remaining counts, and closes the connection. */
  async close(): Promise<void> {
    await this.flush()
    this.#redis.disconnect()
    this.#clients.close()
  }

  #plan(delayMs: number): void {
    // A running flush checks again when it ends, and so does a new connection.
    if (delayMs >= this.#plannedInMs || this.#flushing !== undefined || this.#redis.status !== 'ready') return
    this.#plannedInMs = delayMs
    this.#options.schedule(() => {
      this.#plannedInMs = Infinity
      void this.flush()
    }, delayMs)
  }

  async #flushAll(): Promise<void> {
    let left = this.#untold.size
    while (left > 0 && this.#redis.status === 'ready') {
      this.#isUrgent = false
      await this.#flushSome()
      left -= KEYS_TOLD_MAX
    }
  }

  async #flushSome(): Promise<void> {
    const { topology } = this.#options.redisPlace
    // A call is answered by one server: in a cluster each has a part of the keys.
    const parts = new Map<string, Told[]>()
    for (const told of this.#takeUntold()) {
      const tag = tagOf(told.window.key, topology)
      const part = parts.get(tag) ?? []
      part.push(told)
      parts.set(tag, part)
    }
    await Promise.all([...parts].map(([tag, told]) => this.#send(tag, told)))
  }

  async #send(tag: string, told: readonly Told[]): Promise<void> {
    const keys = told.map(({ window }) => `${this.#options.keyPrefix}${tag}${this.#nameOf(window)}`)
    const values = told.flatMap(({ count, leftMs }) => [count, leftMs])
    try {
      const answer = await this.#redis.addCounts(keys.length, ...keys, ...values)
      const nowMs = this.#options.clock.now()
      told.forEach(({ window }, at) => {
        takeOver(window, answer[2 * at] ?? 0, nowMs + (answer[2 * at + 1] ?? 0))
      })
      this.#isOutageTold = false
    } catch (error) {
      // Sent counts are not sent again: Redis may have added them, and nobody may be refused for requests that were not
      // made.
      this.#tellOutage(error)
    }
  }

  #takeUntold(): Told[] {
    const nowMs = this.#options.clock.now()
    const taken: Told[] = []
    for (const window of this.#untold) {
      if (taken.length === KEYS_TOLD_MAX) break
      this.#untold.delete(window)
      const leftMs = window.untilMs - nowMs
      // Ended windows are of no use to the others.
      if (leftMs <= 0) continue
      taken.push({ window, count: window.untold, leftMs })
      window.untold = 0
    }
    return taken
  }

  /** Callers stay private: Redis, which others may operate, contains only hashes. */
  #nameOf({ limited, key }: Window): string {
    return `rate-limit:${limited.kind}:${hashSecret(key).toString('base64url')}`
  }

  #tellOutage(error: unknown): void {
    // Logged once; an outage must not fill the log.
    if (!this.#isOutageTold) {
      this.#options.logger.warn(
        { err: error },
        'rate limits are counted in this process: Redis does not answer'
      )
    }
    this.#isOutageTold = true
  }
}

/** Takes over the count of all replicas, and their shared window. A Redis that lost its data knows less than we do. */
function takeOver(window: Window, count: number, untilMs: number): void {
  if (count + window.untold < window.count) return
  window.count = count + window.untold
  window.untilMs = untilMs
}
