import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Answer, createSigningClient, createTestKey } from '@open-payments-server/testing'
import { Redis } from 'ioredis'
import type { TestClient } from '../src/connect-system.js'
import { consentedToken, outgoingAccess, requestToken } from '../src/consent.js'
import { createReceiver, pay } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

const INSTANCES = 2
const CLIENT_REQUESTS = 6
const WALLET_ADDRESS_REQUESTS = 10
const FETCHES = 6
/** After this time, an unknown key makes the auth server fetch the client's keys again. */
const REFETCH_SECONDS = 6
/** Several times the interval after which instances exchange counts. */
const TOLD_WITHIN_MS = 500

const limits = {
  RATE_LIMITS: 'true',
  RATE_LIMIT_ADDRESS_REQUESTS: '100000',
  RATE_LIMIT_CLIENT_REQUESTS: String(CLIENT_REQUESTS)
}

const INCOMING_ACCESS = [{ type: 'incoming-payment', actions: ['create', 'list', 'read'] }]

describe('rate limits of two instances of each service with one Redis', () => {
  const redis = new Redis(process.env.TEST_REDIS_URL ?? '', { lazyConnect: true })
  let system: System
  let tokens: Readonly<Record<'shop' | 'market', string>>
  /** What market needs to pay from alice: her consent and a receiver. */
  let paying: { readonly token: string; readonly receiver: string }

  beforeAll(async () => {
    system = await startSystem({
      instanceCount: INSTANCES,
      auth: { ...limits, RATE_LIMIT_WALLET_ADDRESS_REQUESTS: String(FETCHES) },
      resource: { ...limits, RATE_LIMIT_WALLET_ADDRESS_REQUESTS: String(WALLET_ADDRESS_REQUESTS) }
    })
    tokens = {
      shop: await requestToken(system, system.shop, INCOMING_ACCESS),
      market: await requestToken(system, system.market, INCOMING_ACCESS)
    }
    const { url: receiver } = await createReceiver(system, system.market)
    const { token } = await consentedToken(system, system.market, [outgoingAccess(system)])
    paying = { token, receiver }
  })
  afterAll(async () => {
    redis.disconnect()
    await system.stop()
  })

  const listOf = (collection: string, walletAddress: string): string =>
    `${system.resourceServerUrl}/${collection}?wallet-address=${encodeURIComponent(walletAddress)}`

  const list = (name: 'shop' | 'market', walletAddress: string, options: object = {}): Promise<Answer> =>
    system[name].request('GET', listOf('incoming-payments', walletAddress), {
      accessToken: tokens[name],
      ...options
    })

  /** A stranger with a new key and a token for incoming payments, which needs no consent. */
  const comeAsStranger = async (): Promise<(walletAddress: string) => Promise<Answer>> => {
    const { jwk, privateKey } = createTestKey(`stranger-${randomUUID()}`)
    const connect = (url: string): string => system.reach(url)
    const stranger = createSigningClient({
      keyId: jwk.kid,
      privateKey,
      clock: system.clock,
      connect
    })
    const granted = await stranger.request('POST', system.authServerUrl, {
      body: { client: { jwk }, access_token: { access: INCOMING_ACCESS } }
    })
    const accessToken = granted.textAt('access_token.value')
    return (walletAddress) =>
      stranger.request('GET', listOf('incoming-payments', walletAddress), { accessToken })
  }

  const requestQuoteGrant = (client: TestClient, keyId?: string): Promise<Answer> =>
    client.request('POST', system.authServerUrl, {
      body: {
        client: system.shop.walletAddress,
        access_token: { access: [{ type: 'quote', actions: ['create'] }] }
      },
      ...(keyId === undefined ? {} : { signature: { keyId } })
    })

  /** Number of requests to all instances, answered or refused, that Redis has counted. */
  const countOfRequests = async (): Promise<number> => {
    const counts = await Promise.all(
      (await redis.keys('*:rate-limit:address:*')).map((key) => redis.get(key))
    )
    return counts.reduce((sum, count) => sum + Number(count ?? 0), 0)
  }

  /** Waits until the count in Redis has stopped growing: late counts would be mistaken for those of the next request. */
  const untilInStep = async (): Promise<void> => {
    let known = await countOfRequests()
    let knownSinceMs = performance.now()
    while (performance.now() - knownSinceMs < TOLD_WITHIN_MS) {
      await delay(20)
      const count = await countOfRequests()
      if (count === known) continue
      known = count
      knownSinceMs = performance.now()
    }
  }

  /**
   * Sends a request, and waits until the instance has exchanged its count with Redis. All instances must agree beforehand.
   */
  const askInStep = async (ask: () => Promise<Answer>): Promise<Answer> => {
    const before = await countOfRequests()
    const answer = await ask()
    while ((await countOfRequests()) === before) await delay(5)
    return answer
  }

  /** Sends requests until one is refused. */
  const askUntilRefused = async (
    ask: () => Promise<Answer>
  ): Promise<{ readonly through: number; readonly refused: Answer }> => {
    for (let through = 0; ; through += 1) {
      const answer = await askInStep(ask)
      if (answer.status === 429) return { through, refused: answer }
      expect(answer.status).toBe(200)
    }
  }

  it('hold for a client whichever instance it asks, and not for another client nor for forged signatures', async () => {
    const { alice } = system.walletAddresses
    for (let asked = 0; asked < 2 * CLIENT_REQUESTS; asked += 1) {
      expect((await list('shop', alice, { signature: { keyId: 'market-key' } })).status).toBe(401)
    }
    await untilInStep()
    const first = await askInStep(() => list('shop', alice))
    expect(first.headers.get('ratelimit')).toContain(`"client";r=${String(CLIENT_REQUESTS - 1)};t=`)
    expect(first.headers.get('ratelimit-policy')).toContain(`"client";q=${String(CLIENT_REQUESTS)};w=60`)
    const { through } = await askUntilRefused(() => list('shop', alice))
    expect(1 + through).toBeGreaterThanOrEqual(CLIENT_REQUESTS)
    // An instance may exceed a limit by what it counts between two exchanges: here it exchanges after every request.
    let more = 0
    for (let asked = 0; asked < 4; asked += 1) {
      const answer = await askInStep(() => list('shop', alice))
      if (answer.status === 200) more += 1
      else expect(answer.status).toBe(429)
    }
    expect(1 + through + more).toBeLessThan(CLIENT_REQUESTS + INSTANCES)
    const refused = await list('shop', alice)
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({ error: { code: '429', description: 'too many requests' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await list('market', system.walletAddresses.bob)).status).toBe(200)
  })

  it('apply to all strangers of a wallet address together, and never to clients with consent', async () => {
    const { alice, carol } = system.walletAddresses
    const [ask, askToo] = [await comeAsStranger(), await comeAsStranger()]
    await untilInStep()
    // The shop requested alice's address until it was refused, so most of what strangers may request of hers is used up.
    const { through, refused } = await askUntilRefused(() => ask(alice))
    expect(through).toBeLessThan(CLIENT_REQUESTS - 1)
    expect(refused.headers.get('ratelimit')).toContain('"wallet-address";r=0;t=')
    expect((await askUntilRefused(() => askToo(alice))).through).toBeLessThan(INSTANCES)
    expect((await askToo(carol)).status).toBe(200)

    const { token, receiver } = paying
    const paid = await pay(system, system.market, token, receiver, 100n)
    expect(paid.status).toBe(201)
    expect(paid.headers.get('ratelimit')).toContain(
      `"wallet-address";r=${String(WALLET_ADDRESS_REQUESTS - 1)};t=`
    )
    const payments = await system.market.request('GET', listOf('outgoing-payments', alice), {
      accessToken: token
    })
    expect(payments.status).toBe(200)
  })

  it('do not count for a wallet address that the token does not reach', async () => {
    const { bob } = system.walletAddresses
    const answer = await system.market.request('GET', listOf('outgoing-payments', bob), {
      accessToken: paying.token
    })
    expect(answer.status).toBe(403)
    expect(answer.headers.get('ratelimit-policy')).toContain('"client"')
    expect(answer.headers.get('ratelimit-policy')).not.toContain('"wallet-address"')
  })

  it('apply to fetching the keys of a client, and never lock out the client', async () => {
    const statuses: number[] = []
    for (let asked = 0; asked < 4 * FETCHES; asked += 1) {
      system.clock.advanceSeconds(REFETCH_SECONDS)
      const answer = await requestQuoteGrant(system.market, `forged-${randomUUID()}`)
      statuses.push(answer.status)
      if (answer.status === 429) {
        expect(answer.at('error.code')).toBe('too_many_attempts')
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      }
    }
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0)
    expect(new Set(statuses)).toEqual(new Set([400, 429]))
    expect((await requestQuoteGrant(system.shop)).status).toBe(200)
  })

  it('hold for grant requests with one key', async () => {
    await untilInStep()
    const { through } = await askUntilRefused(() => requestQuoteGrant(system.shop))
    expect(through).toBeGreaterThan(0)
    expect(through).toBeLessThan(CLIENT_REQUESTS + INSTANCES)
  })
})
