import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import { continueGrant, decide, finishUrl, requestPendingGrant, startInBrowser } from './grants.js'

const redisUrl = process.env.TEST_REDIS_URL
const withRedis = redisUrl === undefined ? describe.skip : describe

withRedis('two replicas that share a database and Redis', () => {
  let one: TestAuthServer
  let other: TestAuthServer
  let shop: TestClient
  let shopAtOther: Pick<TestClient, 'request'>

  beforeAll(async () => {
    const shared = { REPLICA_COUNT: '2', REDIS_URL: redisUrl ?? '', CONTINUATION_WAIT_SECONDS: '0' }
    one = await startTestAuthServer(shared)
    other = await startTestAuthServer({ ...shared, DATABASE_URL: one.database.url })
    shop = one.createClient('shop')
    shopAtOther = other.signWith(shop.key)
  })
  afterAll(async () => {
    await other.stop()
    await one.stop()
  })

  it('carry an interaction together: begun at one, finished at the other', async () => {
    const grant = await requestPendingGrant(one, shop)
    const cookie = await startInBrowser(one, grant)
    await decide(other, grant, 'accept')
    const answer = await other.send('GET', finishUrl(grant), { cookie })
    const reference = new URL(answer.headers.get('location') ?? '').searchParams.get('interact_ref') ?? ''
    expect((await continueGrant(shopAtOther, grant, reference)).status).toBe(200)
    expect((await continueGrant(shop, grant, reference)).status).toBe(401)
  })

  it('take a nonce of a signature once between them', async () => {
    const request = (client: Pick<TestClient, 'request'>, nonce: string) =>
      client.request('POST', PUBLIC_URL, {
        body: {
          client: shop.walletAddress,
          access_token: { access: [{ type: 'quote', actions: ['create'] }] }
        },
        signature: { nonce }
      })
    const nonce = `nonce-${String(Date.now())}`
    expect((await request(shop, nonce)).status).toBe(200)
    expect(await request(shopAtOther, nonce)).toMatchObject({
      status: 401,
      body: { error: { code: 'invalid_client' } }
    })
    expect((await request(shopAtOther, `${nonce}-other`)).status).toBe(200)
  })
})
