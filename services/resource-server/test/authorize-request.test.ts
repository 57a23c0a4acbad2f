import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { jwkThumbprint } from '@open-payments-server/http-signatures'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import { createInProcessStore, SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { createTestKey } from '@open-payments-server/testing'
import type { TestToken } from './support/fake-auth-server.js'
import {
  ALICE,
  AUTH_SERVER_URL,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer
} from './support/resource-server.js'

const ACCESS = [{ type: 'incoming-payment' as const, actions: ['create', 'list', 'read'] }]
const LIST = `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`

let service: TestResourceServer
let shop: TestClient
let storeDown = false

beforeAll(async () => {
  const used = new Set<string>()
  const markOnce = (key: string): Promise<boolean> => {
    if (storeDown) return Promise.reject(new SharedStoreUnavailable('down'))
    const first = !used.has(key)
    used.add(key)
    return Promise.resolve(first)
  }
  service = await startTestResourceServer({
    overrides: { sharedStore: { ...createInProcessStore(), markOnce } }
  })
  shop = service.createClient('shop')
})
afterAll(() => service.stop())

const issue = (token: Partial<TestToken> = {}): TestToken =>
  service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS, ...token })

const list = (options: Parameters<TestClient['request']>[3]) => shop.request(ACCESS, 'GET', LIST, options)

describe('the access token of a request', () => {
  it.each<[string, Record<string, string>]>([
    ['missing', {}],
    ['of another scheme', { authorization: 'Bearer abc' }],
    ['empty', { authorization: 'GNAP ' }],
    ['malformed', { authorization: 'GNAP a b' }],
    ['with characters no token has', { authorization: 'GNAP "abc"' }],
    ['very long', { authorization: `GNAP ${'a'.repeat(3_000)}` }],
    ['not issued here', { authorization: 'GNAP 0123456789' }]
  ])('is answered with 401 Invalid Token when it is %s', async (_what, headers) => {
    const answer = await shop.request(ACCESS, 'GET', LIST, { accessToken: undefined, headers })
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ error: { code: '401', description: 'Invalid Token' } })
    expect(answer.headers.get('www-authenticate')).toBe(`GNAP as_uri=${AUTH_SERVER_URL}`)
  })

  it('is answered with 403 Inactive Token when it was revoked', async () => {
    const token = issue()
    token.status = 'inactive'
    const answer = await list({ accessToken: token.accessToken })
    expect(answer.status).toBe(403)
    expect(answer.body).toEqual({ error: { code: '403', description: 'Inactive Token' } })
  })

  it('is told to be wrong before the signature is', async () => {
    expect((await list({ accessToken: 'unknown', unsigned: true })).at('error.description')).toBe(
      'Invalid Token'
    )
    const token = issue()
    token.status = 'inactive'
    const answer = await list({ accessToken: token.accessToken, unsigned: true })
    expect(answer.at('error.description')).toBe('Inactive Token')
  })

  it.each(['GNAP', 'gnap', 'Gnap'])('is taken under the scheme %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${issue().accessToken}` }
    expect(await shop.request(ACCESS, 'GET', LIST, { accessToken: undefined, headers })).toMatchObject({
      status: 200
    })
  })
})

