import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startTcpProxy } from '@open-payments-server/local-services'
import { Redis } from 'ioredis'
import { createInProcessStore, SharedStoreUnavailable, type SharedStore } from './index.js'
import { singleRedis } from './redis-place.js'
import { createRedisStore } from './redis-store.js'
import { keyLengthMax, type SubscriptionHandlers } from './shared-store.js'

const redisUrl = process.env.TEST_REDIS_URL ?? ''
const describeWithRedis = redisUrl === '' ? describe.skip : describe
const withRedis = redisUrl === '' ? 'no redis-server on the PATH and no TEST_REDIS_URL' : 'Redis'
const commandTimeoutMs = 2_000

interface StoreUnderTest {
  /** Two replicas; where there is one process, both are it. */
  readonly stores: readonly [SharedStore, SharedStore]
  advance(milliseconds: number): Promise<void>
}

describe('in-process store', () => {
  contract(() => {
    let now = 1_000_000
    const store = createInProcessStore(() => now)
    const advance = (milliseconds: number) => {
      now += milliseconds
      return Promise.resolve()
    }
    return { stores: [store, store], advance }
  })

  it('refuses new marks when a million are live, keeps those, and recovers when they expire', async () => {
    let now = 0
    const store = createInProcessStore(() => now)
    for (let index = 0; index < 1_000_000; index++) await store.markOnce(`key ${String(index)}`, 60)
    await expect(store.markOnce('one more', 60)).rejects.toThrow(SharedStoreUnavailable)
    await expect(store.markOnce('key 0', 60)).resolves.toBe(false)
    now = 60_000
    await expect(store.markOnce('one more', 60)).resolves.toBe(true)
  })
})

describe('in-process store, started anew,', () => {
  it('refuses nonces from before its start, and accepts later ones', async () => {
    const startSeconds = 1_767_225_600
    const store = createInProcessStore(() => startSeconds * 1_000 + 500)
    await expect(store.markOnce('before', 60, startSeconds - 1)).resolves.toBe(false)
    // Whole seconds do not tell whether it was made in the first half of this one: the very first request must pass.
    await expect(store.markOnce('in the same second', 60, startSeconds)).resolves.toBe(true)
    await expect(store.markOnce('in the same second', 60, startSeconds)).resolves.toBe(false)
    await expect(store.markOnce('later', 60, startSeconds + 1)).resolves.toBe(true)
    await expect(store.markOnce('at no known time', 60)).resolves.toBe(true)
  })
})

