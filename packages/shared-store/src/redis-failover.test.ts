import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  isRedisInstalled,
  type LocalRedisCluster,
  type RedisProcess,
  type RedisSentinels,
  startRedisCluster,
  startRedisSentinels,
  startTcpProxy
} from '@open-payments-server/local-services'
import { SharedStoreUnavailable, type SharedStore } from './index.js'
import type { RedisPlace } from './redis-place.js'
import { createRedisStore } from './redis-store.js'

const hasRedis = await isRedisInstalled()
const describeWithRedis = hasRedis ? describe : describe.skip
const withRedis = hasRedis ? 'found' : 'no redis-server on the PATH'

const COMMAND_TIMEOUT_MS = 500
/** So short that the servers have run for longer when one is promoted. */
const AHEAD_MAX_SECONDS = 1
/** Longer than a mark is refused after anything here. */
const PATIENCE_MS = 60_000
/** Marks in a row that say that all is well again: in a cluster, at every server. */
const WELL = 60
const LIFETIME_SECONDS = 331

const open: SharedStore[] = []
let keyPrefix: string

function newStore(place: RedisPlace): SharedStore {
  const store = createRedisStore({
    place,
    keyPrefix,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    aheadMaxSeconds: AHEAD_MAX_SECONDS
  })
  open.push(store)
  return store
}

/** A nonce, when its signature was created, and how many times it was accepted. */
interface Used {
  readonly key: string
  readonly createdSeconds: number
  accepted: number
}

/** Uses nonces at two replicas at once. */
class Clients {
  readonly used: Used[] = []
  readonly #stores: readonly [SharedStore, SharedStore]
  readonly #running: Promise<void>
  #isOver = false
  #wellInRow = 0
  #refusedAtMs: number | undefined
  /** From the first refusal to the end of the last one, in milliseconds. */
  refusedForMs = 0

  constructor(stores: readonly [SharedStore, SharedStore]) {
    this.#stores = stores
    this.#running = this.#run()
  }

  /** Resolves once nonces are accepted, and have been for a while. */
  async well(): Promise<void> {
    this.#wellInRow = 0
    const untilMs = performance.now() + PATIENCE_MS
    while (this.#wellInRow < WELL) {
      if (performance.now() > untilMs) throw new Error('nonces are still refused')
      await delay(20)
    }
  }

  /** Ends the use, and uses every nonce once more, as an attacker would who recorded everything. */
  async replayed(): Promise<Used[]> {
    this.#isOver = true
    await this.#running
    for (const used of this.used) await this.#use(used)
    return this.used.filter(({ accepted }) => accepted > 1)
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const createdSeconds = Math.floor(Date.now() / 1_000)
      const used = { key: `nonce:${randomUUID()}`, createdSeconds, accepted: 0 }
      this.used.push(used)
      const startedAtMs = performance.now()
      await this.#use(used)
      if (used.accepted > 0) this.#wellInRow += 1
      else {
        this.#wellInRow = 0
        this.#refusedAtMs ??= startedAtMs
        this.refusedForMs = performance.now() - this.#refusedAtMs
      }
      await delay(5)
    }
  }

  async #use(used: Used): Promise<void> {
    const answers = await Promise.all(
      this.#stores.map((store) => unlessUnavailable(used.key, used.createdSeconds, store))
    )
    used.accepted += answers.filter((accepted) => accepted === true).length
  }
}

async function unlessUnavailable(
  key: string,
  createdSeconds: number,
  store: SharedStore
): Promise<boolean | undefined> {
  try {
    return await store.markOnce(key, LIFETIME_SECONDS, createdSeconds)
  } catch (error) {
    if (error instanceof SharedStoreUnavailable) return undefined
    throw error
  }
}

/** Waits until something is so. */
async function eventually<Value>(expected: Value, ask: () => Promise<Value>): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS
  for (;;) {
    const found = await ask()
    if (found === expected) return
    if (performance.now() > untilMs) throw new Error(`still ${String(found)}`)
    await delay(20)
  }
}