describe('the signature of a request', () => {
  const body = { walletAddress: ALICE }
  const STALE_SECONDS = 301

  it.each<[string, Parameters<TestClient['request']>[3]]>([
    ['missing', { unsigned: true }],
    ['without @target-uri', { signature: { components: ['@method', 'authorization'] } }],
    ['without @method', { signature: { components: ['@target-uri', 'authorization'] } }],
    ['without authorization', { signature: { components: ['@method', '@target-uri'] } }],
    ['of an unknown key', { signature: { keyId: 'another-key' } }],
    ['with a tag of another protocol', { signature: { tag: 'other' } }],
    ['garbled', { tamper: (headers) => (headers.signature = 'sig1=:AAAA:') }],
    ['no structured field', { tamper: (headers) => (headers['signature-input'] = '(((') }],
    [
      'of other headers',
      { tamper: (headers) => (headers.signature = headers.signature?.replace(/[A-Z]/, 'a') ?? '') }
    ]
  ])('is answered with 401 when it is %s', async (_what, options) => {
    const answer = await list({ accessToken: issue().accessToken, ...options })
    expect(answer.status).toBe(401)
    expect(answer.textAt('error.description')).toMatch(/^Signature validation error/)
    expect(answer.headers.get('www-authenticate')).toBe(`GNAP as_uri=${AUTH_SERVER_URL}`)
  })

  it('is answered with 401 when it is too old, too far ahead or expired', async () => {
    const nowSeconds = Math.floor(service.clock.now() / 1_000)
    for (const signature of [
      { createdSeconds: nowSeconds - STALE_SECONDS },
      { createdSeconds: nowSeconds + 40 },
      { createdSeconds: nowSeconds - 20, expiresSeconds: nowSeconds - 10 }
    ]) {
      const answer = await list({ accessToken: issue().accessToken, signature })
      expect(answer.status).toBe(401)
      expect(answer.textAt('error.description')).toMatch(/^Signature validation error/)
    }
  })

  it('is answered with 401 when the body is not the one that was signed', async () => {
    const tampered = await shop.request(ACCESS, 'POST', '/incoming-payments', {
      body,
      tamper: (headers) => (headers['content-digest'] = 'sha-512=:AAAA:')
    })
    expect(tampered.status).toBe(401)
    const uncovered = await shop.request(ACCESS, 'POST', '/incoming-payments', {
      body,
      signature: { components: ['@method', '@target-uri', 'authorization'] }
    })
    expect(uncovered.status).toBe(401)
    expect(uncovered.textAt('error.description')).toMatch(/^Signature validation error/)
  })

  it('is answered with 401 when it was made with a key the token is not bound to', async () => {
    const thief = service.createClient('thief')
    const stolen = await thief.request(ACCESS, 'GET', LIST, { accessToken: issue().accessToken })
    expect(stolen.status).toBe(401)
    const sameKeyId = await thief.request(ACCESS, 'GET', LIST, {
      accessToken: issue().accessToken,
      signature: { keyId: shop.key.keyId }
    })
    expect(sameKeyId.status).toBe(401)
  })

  it('may be made with another current key of the same client', async () => {
    const newKey = createTestKey('new-key')
    const token = issue({ keys: [shop.key, newKey] })
    const signature = { keyId: newKey.keyId, privateKey: newKey.privateKey }
    expect(await list({ accessToken: token.accessToken, signature })).toMatchObject({ status: 200 })
    expect(await list({ accessToken: token.accessToken })).toMatchObject({ status: 200 })
  })

  it('may carry any label, an alg, the gnap tag and more components', async () => {
    const signature = { label: 'mine', includeAlg: true, tag: 'gnap' }
    expect(await list({ accessToken: issue().accessToken, signature })).toMatchObject({ status: 200 })
  })

  it('with a nonce is accepted once', async () => {
    const { accessToken } = issue()
    const signature = { nonce: 'once-only' }
    expect(await list({ accessToken, signature })).toMatchObject({ status: 200 })
    const replayed = await list({ accessToken, signature })
    expect(replayed.status).toBe(401)
    expect(replayed.textAt('error.description')).toMatch(/^Signature validation error/)
    expect(await list({ accessToken })).toMatchObject({ status: 200 })
    expect(await list({ accessToken })).toMatchObject({ status: 200 })
  })

  it('with a nonce is not answered while nobody can tell whether the nonce was used', async () => {
    storeDown = true
    try {
      const answer = await list({ accessToken: issue().accessToken, signature: { nonce: 'unknowable' } })
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toBeTruthy()
    } finally {
      storeDown = false
    }
  })
})

describe('the client of a request', () => {
  const clientOfNewest = async (): Promise<string | undefined> =>
    (
      await service.database.query<{ client: string }>(
        'select client from incoming_payment order by id desc limit 1'
      )
    )[0]?.client
  const create = (accessToken: string) =>
    shop.request(ACCESS, 'POST', '/incoming-payments', { accessToken, body: { walletAddress: ALICE } })

  it('is its wallet address', async () => {
    await create(issue().accessToken)
    expect(await clientOfNewest()).toBe(shop.client)
  })

  it('is its key where it is known by nothing else', async () => {
    const jwk = exportEd25519Jwk(shop.key.privateKey, shop.key.keyId)
    service.clock.advanceSeconds(1)
    await create(issue({ client: '', jwkThumbprint: await jwkThumbprint(jwk) }).accessToken)
    expect(await clientOfNewest()).toBe(`jwk:${await jwkThumbprint(jwk)}`)
  })
})

describe('when the auth server does not answer', () => {
  it('answers 503 with Retry-After, says so, and goes on with what needs none', async () => {
    const lonely = await startTestResourceServer({ settings: { AUTH_GRPC_DEADLINE_MS: '300' } })
    try {
      expect(await lonely.send('GET', '/readyz')).toMatchObject({ status: 200 })
      const client = lonely.createClient('shop')
      await lonely.auth.stop()
      const answer = await client.request(ACCESS, 'GET', LIST)
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(await lonely.send('GET', '/readyz')).toMatchObject({
        status: 200,
        body: {
          status: 'ready',
          reasons: [],
          dependencies: [
            { name: 'database', status: 'up' },
            { name: 'auth-server', status: 'down', reason: 'does not answer' }
          ]
        }
      })
      expect(await lonely.send('GET', '/healthz')).toMatchObject({ status: 200 })
      expect(await lonely.send('GET', '/alice')).toMatchObject({ status: 200 })
    } finally {
      await lonely.stop()
    }
  })
})