describeWithRedis(`Redis store that lost its marks (${withRedis})`, () => {
  const aheadMaxSeconds = 30
  const startSeconds = 1_767_225_600
  /** How long a request may be under way. */
  const underWaySeconds = 10
  let now: number
  let keyPrefix: string
  let redis: Redis
  const open: SharedStore[] = []
  const newStore = (): SharedStore => {
    const clock = () => now
    open.push(
      createRedisStore({ place: singleRedis(redisUrl), keyPrefix, commandTimeoutMs, clock, aheadMaxSeconds })
    )
    return open[open.length - 1]!
  }
  /** Forgets everything of these stores, as a flushed server does, or one restarted without its data. */
  const flush = async (): Promise<void> => {
    const keys = await redis.keys(`${keyPrefix}*`)
    await redis.del(...keys)
  }
  /** Forgets the marks that the refused requests have set themselves. */
  const flushMarks = async (): Promise<void> => {
    const keys = await redis.keys(`${keyPrefix}used*`)
    await redis.del(...keys)
  }

  beforeEach(() => {
    now = startSeconds * 1_000 + 500
    keyPrefix = `test:${randomUUID()}:`
    redis = new Redis(redisUrl)
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((store) => store.close()))
    redis.disconnect()
  })

  it('accepts nonces from its first start on, without delay', async () => {
    await expect(newStore().markOnce('first', 60, startSeconds)).resolves.toBe(true)
    await expect(newStore().markOnce('second', 60, startSeconds)).resolves.toBe(true)
    await expect(newStore().markOnce('older', 60, startSeconds - underWaySeconds)).resolves.toBe(false)
  })

  it('refuses nonces that may predate the data loss, whichever replica detects it', async () => {
    const [one, other] = [newStore(), newStore()]
    await expect(one.markOnce('used', 330, startSeconds)).resolves.toBe(true)
    // By a clock that is ahead as far as is allowed.
    await expect(one.markOnce('used ahead', 330, startSeconds + aheadMaxSeconds)).resolves.toBe(true)
    await flush()
    await expect(other.markOnce('used', 330, startSeconds)).rejects.toThrow(SharedStoreUnavailable)
    await expect(one.markOnce('used ahead', 330, startSeconds + aheadMaxSeconds)).rejects.toThrow(
      SharedStoreUnavailable
    )
    await expect(one.markOnce('at no known time', 330)).resolves.toBe(true)
    now += (aheadMaxSeconds + 1 + underWaySeconds) * 1_000
    await flushMarks()
    await expect(other.markOnce('used', 330, startSeconds)).resolves.toBe(false)
    await expect(one.markOnce('used ahead', 330, startSeconds + aheadMaxSeconds)).resolves.toBe(false)
  })

  it('does not call a request used that was under way when the data were lost', async () => {
    const one = newStore()
    await one.check()
    await flush()
    await expect(one.markOnce('lost', 330, startSeconds)).rejects.toThrow(SharedStoreUnavailable)
    now += (aheadMaxSeconds + 1) * 1_000
    const createdSeconds = startSeconds + aheadMaxSeconds + 1 - underWaySeconds / 2
    await expect(one.markOnce('under way', 330, createdSeconds)).rejects.toThrow(SharedStoreUnavailable)
    await expect(one.markOnce('under way', 330, createdSeconds)).resolves.toBe(false)
  })

  it('accepts later nonces at every replica, and at one that starts then', async () => {
    const one = newStore()
    await one.check()
    await flush()
    await expect(one.markOnce('lost', 330, startSeconds)).rejects.toThrow(SharedStoreUnavailable)
    now += (aheadMaxSeconds + 1) * 1_000
    const createdSeconds = startSeconds + aheadMaxSeconds + 1
    await expect(one.markOnce('new', 330, createdSeconds)).resolves.toBe(true)
    await expect(newStore().markOnce('newer', 330, createdSeconds)).resolves.toBe(true)
    await expect(newStore().markOnce('old', 330, createdSeconds - underWaySeconds - 1)).resolves.toBe(false)
  })

  it('refuses nonces from before the server came back with an older copy of its data', async () => {
    const one = newStore()
    await expect(one.markOnce('used', 330, startSeconds)).resolves.toBe(true)
    // Written by a server that started since, or by another one.
    await redis.set(`${keyPrefix}history`, 'f'.repeat(40))
    await flushMarks()
    await expect(one.markOnce('used', 330, startSeconds)).rejects.toThrow(SharedStoreUnavailable)
    now += (aheadMaxSeconds + 1) * 1_000
    await flushMarks()
    await expect(one.markOnce('used', 330, startSeconds)).resolves.toBe(false)
    await expect(one.markOnce('new', 330, startSeconds + aheadMaxSeconds + 1)).resolves.toBe(true)
  })

  it('ignores a clock that is wrong by a day', async () => {
    now += 86_400_000
    await newStore().check()
    now -= 86_400_000
    const one = newStore()
    await expect(one.markOnce('now', 330, startSeconds)).rejects.toThrow(SharedStoreUnavailable)
    now += 2 * (aheadMaxSeconds + 1) * 1_000
    await expect(one.markOnce('soon', 330, Math.floor(now / 1_000))).resolves.toBe(true)
  })
})

