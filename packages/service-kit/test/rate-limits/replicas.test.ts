import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger, systemClock } from '@open-payments-server/runtime'
import { Refusal } from '@open-payments-server/value-types/refusals'
import { startTcpProxy, type TcpProxy } from '@open-payments-server/local-services'
import { singleRedis } from '@open-payments-server/shared-store'
import { Redis } from 'ioredis'
import { createRateLimits, type RateLimits, type RateLimitsOptions } from '../../src/rate-limits/index.js'
import { KEYS_MAX, LimitedKind } from '../../src/rate-limits/limited-kind.js'
import { FLUSH_INTERVAL_MS, SOON_MS } from '../../src/rate-limits/shared-counts.js'

const POINTS = 10
const DURATION_SECONDS = 60
const LIMIT = { points: POINTS, durationSeconds: DURATION_SECONDS }

const redisUrl = process.env.TEST_REDIS_URL ?? ''
const describeWithRedis = redisUrl === '' ? describe.skip : describe
const opened: RateLimits[] = []
let keyPrefix: string

beforeEach(() => {
  keyPrefix = `test-${randomUUID()}:`
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})

/** A replica that is brought in step by hand alone, unless told otherwise. */
async function open(options: Partial<RateLimitsOptions> = {}): Promise<RateLimits> {
  const limits = await createRateLimits({
    limits: {
      address: LIMIT,
      client: LIMIT,
      'wallet-address': LIMIT,
      'address-rows': LIMIT,
      'site-rows': LIMIT,
      'client-rows': LIMIT
    },
    redisPlace: singleRedis(redisUrl),
    keyPrefix,
    clock: systemClock,
    logger: createLogger({ service: 'test', level: 'silent' }),
    trustsProxies: false,
    exemptPaths: [],
    onRefused: () => undefined,
    schedule: () => undefined,
    ...options
  })
  opened.push(limits)
  return limits
}

function openThree(): Promise<RateLimits[]> {
  return Promise.all([open(), open(), open()])
}

/** How many of some requests are let through. */
function ask(limits: RateLimits, times: number, client = 'shop'): number {
  let through = 0
  for (let asked = 0; asked < times; asked += 1) {
    if (refusalOf(limits, client) === undefined) through += 1
  }
  return through
}