/** What is known of a subscription. */
async function listenAt(store: SharedStore): Promise<string[]> {
  const events: string[] = []
  await store.subscribe('news', {
    onMessage: (message) => events.push(Buffer.from(message).toString()),
    onInterrupted: () => events.push('interrupted'),
    onResumed: () => events.push('resumed')
  })
  return events
}

/** Publishes until a message arrives. */
async function arrives(store: SharedStore, events: readonly string[]): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS
  const message = `news ${randomUUID()}`
  while (!events.includes(message)) {
    if (performance.now() > untilMs) throw new Error('no message arrives')
    await store.publish('news', Buffer.from(message)).catch(() => undefined)
    await delay(50)
  }
}

/** Fails over under load: nonces at two replicas, and messages between them. */
async function underLoad(place: RedisPlace, happening: () => Promise<void>): Promise<void> {
  const stores = [newStore(place), newStore(place)] as const
  const events = await listenAt(stores[1])
  const clients = new Clients(stores)
  await clients.well()
  await happening()
  await clients.well()
  await arrives(stores[0], events)
  const replayed = await clients.replayed()
  console.log({
    refusedForMs: Math.round(clients.refusedForMs),
    nonces: clients.used.length,
    events: events.length
  })
  expect(replayed).toEqual([])
}

type Lose = (primary: RedisProcess) => Promise<void>

/** What happens to a primary, and how. */
function waysToLose(
  redis: () => Pick<RedisSentinels | LocalRedisCluster, 'replaced'>,
  handOver: Lose
): [what: string, lose: Lose][] {
  return [
    ['hands over', handOver],
    [
      'hangs, and comes back',
      async (primary) => {
        primary.freeze()
        await redis().replaced(primary)
        primary.thaw()
      }
    ],
    ['is killed', (primary) => primary.kill()]
  ]
}

afterEach(() => Promise.all(open.splice(0).map((store) => store.close())))

