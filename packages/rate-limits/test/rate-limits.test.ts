import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  createHttpApp,
  type PublicError,
  type RunningHttpServer,
  startHttpServer
} from '@open-payments-server/http-server'
import { createLogger } from '@open-payments-server/runtime'
import { startTcpProxy, type TcpProxy, TestClock } from '@open-payments-server/testing'
import { Router } from 'express'
import { Redis } from 'ioredis'
import { createRateLimits, type LimitKind, type RateLimits, type RateLimitsOptions } from '../src/index.js'

const POINTS = 3
const DURATION_SECONDS = 60
const LIMIT = { points: POINTS, durationSeconds: DURATION_SECONDS }
const ONCE = [true, ...Array.from({ length: POINTS - 1 }, () => true)]

const redisUrl = process.env.TEST_REDIS_URL ?? ''
const clock = new TestClock()
const opened: RateLimits[] = []
const refused: LimitKind[] = []

async function open(options: Partial<RateLimitsOptions> = {}): Promise<RateLimits> {
  const limits = await createRateLimits({
    limits: { address: LIMIT, client: LIMIT, 'wallet-address': LIMIT },
    redisUrl: undefined,
    keyPrefix: `test-${randomUUID()}:`,
    clock,
    logger: createLogger({ service: 'test', level: 'silent' }),
    refusalCode: '429',
    trustsProxies: false,
    exemptPaths: ['/healthz'],
    onRefused: (kind) => refused.push(kind),
    ...options
  })
  opened.push(limits)
  return limits
}

afterEach(() => {
  for (const one of opened.splice(0)) one.close()
  refused.length = 0
})

/** Whether one more is let through. */
async function isLetThrough(limits: RateLimits, client: string): Promise<boolean> {
  try {
    await limits.count(undefined, { client })
    return true
  } catch (error) {
    expect(error).toMatchObject({ status: 429, code: '429' })
    return false
  }
}

async function askTimes(limits: RateLimits, client: string, times: number): Promise<boolean[]> {
  const answers: boolean[] = []
  for (let asked = 0; asked < times; asked += 1) answers.push(await isLetThrough(limits, client))
  return answers
}

describe.each([
  ['in the process', undefined],
  ['in Redis', redisUrl]
])('rate limits counted %s', (_where, url) => {
  it('let through as many as the limit says, and not one more', async () => {
    const limits = await open({ redisUrl: url })
    expect(await askTimes(limits, 'shop', POINTS + 2)).toEqual([...ONCE, false, false])
    expect(refused).toEqual(['client', 'client'])
  })

  it('count each key and each kind apart', async () => {
    const limits = await open({ redisUrl: url })
    await askTimes(limits, 'shop', POINTS + 1)
    expect(await isLetThrough(limits, 'market')).toBe(true)
    await expect(limits.count(undefined, { 'wallet-address': 'shop' })).resolves.toBeUndefined()
  })

  it('say when to come again', async () => {
    const limits = await open({ redisUrl: url })
    await askTimes(limits, 'shop', POINTS)
    const error = await limits.count(undefined, { client: 'shop' }).catch((reason: unknown) => reason)
    const seconds = Number((error as PublicError).headers['Retry-After'])
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(DURATION_SECONDS)
  })

  it('let a client that is over use up nothing of a wallet address', async () => {
    const limits = await open({ redisUrl: url })
    await askTimes(limits, 'shop', POINTS + 1)
    for (let asked = 0; asked < 2 * POINTS; asked += 1) {
      await expect(limits.count(undefined, { client: 'shop', 'wallet-address': '/alice' })).rejects.toThrow()
    }
    for (let asked = 0; asked < POINTS; asked += 1) {
      await limits.count(undefined, { client: `other-${String(asked)}`, 'wallet-address': '/alice' })
    }
    expect(refused.filter((kind) => kind === 'wallet-address')).toEqual([])
  })

  it('count everything that comes at the same time', async () => {
    const limits = await open({ redisUrl: url })
    const answers = await Promise.all(Array.from({ length: 20 }, () => isLetThrough(limits, 'shop')))
    expect(answers.filter((isThrough) => isThrough)).toHaveLength(POINTS)
  })
})