function refusalOf(limits: RateLimits, client: string): Refusal | undefined {
  try {
    limits.count(undefined, { client })
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Notes what is to be run later, and waits for the first of it. */
function manualSchedule() {
  const delaysMs: number[] = []
  let run: () => void = () => undefined
  const first = new Promise<void>((resolve) => {
    run = resolve
  })
  const schedule: RateLimitsOptions['schedule'] = (_run, delayMs) => {
    delaysMs.push(delayMs)
    run()
  }
  return { delaysMs, first, schedule }
}

describeWithRedis('replicas that count together', () => {
  const redis = new Redis(redisUrl, { lazyConnect: true })
  let proxy: TcpProxy

  beforeAll(async () => {
    await redis.connect()
    proxy = await startTcpProxy(redisUrl)
  })
  afterEach(() => proxy.restore())
  afterAll(async () => {
    redis.disconnect()
    await proxy.stop()
  })

  const countInRedis = async (): Promise<number[]> => {
    const keys = await redis.keys(`${keyPrefix}*`)
    return keys.length === 0 ? [] : (await redis.mget(...keys)).map(Number)
  }

  it('refuse requests over the shared limit once synchronized', async () => {
    const [one, other] = [await open(), await open()]
    expect(ask(one, POINTS - 1)).toBe(POINTS - 1)
    await one.flush()
    expect(ask(other, 1)).toBe(1)
    await other.flush()
    expect(ask(other, 1)).toBe(0)
    // This one has not heard of it: it lets through what it still has, once.
    expect(ask(one, 2)).toBe(1)
  })

  it('exceed the limit by at most what each receives before synchronizing', async () => {
    const replicas = await openThree()
    const atATime = 2
    let through = 0
    for (let round = 0; round < POINTS; round += 1) {
      for (const replica of replicas) through += ask(replica, atATime)
      for (const replica of replicas) await replica.flush()
    }
    expect(through).toBeGreaterThanOrEqual(POINTS)
    expect(through).toBeLessThanOrEqual(POINTS + replicas.length * atATime)
    expect(replicas.map((replica) => ask(replica, 1))).toEqual([0, 0, 0])
  })

  it('each enforce the limit alone before synchronizing', async () => {
    const replicas = await openThree()
    expect(replicas.map((replica) => ask(replica, 2 * POINTS))).toEqual([POINTS, POINTS, POINTS])
  })

  it('count every request once, however often they synchronize concurrently', async () => {
    const limits = await open()
    const flushes: Promise<void>[] = []
    for (let asked = 0; asked < POINTS; asked += 1) {
      ask(limits, 1)
      flushes.push(limits.flush())
    }
    await Promise.all(flushes)
    expect(await countInRedis()).toEqual([POINTS])
  })

  it('end their windows together', async () => {
    const [short, long] = [
      await open(),
      await open({
        limits: {
          address: LIMIT,
          client: { ...LIMIT, durationSeconds: 3_600 },
          'wallet-address': LIMIT,
          'address-rows': LIMIT,
          'site-rows': LIMIT,
          'client-rows': LIMIT
        }
      })
    ]
    ask(short, 1)
    await short.flush()
    ask(long, POINTS)
    await long.flush()
    const seconds = refusalOf(long, 'shop')?.retryAfterSeconds
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(DURATION_SECONDS)
  })

  it('send all keys in one call, and none for refused requests', async () => {
    const limits = await open()
    ask(limits, 1)
    await limits.flush()
    const monitor = await redis.monitor()
    const calls: number[] = []
    monitor.on('monitor', (_time, args: readonly string[], source: string) => {
      const keys = args.filter((text) => text.startsWith(keyPrefix))
      if (keys.length > 0 && source !== 'lua') calls.push(keys.length)
    })
    for (const client of ['shop', 'market', 'stall']) ask(limits, POINTS + 1, client)
    await limits.flush()
    for (const client of ['shop', 'market', 'stall']) ask(limits, 1, client)
    await limits.flush()
    // What the monitor has not told yet comes before the answer to this.
    await redis.ping()
    monitor.disconnect()
    expect(calls).toEqual([3])
  })

  it('keep hashes in Redis, which end with their window', async () => {
    const limits = await open()
    limits.count(undefined, { client: 'canary', 'wallet-address': '/canary' })
    await limits.flush()
    const keys = await redis.keys(`${keyPrefix}*`)
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(key).not.toContain('canary')
      expect(await redis.pttl(key)).toBeGreaterThan(0)
      expect(await redis.pttl(key)).toBeLessThanOrEqual(DURATION_SECONDS * 1_000)
    }
  })

  it('synchronize by themselves', async () => {
    const [one, other] = [await open(), await open({ schedule: (run, delayMs) => setTimeout(run, delayMs) })]
    ask(one, POINTS)
    await one.flush()
    // The first lets the other count, and hear of the rest.
    expect(ask(other, 1)).toBe(1)
    await once(async () => (await countInRedis())[0] === POINTS + 1)
    await once(() => Promise.resolve(refusalOf(other, 'shop') !== undefined))
  })

  it('synchronize keys near their limit first', async () => {
    const { delaysMs, schedule } = manualSchedule()
    const limits = await open({ schedule })
    ask(limits, POINTS / 2)
    expect(delaysMs).toEqual([FLUSH_INTERVAL_MS])
    ask(limits, POINTS / 2)
    expect(delaysMs).toEqual([FLUSH_INTERVAL_MS, SOON_MS])
  })

  it('get the remaining counts of a replica that stops', async () => {
    const [one, other] = [await open(), await open()]
    ask(one, POINTS)
    await one.close()
    ask(other, 1)
    await other.flush()
    expect(ask(other, 1)).toBe(0)
  })

  it.each([
    ['cut', () => proxy.refuse()],
    [
      'silent',
      () => {
        proxy.hang()
      }
    ]
  ] as const)(
    'go on by themselves when the way to Redis is %s: nobody is refused before the limit, nor let through beyond it',
    async (_what, disturb) => {
      const limits = await open({ redisPlace: singleRedis(proxy.url) })
      ask(limits, POINTS - 3)
      await limits.flush()
      await disturb()
      expect(ask(limits, 1)).toBe(1)
      await limits.flush()
      expect(ask(limits, POINTS)).toBe(2)
    }
  )

  it('enforce the limit without Redis, and send their counts when it is back', async () => {
    await proxy.refuse()
    const back = manualSchedule()
    const limits = await open({ redisPlace: singleRedis(proxy.url), schedule: back.schedule })
    expect(ask(limits, POINTS + 1)).toBe(POINTS)
    await limits.flush()
    expect(await countInRedis()).toEqual([])
    await proxy.restore()
    await back.first
    await limits.flush()
    expect(await countInRedis()).toEqual([POINTS + 1])
    const other = await open()
    ask(other, 1)
    await other.flush()
    expect(ask(other, 1)).toBe(0)
  })

  it('never send counts twice that Redis may have added', async () => {
    const limits = await open({ redisPlace: singleRedis(proxy.url) })
    proxy.loseAnswers()
    ask(limits, 2)
    await limits.flush()
    expect(await countInRedis()).toEqual([2])
    await proxy.restore()
    ask(limits, 1)
    await once(async () => {
      await limits.flush()
      return (await countInRedis())[0] !== 2
    })
    expect(await countInRedis()).toEqual([3])
    await limits.close()
  })

  it('keep their counts when Redis loses its data', async () => {
    const limits = await open()
    ask(limits, POINTS)
    await limits.flush()
    await redis.del(await redis.keys(`${keyPrefix}*`))
    expect(ask(limits, 1)).toBe(0)
    await limits.flush()
    expect(ask(limits, 1)).toBe(0)
  })
})

describe('unsent counts', () => {
  it('are dropped with their key, and when the next window begins', () => {
    const untold = new Set<unknown>()
    const kind = new LimitedKind('client', LIMIT, {
      counted: (window) => untold.add(window),
      closed: (window) => untold.delete(window)
    })
    for (let client = 0; client < KEYS_MAX + 10; client += 1) kind.count(`client-${String(client)}`, 0)
    expect(untold.size).toBe(KEYS_MAX)
    kind.count(`client-${String(KEYS_MAX)}`, DURATION_SECONDS * 1_000)
    expect(untold.size).toBe(KEYS_MAX)
  })
})

/** Waits until something holds. */
async function once(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
}