describeWithRedis(`a Redis that sentinels watch (${withRedis})`, () => {
  let redis: RedisSentinels
  let place: RedisPlace

  beforeAll(async () => {
    redis = await startRedisSentinels({ password: randomUUID(), sentinelPassword: randomUUID() })
    place = placeOf(redis)
  })
  afterAll(() => redis.stop())

  it('says why there is no primary, and can be closed meanwhile', async () => {
    keyPrefix = `test:${randomUUID()}:`
    const sentinel = { name: 'another', password: redis.sentinelPassword }
    const told = new Promise<Error>((resolve) => {
      const options = { place: { ...place, sentinel }, keyPrefix, commandTimeoutMs: COMMAND_TIMEOUT_MS }
      open.push(createRedisStore({ ...options, onConnectionError: resolve }))
    })
    expect((await told).cause).toEqual(new Error('a sentinel knows no primary called another'))
    await expect(open[0]?.check()).rejects.toThrow(SharedStoreUnavailable)
  })

  it('refuses what was created before another server took over, which may lack its mark', async () => {
    keyPrefix = `test:${randomUUID()}:`
    const primary = await redis.primary()
    const first = newStore(place)
    let used = { key: '', createdSeconds: 0 }
    // Anew each time: what fails may have left its mark, and what is older than the first connection is never accepted.
    await eventually(true, () => {
      used = { key: randomUUID(), createdSeconds: Math.floor(Date.now() / 1_000) }
      return unlessUnavailable(used.key, used.createdSeconds, first)
    })
    expect(await redis.sentinels[0]?.ask('SENTINEL', 'FAILOVER', redis.name)).toContain('OK')
    await redis.replaced(primary)
    expect(await (await redis.primary()).ask('DEL', `${keyPrefix}${used.key}`)).toContain(':1')

    const one = newStore(place)
    await eventually(true, () => unlessUnavailable(randomUUID(), Math.floor(Date.now() / 1_000), one))
    const answers = new Set<boolean | undefined>()
    await eventually(false, async () => {
      const answer = await unlessUnavailable(used.key, used.createdSeconds, one)
      answers.add(answer)
      return answer
    })
    expect(answers).not.toContain(true)
  })

  it('counts no mark while most sentinels are out of reach, since its server may be a former primary', async () => {
    keyPrefix = `test:${randomUUID()}:`
    const proxies = await Promise.all(redis.urls.map((url) => startTcpProxy(url)))
    const [first = '', ...others] = proxies.map(({ url }) => url)
    const one = newStore({ ...place, urls: [first, ...others] })
    const markNow = () => unlessUnavailable(randomUUID(), Math.floor(Date.now() / 1_000), one)
    try {
      await eventually(true, markNow)
      proxies[0]?.hang()
      await eventually(true, markNow)
      proxies[1]?.hang()
      await eventually(undefined, markNow)
      expect(await markNow()).toBeUndefined()
      // The server is in reach.
      await expect(one.check()).resolves.toBeUndefined()
      await Promise.all(proxies.map((proxy) => proxy.restore()))
      await eventually(true, markNow)
    } finally {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
    }
  })

  it('accepts what is dated ahead once a replica has its mark, and does not hold up the rest', async () => {
    keyPrefix = `test:${randomUUID()}:`
    const one = newStore(place)
    const aheadSeconds = (): number => Math.ceil(Date.now() / 1_000) + 1
    await eventually(true, () => unlessUnavailable(randomUUID(), aheadSeconds(), one))
    const primary = await redis.primary()
    const replicas = redis.servers.filter((server) => server !== primary)
    for (const replica of replicas) replica.freeze()
    try {
      const ahead = one.markOnce('ahead', LIFETIME_SECONDS, aheadSeconds())
      ahead.catch(() => undefined)
      await eventually(true, () => unlessUnavailable(randomUUID(), Math.floor(Date.now() / 1_000), one))
      await expect(ahead).rejects.toThrow(SharedStoreUnavailable)
    } finally {
      for (const replica of replicas) replica.thaw()
    }
    await eventually(true, () => unlessUnavailable(randomUUID(), aheadSeconds(), one))
  })

  it.each(
    waysToLose(
      () => redis,
      async () => {
        expect(await redis.sentinels[0]?.ask('SENTINEL', 'FAILOVER', redis.name)).toContain('OK')
      }
    )
  )('accepts no nonce twice when the primary %s, and messages arrive again', async (_how, fail) => {
    keyPrefix = `test:${randomUUID()}:`
    await redis.whole()
    const primary = await redis.primary()
    await underLoad(place, async () => {
      await fail(primary)
      await redis.replaced(primary)
    })
  })
})

function placeOf({ urls, name, sentinelPassword }: RedisSentinels): RedisPlace {
  return { topology: 'sentinel', urls, sentinel: { name, password: sentinelPassword } }
}

describeWithRedis(`a Redis that is a cluster (${withRedis})`, () => {
  let redis: LocalRedisCluster
  let place: RedisPlace

  beforeAll(async () => {
    redis = await startRedisCluster()
    place = { topology: 'cluster', urls: redis.urls }
  })
  afterAll(() => redis.stop())

  it.each(
    waysToLose(
      () => redis,
      async (primary) => {
        expect(await (await redis.replicaOf(primary)).ask('CLUSTER', 'FAILOVER')).toContain('OK')
      }
    )
  )('accepts no nonce twice when a primary %s, and messages arrive again', async (_how, fail) => {
    keyPrefix = `test:${randomUUID()}:`
    await redis.whole()
    const [primary] = await redis.primaries()
    if (primary === undefined) throw new Error('there is no primary')
    await underLoad(place, async () => {
      await fail(primary)
      await redis.replaced(primary)
    })
  })
})
