import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Answer } from '@open-payments-server/testing'
import type { TestClient } from '../src/connect-system.js'
import { requestToken } from '../src/consent.js'
import { startSystem, type System } from '../src/system.js'

const INSTANCES = 2
const CLIENT_REQUESTS = 6
const WALLET_ADDRESS_REQUESTS = 10
const FETCHES = 3
/** After this a signature with a key that nobody knows makes the auth server look again. */
const REFETCH_SECONDS = 6

const limits = {
  RATE_LIMITS: 'true',
  RATE_LIMIT_ADDRESS_REQUESTS: '100000',
  RATE_LIMIT_CLIENT_REQUESTS: String(CLIENT_REQUESTS)
}

describe('rate limits of two instances of each service with one Redis', () => {
  let system: System
  let tokens: Readonly<Record<'shop' | 'market', string>>

  beforeAll(async () => {
    system = await startSystem({
      instanceCount: INSTANCES,
      auth: { ...limits, RATE_LIMIT_WALLET_ADDRESS_REQUESTS: String(FETCHES) },
      resource: { ...limits, RATE_LIMIT_WALLET_ADDRESS_REQUESTS: String(WALLET_ADDRESS_REQUESTS) }
    })
    const access = [{ type: 'incoming-payment', actions: ['create', 'list', 'read'] }]
    tokens = {
      shop: await requestToken(system, system.shop, access),
      market: await requestToken(system, system.market, access)
    }
  })
  afterAll(() => system.stop())

  const list = (name: 'shop' | 'market', walletAddress: string, options: object = {}): Promise<Answer> =>
    system[name].request(
      'GET',
      `${system.resourceServerUrl}/incoming-payments?wallet-address=${encodeURIComponent(walletAddress)}`,
      { accessToken: tokens[name], ...options }
    )

  const requestQuoteGrant = (client: TestClient, keyId?: string): Promise<Answer> =>
    client.request('POST', system.authServerUrl, {
      body: {
        client: system.shop.walletAddress,
        access_token: { access: [{ type: 'quote', actions: ['create'] }] }
      },
      ...(keyId === undefined ? {} : { signature: { keyId } })
    })

  it('hold for a client whichever instance it asks, and not for another client nor for forged signatures', async () => {
    const { alice } = system.walletAddresses
    for (let asked = 0; asked < 2 * CLIENT_REQUESTS; asked += 1) {
      expect((await list('shop', alice, { signature: { keyId: 'market-key' } })).status).toBe(401)
    }
    for (let asked = 1; asked <= CLIENT_REQUESTS; asked += 1) {
      const answer = await list('shop', alice)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('ratelimit')).toContain(`"client";r=${String(CLIENT_REQUESTS - asked)};t=`)
      expect(answer.headers.get('ratelimit-policy')).toContain(`"client";q=${String(CLIENT_REQUESTS)};w=60`)
    }
    for (let asked = 0; asked < 4; asked += 1) {
      const refused = await list('shop', alice)
      expect(refused.status).toBe(429)
      expect(refused.body).toEqual({ error: { code: '429', description: 'too many requests' } })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect((await list('market', system.walletAddresses.bob)).status).toBe(200)
  })

  it('hold for a wallet address, whoever asks about it', async () => {
    // Shop asked about alice until it was refused. Each instance counted the request with which it learnt that, and no more.
    for (let asked = CLIENT_REQUESTS + INSTANCES; asked < WALLET_ADDRESS_REQUESTS; asked += 1) {
      expect((await list('market', system.walletAddresses.alice)).status).toBe(200)
    }
    expect((await list('market', system.walletAddresses.alice)).status).toBe(429)
    expect((await list('market', system.walletAddresses.carol)).status).toBe(200)
  })

  it('hold for fetching the keys of a client, and never lock out the client itself', async () => {
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
    const statuses: number[] = []
    for (let asked = 0; asked < CLIENT_REQUESTS + 1; asked += 1) {
      const answer = await requestQuoteGrant(system.shop)
      statuses.push(answer.status)
    }
    expect(statuses.at(-1)).toBe(429)
    expect(statuses[0]).toBe(200)
  })
})