describe('rate limits in one process', () => {
  it('begin anew when the window is over, and never wait for a clock that was set back', async () => {
    const moving = new TestClock()
    const limits = await open({ clock: moving })
    expect((await askTimes(limits, 'shop', POINTS + 1)).at(-1)).toBe(false)
    moving.advanceSeconds(DURATION_SECONDS - 1)
    expect(await isLetThrough(limits, 'shop')).toBe(false)
    moving.advanceSeconds(1)
    expect((await askTimes(limits, 'shop', POINTS + 1)).at(-1)).toBe(false)
    moving.advanceSeconds(-10 * DURATION_SECONDS)
    expect(await isLetThrough(limits, 'shop')).toBe(true)
  })
})

describe('rate limits in Redis', () => {
  const redis = new Redis(redisUrl)
  let proxy: TcpProxy

  beforeAll(async () => {
    proxy = await startTcpProxy(redisUrl)
  })
  afterEach(() => proxy.restore())
  afterAll(async () => {
    redis.disconnect()
    await proxy.stop()
  })

  it('are shared by all replicas', async () => {
    const keyPrefix = `test-${randomUUID()}:`
    const replicas = [
      await open({ redisUrl, keyPrefix }),
      await open({ redisUrl: proxy.url, keyPrefix })
    ] as const
    expect(await askTimes(replicas[0], 'shop', POINTS)).toEqual(ONCE)
    expect(await isLetThrough(replicas[1], 'shop')).toBe(false)
  })

  it('keep hashes there, which end with their window', async () => {
    const keyPrefix = `test-${randomUUID()}:`
    const limits = await open({ redisUrl, keyPrefix })
    await limits.count(undefined, { client: 'canary', 'wallet-address': '/canary' })
    const keys = await redis.keys(`${keyPrefix}*`)
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(key).not.toContain('canary')
      expect(await redis.pttl(key)).toBeGreaterThan(0)
      expect(await redis.pttl(key)).toBeLessThanOrEqual(DURATION_SECONDS * 1_000)
    }
  })

  it('are counted in one round trip for all that is known at a time, and in none for who is over', async () => {
    const monitor = await redis.monitor()
    const keyPrefix = `test-${randomUUID()}:`
    const limits = await open({ redisUrl, keyPrefix })
    const counted: string[] = []
    monitor.on('monitor', (_time, args: readonly string[], source: string) => {
      const key = args.find((text) => text.startsWith(keyPrefix))
      if (key !== undefined && source !== 'lua') counted.push(key)
    })
    const keys = { client: 'shop', 'wallet-address': '/alice' }
    for (let asked = 0; asked < POINTS + 3; asked += 1) {
      await limits.count(undefined, keys).catch((error: unknown) => error)
    }
    // What the monitor has not told yet comes before the answer to this.
    await redis.ping()
    monitor.disconnect()
    expect(counted).toHaveLength(2 * (POINTS + 1))
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
    'go on in the process when the way to Redis is %s: nobody is refused before the limit, nor let through beyond it',
    async (_what, disturb) => {
      const limits = await open({ redisUrl: proxy.url })
      await askTimes(limits, 'shop', POINTS - 1)
      await disturb()
      const answers = await Promise.all(
        Array.from({ length: POINTS + 2 }, () => isLetThrough(limits, 'shop'))
      )
      // On a busy machine Redis may have been too late before, so that the process has counted some already.
      const through = answers.filter((isThrough) => isThrough).length
      expect(through).toBeGreaterThanOrEqual(1)
      expect(through).toBeLessThanOrEqual(POINTS)
    }
  )

  it('hold from the beginning when Redis is away', async () => {
    await proxy.refuse()
    const limits = await open({ redisUrl: proxy.url })
    expect(await askTimes(limits, 'shop', POINTS + 1)).toEqual([...ONCE, false])
  })
})

