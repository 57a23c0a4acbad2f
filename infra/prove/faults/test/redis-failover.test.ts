import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Settings, startSystem, type System } from '@open-payments-server/acceptance'
import {
  isRedisInstalled,
  type LocalRedisCluster,
  type RedisSentinels,
  startRedisCluster,
  startRedisSentinels
} from '@open-payments-server/local-services'
import {
  type Answer,
  createSigningClient,
  RunningTestClock,
  type SignedRequestOptions,
  type SigningClient
} from '@open-payments-server/testing'

const hasRedis = await isRedisInstalled()
const describeWithRedis = hasRedis ? describe : describe.skip
if (!hasRedis) console.log('skipped: there is no redis-server on the PATH')

const START_TIMEOUT_MS = 120_000
const PATIENCE_MS = 60_000
/**
 * How long requests with a nonce may be refused while another Redis takes the place of a lost one, in milliseconds. The long run has the
 * machine for itself.
 */
const REFUSED_MS_MAX = process.env.LONG_RUN === undefined ? 60_000 : 5_000
/** Answers in a row that say that all is well. */
const WELL = 20
const INSTANCES = [0, 1] as const

/** A request of one kind at one instance, which is sent again and again. */
interface Asker {
  readonly name: string
  readonly status: number
  readonly send: () => Promise<Answer>
}

/** A nonce, and when its signature was created. */
interface Used {
  readonly nonce: string
  readonly createdSeconds: number
}

/** Both services, two instances of each, and all kinds of requests that meet Redis. */
class Load {
  readonly #system: System
  readonly #shop: readonly SigningClient[]
  readonly #token: string
  readonly #running: Promise<unknown>
  #isOver = false
  /** Answers to requests without a nonce that are not what they always are. */
  readonly wrong = new Set<string>()
  /** Nonces that the resource server accepted. */
  readonly accepted: Used[] = []
  answers = 0
  refused = 0
  #refusedAtMs: number | undefined
  /** From the first refusal of a nonce to the end of the last one, in milliseconds. */
  refusedForMs = 0
  readonly #wellInRow = new Map<string, number>()

