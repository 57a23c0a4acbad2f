import type { Cluster, Redis } from 'ioredis'
import { tagOf, tagsOf } from './key-tags.js'
import type { RedisConnection, RedisStoreOptions } from './redis-connection.js'
import { PRIMARY_LEASE_MS } from './sentinel-watch.js'
import { isRemembered, SharedStoreUnavailable } from './shared-store.js'

const MS_PER_SECOND = 1_000
const AHEAD_MAX_SECONDS = 60
/** How far the clocks of replicas may differ for the time after a failover, in milliseconds. */
const CLOCKS_DIFFER_MS = 250
/**
 * How far ahead of the clock the epoch is set after a failover, in milliseconds: the former primary may have taken marks for as long
 * as a lease lasts, of signatures dated by a clock that much ahead of ours, in whole seconds.
 */
export const FAILOVER_MARGIN_MS = PRIMARY_LEASE_MS + CLOCKS_DIFFER_MS + MS_PER_SECOND
/** How often it is looked for another server in the place of a former one, in milliseconds. */
const LOOK_EVERY_MS = 500
/**
 * How long after its creation a request may still be under way, in milliseconds. One from the moment of a loss is no replay: its sender
 * is told to send it again, with another signature.
 */
const UNDER_WAY_MS = 10_000
/** Share of the time for a command within which a replica must have a mark. */
const REPLICA_SHARE = 0.5

/**
 * Marks a key and reads the epoch in one step, so that no loss can come between them.
 *
 * Without an epoch the server has lost everything, recently, and signatures marked before that may have been dated ahead of
 * the clock: so the epoch is set that far ahead. One that is more than twice as far ahead was set by a wrong clock, and
 * would refuse everything until then.
 *
 * A server whose data were written under another history (the replication id, which a server changes when it is promoted and when
 * it starts) may lack the last of them. If it has run for longer than signatures may be dated ahead, it was promoted, and what was dated
 * ahead is known to be here; otherwise it may have started anew with an old copy.
 *
 * KEYS: the epoch, the history, and the mark, if any. ARGV: present, how far ahead after a loss, and after a promotion, and the
 * lifetime of the mark, 0 to set none and only look; all in milliseconds. Returns whether the key was not marked before (1) or was (0),
 * the epoch, and whether the server tells its history (1).
 */
const MARK_ONCE = `
local marked
if KEYS[3] and ARGV[4] == '0' then
  marked = redis.call('exists', KEYS[3]) == 0
else
  marked = KEYS[3] and redis.call('set', KEYS[3], '1', 'PX', ARGV[4], 'NX')
end
local epoch = tonumber(redis.call('get', KEYS[1]) or '')
local written = redis.call('get', KEYS[2])
local info = redis.pcall('info', 'replication')
local history = type(info) == 'string' and string.match(info, 'master_replid:(%x+)')
local now, ahead = tonumber(ARGV[1]), tonumber(ARGV[2])
local set
if not epoch or epoch > now + 2 * ahead then
  set = epoch and now + 2 * ahead or now + ahead
elseif history and written and written ~= history then
  local up = tonumber(string.match(redis.call('info', 'server'), 'uptime_in_seconds:(%d+)') or '0')
  set = math.max(epoch, now + tonumber(ARGV[3]), now + ahead - (up - 1) * 1000)
end
if set then
  epoch = set
  redis.call('set', KEYS[1], string.format('%.0f', epoch))
end
if history and written ~= history then redis.call('set', KEYS[2], history) end
return { marked and 1 or 0, epoch, history and 1 or 0 }`

type Marked = [marked: number, epochMs: number, tellsHistory: number]

interface MarkingCommands {
  markOnce(keyCount: number, ...keysThenArguments: (string | number)[]): Promise<Marked>
}

type Marking = Parameters<MarkingCommands['markOnce']>

type MarkingRedis = (Redis | Cluster) & MarkingCommands

/**
 * Single-use marks in Redis, and its epoch: the time since which it has lost none. A server that was flushed, or restarted
 * without its data, has no epoch, and the first caller sets one. In a cluster, whose servers lose data each for itself, there is one
 * for each group of keys.
 */
export class RedisMarks {
  readonly #connection: RedisConnection
  readonly #aheadConnection: RedisConnection
  readonly #options: RedisStoreOptions
  readonly #clock: () => number
  readonly #aheadMs: number
  readonly #timer: NodeJS.Timeout | undefined

