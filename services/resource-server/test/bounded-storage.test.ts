import { randomUUID } from 'node:crypto'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ALICE, BOB, startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

const LIST = [{ type: 'incoming-payment' as const, actions: ['list'] }]

let service: TestResourceServer | undefined

afterEach(async () => {
  await service?.stop()
  service = undefined
})

describe('marks of nonces', () => {
  it('are left by no request beyond the limit of its client', async () => {
    const marks: string[] = []
    const store = createInProcessStore()
    const markOnce = (key: string): Promise<boolean> => {
      marks.push(key)
      return Promise.resolve(true)
    }
    service = await startTestResourceServer({
      settings: { RATE_LIMITS: 'true', RATE_LIMIT_CLIENT_REQUESTS: '2' },
      overrides: { sharedStore: { ...store, markOnce } }
    })
    const shop = service.createClient('shop')
    const list = () =>
      shop.request(LIST, 'GET', `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`, {
        signature: { nonce: randomUUID() }
      })
    const statuses = [await list(), await list(), await list(), await list()].map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 429, 429])
    expect(marks).toHaveLength(2)
    await store.close()
  })
})

describe('an incoming payment of a client without the consent of the account holder', () => {
  const CREATE = [{ type: 'incoming-payment' as const, actions: ['create'] }]
  const DAY_MS = 86_400_000
  /** Exactly as many bytes of JSON. */
  const metadataOf = (bytes: number) => ({ note: 'n'.repeat(bytes - '{"note":""}'.length) })

  /** Creates with a token that somebody agreed to, or nobody, twice: with what is asked for first, and what is kept then. */
  const create = async (
    consentedWalletAddress: string,
    body: Record<string, unknown>
  ): Promise<{ status: number; details: string[] }> => {
    service ??= await startTestResourceServer()
    const shop = service.createClient('shop')
    const { accessToken } = service.auth.issueToken({
      client: shop.client,
      keys: [shop.key],
      access: CREATE,
      consentedWalletAddress
    })
    const ask = () =>
      shop.request(CREATE, 'POST', '/incoming-payments', {
        accessToken,
        body: { walletAddress: ALICE, ...body }
      })
    const [first, again] = [await ask(), await ask()]
    expect(again.status).toBe(first.status)
    return { status: first.status, details: Object.keys(first.at('error.details') ?? {}) }
  }
  const ahead = (days: number) => ({
    expiresAt: new Date((service?.clock.now() ?? 0) + days * DAY_MS).toISOString()
  })

  it('expires within a year and carries at most 2 KB of metadata; what alice agreed to is no consent of bob', async () => {
    service = await startTestResourceServer()
    const fits = { status: 201, details: [] }
    for (const consentedBy of ['', BOB]) {
      expect(await create(consentedBy, ahead(366))).toEqual(fits)
      expect(await create(consentedBy, { ...ahead(367) })).toEqual({ status: 400, details: ['expiresAt'] })
      expect(await create(consentedBy, { metadata: metadataOf(2_048) })).toEqual(fits)
      expect(await create(consentedBy, { metadata: metadataOf(2_049) })).toEqual({
        status: 400,
        details: ['metadata']
      })
      // Written out, as the database keeps it, that is much longer than it came.
      expect(await create(consentedBy, { metadata: { numbers: Array(20).fill(1e300) } })).toEqual({
        status: 400,
        details: ['metadata']
      })
    }
    expect(await create(ALICE, { ...ahead(3_650), metadata: metadataOf(16_384) })).toEqual(fits)
  })
})

describe('the rows of a day', () => {
  it('are limited for a network address where no account holder agreed, and reading goes on', async () => {
    service = await startTestResourceServer({
      settings: { RATE_LIMITS: 'true', RATE_LIMIT_ADDRESS_ROWS: '1' }
    })
    const started = service
    const { auth } = started
    const access = [{ type: 'incoming-payment' as const, actions: ['create', 'list'] }]
    const ask = async (
      name: string,
      consentedWalletAddress: string,
      method: 'GET' | 'POST'
    ): Promise<number> => {
      const { client, key, request } = started.createClient(name)
      const { accessToken } = auth.issueToken({ client, keys: [key], access, consentedWalletAddress })
      const path =
        method === 'GET'
          ? `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`
          : '/incoming-payments'
      const body = method === 'GET' ? {} : { body: { walletAddress: ALICE } }
      return (await request(access, method, path, { accessToken, ...body })).status
    }
    expect([await ask('shop', '', 'POST'), await ask('market', '', 'POST')]).toEqual([201, 429])
    expect([await ask('market', '', 'GET'), await ask('market', ALICE, 'POST')]).toEqual([200, 201])
  })
})