  private constructor(system: System, shop: readonly SigningClient[], token: string) {
    this.#system = system
    this.#shop = shop
    this.#token = token
    const askers = shop.flatMap((client, at) => this.#plain(client, at))
    const nonces = shop.flatMap((client, at) => this.#withNonce(client, at))
    this.#running = Promise.all([
      ...askers.map((asker) => this.#ask(asker)),
      ...nonces.map((asker) => this.#askWithNonce(asker))
    ])
  }

  static async start(system: System): Promise<Load> {
    const shop = INSTANCES.map((instance) =>
      createSigningClient({
        keyId: system.shop.key.keyId,
        privateKey: system.shop.key.privateKey,
        clock: system.clock,
        connect(text) {
          const url = new URL(text)
          const isAuth = url.origin === new URL(system.authServerUrl).origin
          url.port = String((isAuth ? system.authServers : system.resourceServers)[instance]?.httpPort)
          return url.href
        }
      })
    )
    const [first] = shop
    if (first === undefined) throw new Error('there is no instance')
    const token = (await issue(system, first)).textAt('access_token.value')
    return new Load(system, shop, token)
  }

  /** Resolves once every kind of request with a nonce succeeds, and has for a while. */
  async well(): Promise<void> {
    this.#wellInRow.clear()
    const untilMs = performance.now() + PATIENCE_MS
    const isWell = (): boolean =>
      this.#wellInRow.size === 2 * INSTANCES.length &&
      [...this.#wellInRow.values()].every((count) => count >= WELL)
    while (!isWell()) {
      if (performance.now() > untilMs) throw new Error('nonces are still refused')
      await delay(20)
    }
  }

  /** Ends it, and sends what was accepted once more, to both instances. Resolves with the statuses. */
  async replayed(): Promise<Set<number>> {
    this.#isOver = true
    await this.#running
    const statuses = new Set<number>()
    for (const signature of this.accepted) {
      for (const client of this.#shop) {
        statuses.add((await read(this.#system, client, this.#token, { signature: { ...signature } })).status)
      }
    }
    return statuses
  }

  #plain(client: SigningClient, at: number): Asker[] {
    const system = this.#system
    const end = async (method: string): Promise<Answer> => {
      const issued = await issue(system, client)
      if (issued.status !== 200) return issued
      const accessToken = issued.textAt('access_token.value')
      return client.request(method, issued.textAt('access_token.manage'), { accessToken })
    }
    return [
      { name: `a list at ${String(at)}`, status: 200, send: () => read(system, client, this.#token) },
      { name: `a grant at ${String(at)}`, status: 200, send: () => issue(system, client) },
      { name: `a rotation at ${String(at)}`, status: 200, send: () => end('POST') },
      { name: `a revocation at ${String(at)}`, status: 204, send: () => end('DELETE') }
    ]
  }

  #withNonce(client: SigningClient, at: number): Asker[] {
    const system = this.#system
    const reading = async (): Promise<Answer> => {
      const used = { nonce: randomUUID(), createdSeconds: Math.floor(system.clock.now() / 1_000) }
      const answer = await read(system, client, this.#token, { signature: used })
      if (answer.status === 200) this.accepted.push(used)
      return answer
    }
    return [
      { name: `a list with a nonce at ${String(at)}`, status: 200, send: reading },
      {
        name: `a grant with a nonce at ${String(at)}`,
        status: 200,
        send: () => issue(system, client, { signature: { nonce: randomUUID() } })
      }
    ]
  }

  async #ask({ name, status, send }: Asker): Promise<void> {
    while (!this.#isOver) {
      const answer = await send()
      this.answers += 1
      if (answer.status !== status) this.wrong.add(`${name}: ${String(answer.status)} ${answer.text}`)
      await delay(50)
    }
  }

  async #askWithNonce({ name, status, send }: Asker): Promise<void> {
    while (!this.#isOver) {
      const sentAtMs = performance.now()
      const answer = await send()
      if (answer.status === status) this.#wellInRow.set(name, (this.#wellInRow.get(name) ?? 0) + 1)
      else {
        this.#wellInRow.delete(name)
        this.refused += 1
        this.#refusedAtMs ??= sentAtMs
        this.refusedForMs = Math.round(performance.now() - this.#refusedAtMs)
        const isExpected = answer.status === 503 && answer.headers.get('retry-after') === '1'
        if (!isExpected) this.wrong.add(`${name}: ${String(answer.status)} ${answer.text}`)
      }
      await delay(20)
    }
  }
}

function issue(system: System, client: SigningClient, options: SignedRequestOptions = {}): Promise<Answer> {
  return client.request('POST', system.authServerUrl, {
    body: {
      client: system.shop.walletAddress,
      access_token: { access: [{ type: 'incoming-payment', actions: ['create', 'list'] }] }
    },
    ...options
  })
}

function read(
  system: System,
  client: SigningClient,
  accessToken: string,
  options: SignedRequestOptions = {}
): Promise<Answer> {
  const wallet = encodeURIComponent(system.walletAddresses.bob)
  const url = `${system.resourceServerUrl}/incoming-payments?wallet-address=${wallet}`
  return client.request('GET', url, { accessToken, ...options })
}

/** Starts both services on a Redis. */
function startOn(redis: Settings): Promise<System> {
  const shared = {
    ...redis,
    RATE_LIMITS: 'true',
    TRUSTED_PROXIES: '0',
    RATE_LIMIT_ADDRESS_REQUESTS: '1000000',
    RATE_LIMIT_CLIENT_REQUESTS: '1000000',
    RATE_LIMIT_WALLET_ADDRESS_REQUESTS: '1000000',
    RATE_LIMIT_ADDRESS_ROWS: '1000000',
    RATE_LIMIT_CLIENT_ROWS: '1000000',
    // So short that the servers have run for longer when one is promoted.
    SIGNATURE_FUTURE_MAX_SECONDS: '1'
  }
  return startSystem({ instanceCount: 2, clock: new RunningTestClock(), auth: shared, resource: shared })
}

async function failsOver(system: System, happening: () => Promise<void>): Promise<void> {
  const load = await Load.start(system)
  await load.well()
  await happening()
  await load.well()
  const replayed = await load.replayed()
  const { answers, refused, refusedForMs, accepted } = load
  console.log({ answers, refused, refusedForMs, accepted: accepted.length })
  expect([...load.wrong]).toEqual([])
  // 503 to those whose mark may be lost, as long as they may have been under way at that time.
  expect(replayed).toContain(401)
  expect([...replayed].filter((status) => status !== 401 && status !== 503)).toEqual([])
  expect(refusedForMs).toBeLessThanOrEqual(REFUSED_MS_MAX)
}

describeWithRedis('while sentinels put another Redis in the place of the primary', () => {
  let redis: RedisSentinels
  let system: System

  beforeAll(async () => {
    redis = await startRedisSentinels()
    system = await startOn({
      REDIS_URL: redis.url,
      REDIS_TOPOLOGY: 'sentinel',
      REDIS_SENTINEL_NAME: redis.name
    })
  }, START_TIMEOUT_MS)
  afterAll(async () => {
    await system.stop()
    await redis.stop()
  })

  it('no request without a nonce fails, and those with one are refused for five seconds at most', async () => {
    const primary = await redis.primary()
    await failsOver(system, async () => {
      await primary.kill()
      await redis.replaced(primary)
    })
  })
})

describeWithRedis('while a cluster puts another Redis in the place of a primary', () => {
  let redis: LocalRedisCluster
  let system: System

  beforeAll(async () => {
    redis = await startRedisCluster()
    system = await startOn({ REDIS_URL: redis.url, REDIS_TOPOLOGY: 'cluster' })
  }, START_TIMEOUT_MS)
  afterAll(async () => {
    await system.stop()
    await redis.stop()
  })

  it('no request without a nonce fails, and those with one are refused for five seconds at most', async () => {
    const [primary] = await redis.primaries()
    if (primary === undefined) throw new Error('there is no primary')
    await failsOver(system, async () => {
      await primary.kill()
      await redis.replaced(primary)
    })
  })
})