  /** @param aheadConnection another connection, for marks that wait until a replica has them */
  constructor(connection: RedisConnection, aheadConnection: RedisConnection, options: RedisStoreOptions) {
    this.#connection = connection
    this.#aheadConnection = aheadConnection
    this.#options = options
    const { keyPrefix, place, clock = Date.now, aheadMaxSeconds = AHEAD_MAX_SECONDS } = options
    this.#clock = clock
    // One more, because creation times are in whole seconds, and count as the end of their second.
    this.#aheadMs = (aheadMaxSeconds + 1) * MS_PER_SECOND
    for (const { redis } of [connection, aheadConnection]) {
      redis.defineCommand('markOnce', { lua: MARK_ONCE })
    }
    // On the first connection the server may be new, with nothing marked before. Sent ahead of any mark.
    connection.redis.once('ready', () => {
      for (const tag of tagsOf(place.topology)) {
        // A connection that breaks now has been reported; then the first mark sets the epoch, with its margin.
        connection.redis.set(`${keyPrefix}${tag}epoch`, this.#clock(), 'NX').catch(() => undefined)
      }
    })
    if (place.topology === 'single') return
    this.#timer = setInterval(() => {
      this.#look()
    }, LOOK_EVERY_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** @throws SharedStoreUnavailable */
  async markOnce(key: string, lifetimeSeconds: number, createdSeconds: number | undefined): Promise<boolean> {
    return this.#mark(key, lifetimeSeconds, createdSeconds)
  }

  /**
   * Whether a key was marked, or may have been: marks from the time of its creation may be lost.
   *
   * @throws SharedStoreUnavailable
   */
  async wasMarked(key: string, createdSeconds: number): Promise<boolean> {
    return !(await this.#mark(key, 0, createdSeconds))
  }

  /** Marks a key, or only looks, for a lifetime of 0. True when it was not marked, and no mark of it can be lost. */
  async #mark(key: string, lifetimeSeconds: number, createdSeconds: number | undefined): Promise<boolean> {
    const nowMs = this.#clock()
    const isSingle = this.#options.place.topology === 'single'
    const isAhead =
      lifetimeSeconds > 0 && createdSeconds !== undefined && createdSeconds * MS_PER_SECOND > nowMs
    const marking = this.#markingOf(tagOf(key, this.#options.place.topology), nowMs, key, lifetimeSeconds)
    const [marked, epochMs, tellsHistory] = await (isAhead && !isSingle
      ? this.#markOnReplica(marking)
      : this.#connection.runOnPrimary(PRIMARY_LEASE_MS, (redis) =>
          (redis as MarkingRedis).markOnce(...marking)
        ))
    if (tellsHistory === 0 && !isSingle) {
      throw new SharedStoreUnavailable(
        'Redis does not tell which server it is: its user must be allowed INFO'
      )
    }
    if (marked !== 1) return false
    if (createdSeconds === undefined || isRemembered(createdSeconds, epochMs)) return true
    const isLately = Math.max(epochMs, createdSeconds * MS_PER_SECOND + UNDER_WAY_MS) > nowMs
    if (isLately) throw new SharedStoreUnavailable('Redis may have lost marks of what was created lately')
    return false
  }

  /**
   * Marks what was created ahead of our clock: it stays fresh for longer than the epoch is set ahead after a failover, so that its
   * mark must not get lost.
   */
  async #markOnReplica(marking: Marking): Promise<Marked> {
    const waitMs = Math.floor(this.#options.commandTimeoutMs * REPLICA_SHARE)
    const results = await this.#aheadConnection.runOnPrimary(PRIMARY_LEASE_MS, async (redis) => {
      const pipeline = redis.pipeline()
      // The library adds the script to pipelines, which its types do not know.
      void (pipeline as unknown as MarkingCommands).markOnce(...marking)
      return pipeline.wait(1, waitMs).exec()
    })
    const [[markError, marked] = [], [waitError, replicas] = []] = results ?? []
    const error = markError ?? waitError
    if (error) throw new SharedStoreUnavailable('Redis did not answer', { cause: error })
    if (typeof replicas !== 'number' || replicas < 1) {
      throw new SharedStoreUnavailable(
        'no replica of Redis has the mark of what was created ahead of the clock'
      )
    }
    return marked as Marked
  }

  /**
   * Lets each server look whether it may have lost marks, so that the time in which it refuses them begins with its promotion, and not
   * with the first mark afterwards.
   */
  #look(): void {
    if (!this.#connection.isReady()) return
    const redis = this.#connection.redis as MarkingRedis
    for (const tag of tagsOf(this.#options.place.topology)) {
      redis.markOnce(...this.#markingOf(tag, this.#clock())).catch(() => undefined)
    }
  }

  #markingOf(tag: string, nowMs: number, ...mark: [] | [key: string, lifetimeSeconds: number]): Marking {
    const { keyPrefix, place } = this.#options
    const start = `${keyPrefix}${tag}`
    const keys = [`${start}epoch`, `${start}history`]
    const failoverMs =
      place.topology === 'single' ? this.#aheadMs : Math.min(FAILOVER_MARGIN_MS, this.#aheadMs)
    const times = [nowMs, this.#aheadMs, failoverMs]
    if (mark.length === 0) return [2, ...keys, ...times]
    const [key, lifetimeSeconds] = mark
    return [3, ...keys, `${start}${key}`, ...times, Math.ceil(lifetimeSeconds * MS_PER_SECOND)]
  }
}
