import { createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { startTestAuthServer, type TestAuthServer, type TestClient } from '../../../test/auth-server.js'
import { continueGrant, issueGrant, type PendingGrant, requestPendingGrant } from '../../../test/grants.js'

describe('a client that changes its keys', () => {
  const newKey = createTestKey('new-key')
  let auth: TestAuthServer
  let shop: TestClient
  let grant: PendingGrant

  beforeAll(async () => {
    auth = await startTestAuthServer({ CONTINUATION_WAIT_SECONDS: '0', CLIENT_KEYS_CACHE_SECONDS: '0' })
  })
  afterAll(() => auth.stop())
  beforeEach(async () => {
    auth.clock.advanceSeconds(3) // failures to fetch are remembered that long
    shop = auth.createClient('shop')
    grant = await requestPendingGrant(auth, shop, { finish: false })
  })

  it('continues its grants with the key they are bound to, also when it does not publish that key any more', async () => {
    auth.wallet.setWalletAddress('shop', { keys: [newKey.jwk] })
    expect((await continueGrant(shop, grant)).status).toBe(200)
  })

  it('continues its grants with another key that it publishes now', async () => {
    auth.wallet.setWalletAddress('shop', { keys: [shop.key.jwk, newKey.jwk] })
    expect((await continueGrant(auth.signWith(newKey), grant)).status).toBe(200)
  })

  it('continues its grants with a new key under the old identifier', async () => {
    const replaced = createTestKey(shop.key.keyId)
    auth.wallet.setWalletAddress('shop', { keys: [replaced.jwk] })
    expect((await continueGrant(auth.signWith(replaced), grant)).status).toBe(200)
  })

  it('cannot continue with a key that it does not publish', async () => {
    expect(await continueGrant(auth.signWith(newKey), grant)).toMatchObject({
      status: 401,
      body: { error: { code: 'invalid_client' } }
    })
  })

  it('is told 400 invalid_client when its keys would be needed and cannot be fetched', async () => {
    auth.wallet.remove('/shop/jwks.json')
    expect(await continueGrant(auth.signWith(newKey), grant)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_client' } }
    })
  })

  it('rotates its tokens with another key that it publishes now', async () => {
    const issued = await issueGrant(shop)
    auth.wallet.setWalletAddress('shop', { keys: [newKey.jwk] })
    const answer = await auth.signWith(newKey).request('POST', issued.textAt('access_token.manage'), {
      accessToken: issued.textAt('access_token.value')
    })
    expect(answer.status).toBe(200)
  })
})