describeWithRedis(`Redis store (${withRedis})`, () => {
  const keyPrefix = `test:${randomUUID()}:`
  const newStore = (url = redisUrl) =>
    createRedisStore({ place: singleRedis(url), keyPrefix, commandTimeoutMs })

  /** Has all keys expire sooner by that, because how much time really passes depends on the machine. */
  const advance = async (milliseconds: number): Promise<void> => {
    const redis = new Redis(redisUrl)
    try {
      for (const key of await redis.keys(`${keyPrefix}*`)) {
        const leftMs = await redis.pttl(key)
        // Deletes what is over.
        if (leftMs >= 0) await redis.pexpire(key, leftMs - milliseconds)
      }
    } finally {
      redis.disconnect()
    }
  }

  contract(() => ({ stores: [newStore(), newStore()], advance }))

  it('uses at most the memory per mark that docs/limits.md states', async () => {
    // As long as the longer of the two services' prefixes, and as what both mark of a nonce.
    const prefix = randomUUID().slice(0, 'resource-server:'.length)
    const store = createRedisStore({ place: singleRedis(redisUrl), keyPrefix: prefix, commandTimeoutMs })
    const redis = new Redis(redisUrl)
    try {
      const mark = `nonce:${'m'.repeat(43)}`
      expect(await store.markOnce(mark, 331)).toBe(true)
      const bytes = Number(await redis.memory('USAGE', `${prefix}${mark}`))
      const limits = await readFile(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
      const documented = Number(/\| Mark of a nonce +\| ([\d,]+) bytes/.exec(limits)?.[1])
      expect(documented).toBeGreaterThan(0)
      expect(bytes).toBeLessThanOrEqual(documented)
      expect(bytes).toBeGreaterThan(documented / 2)
    } finally {
      redis.disconnect()
      await store.close()
    }
  })

  it('separates marks by prefix', async () => {
    const key = randomUUID()
    const [one, other] = [
      newStore(),
      createRedisStore({ place: singleRedis(redisUrl), keyPrefix: 'other:', commandTimeoutMs })
    ]
    await expect(one.markOnce(key, 10)).resolves.toBe(true)
    await expect(other.markOnce(key, 10)).resolves.toBe(true)
    await Promise.all([one.close(), other.close()])
  })

  it('reports when the connection of a subscription is lost, and when it is back', async () => {
    const proxy = await startTcpProxy(redisUrl)
    const store = newStore(proxy.url)
    const seen = recorder()
    const subscription = await store.subscribe('news', seen.handlers)
    proxy.drop()
    await seen.until('interrupted')
    await seen.until('resumed')
    expect(subscription.live).toBe(true)
    await store.publish('news', Buffer.from('after'))
    await seen.until('after')
    expect(seen.events).toEqual(['interrupted', 'resumed', 'after'])
    await store.close()
    await proxy.stop()
  })

  it('detects a silent connection, and answers in time meanwhile', async () => {
    const proxy = await startTcpProxy(redisUrl)
    const store = createRedisStore({ place: singleRedis(proxy.url), keyPrefix, commandTimeoutMs: 1_000 })
    const seen = recorder()
    const subscription = await store.subscribe('news', seen.handlers)
    await store.check()
    proxy.hang()
    await expect(store.markOnce(randomUUID(), 10)).rejects.toThrow(SharedStoreUnavailable)
    await seen.until('interrupted')
    expect(subscription.live).toBe(false)
    await proxy.restore()
    await seen.until('resumed')
    // The connection for commands comes back in its own time.
    await expect(untilItWorks(() => store.check())).resolves.toBeUndefined()
    await expect(store.markOnce(randomUUID(), 10)).resolves.toBe(true)
    await store.close()
    await proxy.stop()
  })

  it('can be closed while it waits to connect again', async () => {
    const proxy = await startTcpProxy(redisUrl)
    const store = newStore(proxy.url)
    const seen = recorder()
    await store.subscribe('news', seen.handlers)
    await store.check()
    await proxy.refuse()
    proxy.drop()
    await seen.until('interrupted')
    await expect(store.check()).rejects.toThrow(SharedStoreUnavailable)
    await expect(store.close()).resolves.toBeUndefined()
    await proxy.stop()
  })

  it('fails without a server, and works once there is one', async () => {
    const proxy = await startTcpProxy(redisUrl)
    await proxy.refuse()
    const store = newStore(proxy.url)
    await expect(store.markOnce('key', 10)).rejects.toThrow(SharedStoreUnavailable)
    await expect(store.publish('news', new Uint8Array())).rejects.toThrow(SharedStoreUnavailable)
    await expect(store.subscribe('news', recorder().handlers)).rejects.toThrow(SharedStoreUnavailable)
    await expect(store.check()).rejects.toThrow(SharedStoreUnavailable)
    await proxy.restore()
    await expect(untilItWorks(() => store.check())).resolves.toBeUndefined()
    await store.close()
    await proxy.stop()
  })
})

function contract(create: () => StoreUnderTest): void {
  let underTest: StoreUnderTest
  let one: SharedStore
  let other: SharedStore
  beforeEach(() => {
    underTest = create()
    ;[one, other] = underTest.stores
  })
  afterEach(() => Promise.all([one.close(), other.close()]))

  it('marks a key once, for all replicas', async () => {
    const key = randomUUID()
    await expect(one.markOnce(key, 10)).resolves.toBe(true)
    await expect(one.markOnce(key, 10)).resolves.toBe(false)
    await expect(other.markOnce(key, 10)).resolves.toBe(false)
    await expect(other.markOnce(randomUUID(), 10)).resolves.toBe(true)
  })

  it('tells all replicas whether a key was marked, and marks nothing by that', async () => {
    const key = randomUUID()
    const nowSeconds = Math.floor(Date.now() / 1_000) + 10_000
    await expect(one.wasMarked(key, nowSeconds)).resolves.toBe(false)
    await expect(other.markOnce(key, 100)).resolves.toBe(true)
    await expect(one.wasMarked(key, nowSeconds)).resolves.toBe(true)
    await expect(one.wasMarked(randomUUID(), nowSeconds)).resolves.toBe(false)
    await underTest.advance(120_000)
    await expect(other.wasMarked(key, nowSeconds)).resolves.toBe(false)
  })

  it('counts as marked what was created before marks may have been lost', async () => {
    await expect(one.wasMarked(randomUUID(), 1)).resolves.toBe(true)
  })

  it('gives the mark to one of a hundred racing callers', async () => {
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 ? one : other).markOnce(key, 10))
    )
    expect(answers.filter(Boolean)).toHaveLength(1)
  })

  it('forgets a mark exactly after its lifetime, which a second use does not prolong', async () => {
    const key = randomUUID()
    await one.markOnce(key, 100)
    await underTest.advance(60_000)
    await expect(one.markOnce(key, 6_000)).resolves.toBe(false)
    await underTest.advance(60_000)
    await expect(one.markOnce(key, 6_000)).resolves.toBe(true)
  })

  it.each([0, -1, NaN, Infinity])('refuses a lifetime of %p seconds', async (lifetimeSeconds) => {
    await expect(one.markOnce(randomUUID(), lifetimeSeconds)).rejects.toThrow(RangeError)
  })

  it('refuses a key that is too long', async () => {
    await expect(one.markOnce('k'.repeat(keyLengthMax + 1), 1)).rejects.toThrow(RangeError)
    await expect(one.markOnce(randomUUID().padEnd(keyLengthMax, 'k'), 1)).resolves.toBe(true)
  })

  it('delivers each message to every subscriber of the channel, byte for byte and in order', async () => {
    const [first, second, elsewhere] = [recorder('hex'), recorder('hex'), recorder('hex')]
    await one.subscribe('news', first.handlers)
    await other.subscribe('news', second.handlers)
    await one.subscribe('other news', elsewhere.handlers)
    await one.publish('news', new Uint8Array([0, 255, 10, 13]))
    await one.publish('news', new Uint8Array())
    // A view into a larger buffer: only the view is the message.
    await one.publish('news', new Uint8Array([1, 2, 3, 4]).subarray(1, 3))
    await Promise.all([first.until('0203'), second.until('0203')])
    expect(first.events).toEqual(['00ff0a0d', '', '0203'])
    expect(second.events).toEqual(first.events)
    expect(elsewhere.events).toEqual([])
  })

  it('is live from the start, and silent once closed, while others still receive', async () => {
    const [closing, staying] = [recorder(), recorder()]
    const subscription = await one.subscribe('news', closing.handlers)
    await one.subscribe('news', staying.handlers)
    expect(subscription.live).toBe(true)
    await subscription.close()
    await subscription.close()
    expect(subscription.live).toBe(false)
    await other.publish('news', Buffer.from('later'))
    await staying.until('later')
    expect(closing.events).toEqual([])
  })

  it('can subscribe again while the last subscription of a channel is being closed', async () => {
    const again = recorder()
    const before = await one.subscribe('news', recorder().handlers)
    await Promise.all([before.close(), one.subscribe('news', again.handlers)])
    await other.publish('news', Buffer.from('later'))
    await again.until('later')
  })

  it('answers a check, until it is closed', async () => {
    await expect(one.check()).resolves.toBeUndefined()
    const seen = recorder()
    const subscription = await one.subscribe('news', seen.handlers)
    await one.close()
    await one.close()
    expect(subscription.live).toBe(false)
    expect(seen.events).toEqual([])
    await expect(one.check()).rejects.toThrow(SharedStoreUnavailable)
    await expect(one.markOnce('key', 1)).rejects.toThrow(SharedStoreUnavailable)
    await expect(one.publish('news', new Uint8Array())).rejects.toThrow(SharedStoreUnavailable)
    await expect(one.subscribe('news', seen.handlers)).rejects.toThrow(SharedStoreUnavailable)
  })
}

/** Records a subscriber's messages, and waits for them. */
function recorder(encoding: BufferEncoding = 'utf8') {
  const events: string[] = []
  const waiting = new Map<string, () => void>()
  const note = (event: string) => {
    events.push(event)
    waiting.get(event)?.()
  }
  const handlers: SubscriptionHandlers = {
    onMessage: (message) => {
      note(Buffer.from(message).toString(encoding))
    },
    onInterrupted: () => {
      note('interrupted')
    },
    onResumed: () => {
      note('resumed')
    }
  }
  const until = async (event: string): Promise<void> => {
    if (!events.includes(event)) await new Promise<void>((resolve) => waiting.set(event, resolve))
  }
  return { events, handlers, until }
}

async function untilItWorks(attempt: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await attempt()
      return
    } catch {
      await delay(20)
    }
  }
}
