import { afterEach, describe, expect, it } from '@jest/globals'
import {
  createHttpApp,
  PublicError,
  type Route,
  type RunningHttpServer,
  startHttpServer
} from '@open-payments-server/http-server'
import { createLogger } from '@open-payments-server/runtime'
import { TestClock } from '@open-payments-server/testing'
import { Refusal } from '@open-payments-server/value-types/refusals'
import {
  createRateLimits,
  type LimitKeys,
  type LimitKind,
  type RateLimits,
  type RateLimitsOptions,
  rowKeys
} from '../../src/rate-limits/index.js'
import { KEYS_MAX } from '../../src/rate-limits/limited-kind.js'

const POINTS = 3
const DURATION_SECONDS = 60
const LIMIT = { points: POINTS, durationSeconds: DURATION_SECONDS }
const LIMITS = {
  address: LIMIT,
  client: LIMIT,
  'wallet-address': LIMIT,
  'address-rows': LIMIT,
  'site-rows': LIMIT,
  'client-rows': LIMIT
}
const ONCE = [true, ...Array.from({ length: POINTS - 1 }, () => true)]

const clock = new TestClock()
const opened: RateLimits[] = []
const refused: LimitKind[] = []

async function open(options: Partial<RateLimitsOptions> = {}): Promise<RateLimits> {
  const limits = await createRateLimits({
    limits: LIMITS,
    redisPlace: undefined,
    keyPrefix: 'test:',
    clock,
    logger: createLogger({ service: 'test', level: 'silent' }),
    trustsProxies: false,
    exemptPaths: ['/healthz'],
    onRefused: (kind) => refused.push(kind),
    ...options
  })
  opened.push(limits)
  return limits
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
  refused.length = 0
})

/** Whether one more is let through. */
function isLetThrough(limits: RateLimits, client: string): boolean {
  return refusalOf(limits, { client }) === undefined
}

/** The error that one more is refused with; undefined when it is let through. */
function refusalOf(limits: RateLimits, keys: LimitKeys): Refusal | undefined {
  try {
    limits.count(undefined, keys)
    return undefined
  } catch (error) {
    if (error instanceof Refusal && error.because === 'too-many-requests') return error
    throw error
  }
}

function askTimes(limits: RateLimits, client: string, times: number): boolean[] {
  return Array.from({ length: times }, () => isLetThrough(limits, client))
}