describe('rate limits by address', () => {
  let server: RunningHttpServer | undefined
  afterEach(() => server?.stop(0))

  interface Told {
    readonly status: number
    readonly headers: Headers
    readonly text: string
  }
  type Get = (headers?: Record<string, string>, path?: string, method?: string) => Promise<Told>

  async function serve(trustedProxies?: number | string[]): Promise<Get> {
    const limits = await open({ trustsProxies: trustedProxies !== undefined })
    const routes = Router()
    routes.get('/healthz', (_request, response) => void response.json({}))
    routes.get('/limited', async (request, response) => {
      await limits.count(request.headersDistinct, { client: 'shop' })
      response.json({})
    })
    routes.post('/never', () => undefined)
    const logger = createLogger({ service: 'test', level: 'silent' })
    const app = createHttpApp({
      logger,
      routes,
      beforeBody: limits.byAddress,
      trustedProxies,
      bodyBytesMax: 1_000,
      unexpectedCode: '500',
      badRequestCode: '400'
    })
    server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
    const { port } = server
    return async (headers = {}, path = '/limited', method = 'GET') => {
      const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, { method, headers })
      return { status: answer.status, headers: answer.headers, text: await answer.text() }
    }
  }

  const statuses = async (answers: readonly Promise<Told>[]): Promise<number[]> =>
    (await Promise.all(answers)).map(({ status }) => status)

  it('tell with every answer what is left, in structured fields', async () => {
    const get = await serve()
    const first = await get()
    expect(first.headers.get('ratelimit-policy')).toBe('"address";q=3;w=60, "client";q=3;w=60')
    expect(first.headers.get('ratelimit')).toBe('"address";r=2;t=60, "client";r=2;t=60')
    await get()
    await get()
    const over = await get()
    expect(over.status).toBe(429)
    expect(JSON.parse(over.text)).toEqual({ error: { code: '429', description: 'too many requests' } })
    expect(over.headers.get('retry-after')).toBe('60')
    expect(over.headers.get('ratelimit-policy')).toBe('"address";q=3;w=60')
    expect(over.headers.get('ratelimit')).toBe('"address";r=0;t=60')
  })

  it('count what is not found too, and never who asks whether the process lives', async () => {
    const get = await serve()
    for (let asked = 0; asked < POINTS; asked += 1) expect((await get({}, '/nothing')).status).toBe(404)
    expect((await get({}, '/nothing')).status).toBe(429)
    expect((await get({}, '/healthz')).status).toBe(200)
    expect((await get({}, '/healthz', 'HEAD')).status).toBe(200)
  })

  it('count whoever asks that path for something else', async () => {
    const get = await serve()
    for (let asked = 0; asked < POINTS; asked += 1) {
      expect((await get({}, '/healthz', 'POST')).status).toBe(404)
    }
    expect((await get({}, '/healthz', 'POST')).status).toBe(429)
    expect((await get({}, '/healthz/')).status).toBe(429)
  })

  it('do not believe X-Forwarded-For unless told whom to believe', async () => {
    const get = await serve()
    for (let asked = 0; asked < POINTS; asked += 1)
      await get({ 'x-forwarded-for': `198.51.100.${String(asked)}` })
    expect((await get({ 'x-forwarded-for': '198.51.100.99' })).status).toBe(429)
  })

  it.each([
    ['a number', 1],
    ['networks', ['127.0.0.0/8']]
  ])(
    'believe the last address of X-Forwarded-For behind a trusted proxy (%s), and nothing a client wrote before it',
    async (_how, trusted) => {
      const get = await serve(trusted)
      for (let asked = 0; asked < POINTS; asked += 1) {
        await get({ 'x-forwarded-for': `203.0.113.${String(asked)}, 198.51.100.7` }, '/nothing')
      }
      expect((await get({ 'x-forwarded-for': '203.0.113.99, 198.51.100.7' }, '/nothing')).status).toBe(429)
      expect((await get({ 'x-forwarded-for': '198.51.100.8' }, '/nothing')).status).toBe(404)
    }
  )

  it('count a /64 of IPv6 as one, the writings of one IPv4 address as one, and what is no address as the proxy', async () => {
    const get = await serve(1)
    const from = (address: string): Promise<Told> => get({ 'x-forwarded-for': address }, '/nothing')
    const sameNetwork = ['2001:db8::1', '2001:db8:0:0:ffff::2', '2001:DB8::3', '2001:db8::4']
    for (const addresses of [
      sameNetwork,
      ['198.51.100.7', '::ffff:198.51.100.7', '::ffff:c633:6407', '198.51.100.7'],
      ['nonsense', '198.51.100.7:1234', '"2001:db8::9"', 'unknown']
    ]) {
      expect(await statuses(addresses.map(from))).toEqual([404, 404, 404, 429])
    }
    expect((await from('2001:db8:0:1::1')).status).toBe(404)
  })
})
