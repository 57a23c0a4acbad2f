import { randomUUID } from 'node:crypto'
import { createTestKey, type TestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  PUBLIC_URL,
  startTestAuthServer,
  type TestAuthServer,
  type TestClient
} from '../../../test/auth-server.js'
import { continueGrant, issueGrant, type PendingGrant, requestPendingGrant } from '../../../test/grants.js'

const CACHE_SECONDS = 60
const STALE_SECONDS = 300
const FAILURE_SECONDS = 3

describe('a client that changes its keys', () => {
  let newKey: TestKey
  let auth: TestAuthServer
  let shop: TestClient
  let grant: PendingGrant

  beforeAll(async () => {
    auth = await startTestAuthServer({
      CONTINUATION_WAIT_SECONDS: '0',
      CLIENT_KEYS_CACHE_SECONDS: String(CACHE_SECONDS),
      CLIENT_KEYS_STALE_SECONDS: String(STALE_SECONDS)
    })
  })
  afterAll(() => auth.stop())
  beforeEach(async () => {
    newKey = createTestKey('new-key')
    shop = auth.createClient(`shop-${randomUUID()}`)
    grant = await requestPendingGrant(auth, shop, { finish: false })
  })

  const publish = (...keys: TestKey[]): void => {
    auth.wallet.setWalletAddress(nameOf(shop), { keys: keys.map(({ jwk }) => jwk) })
  }
  const nameOf = ({ walletAddress }: TestClient): string =>
    walletAddress.replace(`${auth.wallet.origin}/`, '')
  const fetches = (): number => auth.wallet.requestCount(`/${nameOf(shop)}/jwks.json`)
  const refused = { status: 401, body: { error: { code: 'invalid_continuation' } } }

  it('continues its grants with another key that it publishes now', async () => {
    publish(shop.key, newKey)
    auth.clock.advanceSeconds(5) // an unknown key makes us look again at most that often
    expect((await continueGrant(auth.signWith(newKey), grant)).status).toBe(200)
    expect((await continueGrant(shop, grant)).status).toBe(200)
  })

  it('cannot use a key that it took out, the one that asked for the grant included, once its keys are fetched again', async () => {
    publish(newKey)
    auth.clock.advanceSeconds(CACHE_SECONDS - 1)
    expect((await continueGrant(shop, grant)).status).toBe(200)
    expect(fetches()).toBe(1)
    auth.clock.advanceSeconds(1)
    expect((await continueGrant(auth.signWith(newKey), grant)).status).toBe(200)
    expect(await continueGrant(shop, grant)).toMatchObject(refused)
    expect(fetches()).toBe(2)
  })

  it('continues its grants with a new key under the old identifier, once its keys are fetched again', async () => {
    const replaced = createTestKey(shop.key.keyId)
    publish(replaced)
    expect(await continueGrant(auth.signWith(replaced), grant)).toMatchObject(refused)
    auth.clock.advanceSeconds(CACHE_SECONDS)
    expect((await continueGrant(auth.signWith(replaced), grant)).status).toBe(200)
    expect(await continueGrant(shop, grant)).toMatchObject(refused)
  })

  it('cannot continue with a key that it does not publish', async () => {
    expect(await continueGrant(auth.signWith(newKey), grant)).toMatchObject(refused)
  })

  it('cannot manage its tokens with a key that it took out, and can with another that it publishes now', async () => {
    const issued = await issueGrant(shop)
    publish(newKey)
    auth.clock.advanceSeconds(CACHE_SECONDS)
    const manage = (client: Pick<TestClient, 'request'>) =>
      client.request('POST', issued.textAt('access_token.manage'), {
        accessToken: issued.textAt('access_token.value')
      })
    expect((await manage(auth.signWith(newKey))).status).toBe(200)
    expect(await manage(shop)).toMatchObject({ status: 401, body: { error: { code: 'invalid_client' } } })
  })

  describe('while its keys cannot be fetched', () => {
    const unresolved = { status: 400, body: { error: { code: 'invalid_client' } } }
    const unavailable = { status: 503, body: { error: { code: 'request_denied' } } }

    it('continues its grants with the keys that are kept, for the time that is configured', async () => {
      auth.wallet.setDocument(`/${nameOf(shop)}/jwks.json`, {}, 503)
      auth.clock.advanceSeconds(CACHE_SECONDS + STALE_SECONDS - 1)
      expect((await continueGrant(shop, grant)).status).toBe(200)
      auth.clock.advanceSeconds(FAILURE_SECONDS)
      const answer = await continueGrant(shop, grant)
      expect(answer).toMatchObject(unavailable)
      expect(answer.headers.get('retry-after')).toBe(String(FAILURE_SECONDS))
      publish(shop.key)
      auth.clock.advanceSeconds(FAILURE_SECONDS)
      expect((await continueGrant(shop, grant)).status).toBe(200)
    })

    it('is told 503 when another key than those is needed', async () => {
      auth.wallet.setDocument(`/${nameOf(shop)}/jwks.json`, {}, 503)
      auth.clock.advanceSeconds(CACHE_SECONDS)
      expect(await continueGrant(auth.signWith(newKey), grant)).toMatchObject(unavailable)
    })

    it('is told 503 when its host does not answer at all, because it once published its keys', async () => {
      auth.wallet.hangUp(`/${nameOf(shop)}/jwks.json`)
      auth.clock.advanceSeconds(CACHE_SECONDS + STALE_SECONDS)
      expect(await continueGrant(shop, grant)).toMatchObject(unavailable)
    })

    it.each(['continues a grant', 'rotates a token', 'revokes a token'])(
      'is told from which URL when it %s',
      async (call) => {
        const issued = call === 'continues a grant' ? undefined : await issueGrant(shop)
        auth.wallet.setDocument(`/${nameOf(shop)}/jwks.json`, {}, 503)
        auth.clock.advanceSeconds(CACHE_SECONDS + STALE_SECONDS + FAILURE_SECONDS)
        const answer =
          issued === undefined
            ? await continueGrant(shop, grant)
            : await shop.request(
                call === 'rotates a token' ? 'POST' : 'DELETE',
                issued.textAt('access_token.manage'),
                { accessToken: issued.textAt('access_token.value') }
              )
        expect(answer).toMatchObject(unavailable)
        expect(answer.textAt('error.description')).toContain(`from ${shop.walletAddress}/jwks.json`)
      }
    )

    it('is told 400 invalid_client when its host says that it has none any more', async () => {
      auth.wallet.remove(`/${nameOf(shop)}/jwks.json`)
      auth.clock.advanceSeconds(CACHE_SECONDS)
      expect(await continueGrant(shop, grant)).toMatchObject(unresolved)
    })
  })

  it('that is known by its key alone keeps that key', async () => {
    const key = createTestKey('alone')
    const client = auth.signWith(key)
    const issued = await client.request('POST', PUBLIC_URL, {
      body: {
        client: { jwk: key.jwk },
        access_token: { access: [{ type: 'incoming-payment', actions: ['create'] }] }
      }
    })
    auth.clock.advanceSeconds(CACHE_SECONDS + STALE_SECONDS)
    const manage = (by: Pick<TestClient, 'request'>) =>
      by.request('POST', issued.textAt('access_token.manage'), {
        accessToken: issued.textAt('access_token.value')
      })
    expect((await manage(auth.signWith(createTestKey('alone')))).status).toBe(401)
    expect((await manage(auth.signWith(createTestKey('another')))).status).toBe(401)
    expect((await manage(client)).status).toBe(200)
  })
})