describe('rate limits', () => {
  it('allow exactly as many requests as the limit', async () => {
    const limits = await open()
    expect(askTimes(limits, 'shop', POINTS + 2)).toEqual([...ONCE, false, false])
    expect(refused).toEqual(['client', 'client'])
  })

  it('count each key and each kind separately', async () => {
    const limits = await open()
    askTimes(limits, 'shop', POINTS + 1)
    expect(isLetThrough(limits, 'market')).toBe(true)
    expect(refusalOf(limits, { 'wallet-address': 'shop' })).toBeUndefined()
  })

  it('count long keys separately that differ only in their last character', async () => {
    const limits = await open()
    const start = 'https://wallet.example/'.padEnd(2_000, 'x')
    expect(askTimes(limits, `${start}1`, POINTS + 1)).toEqual([...ONCE, false])
    expect(isLetThrough(limits, `${start}2`)).toBe(true)
  })

  it('say when to retry', async () => {
    const limits = await open()
    askTimes(limits, 'shop', POINTS)
    expect(refusalOf(limits, { client: 'shop' })?.retryAfterSeconds).toBe(DURATION_SECONDS)
  })

  it('count nothing for a wallet address when the client is over its limit', async () => {
    const limits = await open()
    askTimes(limits, 'shop', POINTS + 1)
    for (let asked = 0; asked < 2 * POINTS; asked += 1) {
      expect(refusalOf(limits, { client: 'shop', 'wallet-address': '/alice' })).toBeDefined()
    }
    for (let asked = 0; asked < POINTS; asked += 1) {
      limits.count(undefined, { client: `other-${String(asked)}`, 'wallet-address': '/alice' })
    }
    expect(refused.filter((kind) => kind === 'wallet-address')).toEqual([])
  })

  it('restart when the window ends, even if the clock was set back', async () => {
    const moving = new TestClock()
    const limits = await open({ clock: moving })
    expect(askTimes(limits, 'shop', POINTS + 1).at(-1)).toBe(false)
    moving.advanceSeconds(DURATION_SECONDS - 1)
    expect(isLetThrough(limits, 'shop')).toBe(false)
    moving.advanceSeconds(1)
    expect(askTimes(limits, 'shop', POINTS + 1)).toEqual([...ONCE, false])
    moving.advanceSeconds(-10 * DURATION_SECONDS)
    expect(isLetThrough(limits, 'shop')).toBe(true)
  })

  it('forget the longest idle key instead of growing without bounds', async () => {
    const limits = await open()
    askTimes(limits, 'silent', POINTS + 1)
    askTimes(limits, 'loud', POINTS + 1)
    for (let other = 0; other < KEYS_MAX - 1; other += 1) {
      limits.count(undefined, { client: `other-${String(other)}` })
      if (other % 1_000 === 0) expect(isLetThrough(limits, 'loud')).toBe(false)
    }
    expect(isLetThrough(limits, 'loud')).toBe(false)
    expect(isLetThrough(limits, 'silent')).toBe(true)
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
    const routes: Route[] = [
      {
        method: 'GET',
        path: '/healthz',
        handle: (_request, response) => {
          response.sendJson(200, {})
        }
      },
      {
        method: 'GET',
        path: '/limited',
        handle: (request, response) => {
          limits.count(request.answer, { client: 'shop' })
          response.sendJson(200, {})
        }
      }
    ]
    const logger = createLogger({ service: 'test', level: 'silent' })
    const app = createHttpApp({
      logger,
      routes,
      admit: limits.admit,
      trustedProxies,
      bodyBytesMax: 1_000,
      unexpectedCode: '500',
      badRequestCode: '400',
      answerOf: (error) =>
        error instanceof Refusal
          ? new PublicError({ status: 429, code: error.because, description: error.message })
          : undefined
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

  it('report the remaining quota with every answer, in structured fields', async () => {
    const get = await serve()
    const first = await get()
    expect(first.headers.get('ratelimit-policy')).toBe('"address";q=3;w=60, "client";q=3;w=60')
    expect(first.headers.get('ratelimit')).toBe('"address";r=2;t=60, "client";r=2;t=60')
    await get()
    await get()
    const over = await get()
    expect(over.status).toBe(429)
    expect(over.headers.get('ratelimit-policy')).toBe('"address";q=3;w=60')
    expect(over.headers.get('ratelimit')).toBe('"address";r=0;t=60')
  })

  it('count 404s too, but never health checks', async () => {
    const get = await serve()
    for (let asked = 0; asked < POINTS; asked += 1) expect((await get({}, '/nothing')).status).toBe(404)
    expect((await get({}, '/nothing')).status).toBe(429)
    expect((await get({}, '/healthz')).status).toBe(200)
    expect((await get({}, '/healthz', 'HEAD')).status).toBe(200)
  })

  it('count other methods on the health path', async () => {
    const get = await serve()
    for (let asked = 0; asked < POINTS; asked += 1) {
      expect((await get({}, '/healthz', 'POST')).status).toBe(405)
    }
    expect((await get({}, '/healthz', 'POST')).status).toBe(429)
    expect((await get({}, '/healthz/')).status).toBe(429)
  })

  it('ignore X-Forwarded-For unless proxies are trusted', async () => {
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

  it('count an IPv6 /64 as one, all spellings of an IPv4 address as one, and anything else as the proxy', async () => {
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

describe('rows', () => {
  it('count for an IPv6 /48 too, because whoever has one has 65,536 /64', async () => {
    const limits = await open({ limits: { ...LIMITS, 'address-rows': { ...LIMIT, points: 1 } } })
    const countFrom = (network: string): string[] => {
      refused.length = 0
      refusalOf(limits, rowKeys(network, network))
      return [...refused]
    }
    for (let subnet = 0; subnet < POINTS; subnet += 1)
      expect(countFrom(`2001:db8:0:${String(subnet)}::/64`)).toEqual([])
    expect(countFrom('2001:db8:0:ffff::/64')).toEqual(['site-rows'])
    expect(countFrom('2001:db8:1:0::/64')).toEqual([])
    expect(countFrom('198.51.100.7')).toEqual([])
    expect(countFrom('198.51.100.7')).toEqual(['address-rows'])
  })
})
