import { createSigningClient, createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import {
  approve,
  continueGrant,
  decide,
  issueGrant,
  outgoingPaymentRequest,
  type PendingGrant,
  requestPendingGrant
} from './grants.js'

const NOBODY = '0190a8b1-0000-7000-8000-000000000001'
const refusal = (status: number, code: string) => ({
  status,
  body: { error: { code, description: expect.any(String) } }
})
const incomingPayments = { access: [{ type: 'incoming-payment', actions: ['create'] }] }

describe('what the auth server answers', () => {
  let auth: TestAuthServer
  let shop: TestClient
  let market: TestClient

  beforeAll(async () => {
    auth = await startTestAuthServer()
    shop = auth.createClient('shop')
    market = auth.createClient('market')
  })
  afterAll(() => auth.stop())

  describe('to a signature that is missing, malformed, stale, not verifying, or by another key: 401 invalid_client', () => {
    const request = (options: Parameters<TestClient['request']>[2]) =>
      shop.request('POST', PUBLIC_URL, {
        body: { client: shop.walletAddress, access_token: incomingPayments },
        ...options
      })

    it.each([
      ['missing', { unsigned: true }],
      [
        'malformed',
        { tamper: (headers: Record<string, string>) => (headers['signature-input'] = 'sig1=(((') }
      ],
      ['without created', { signature: { createdSeconds: undefined } }],
      ['stale', { signature: { createdSeconds: Math.floor(Date.now() / 1000) - 3600 } }],
      ['from the future', { signature: { createdSeconds: Math.floor(Date.now() / 1000) + 3600 } }],
      ['expired', { signature: { expiresSeconds: 1 } }],
      ['not covering the body', { signature: { components: ['@method', '@target-uri'] } }],
      ['not covering the method', { signature: { components: ['@target-uri', 'content-digest'] } }],
      ['of another tag', { signature: { tag: 'other' } }],
      [
        'of another body',
        {
          tamper: (headers: Record<string, string>) =>
            (headers['content-digest'] = `sha-512=:${'A'.repeat(86)}==:`)
        }
      ],
      [
        'not verifying',
        { tamper: (headers: Record<string, string>) => (headers['signature'] = `sig1=:${'A'.repeat(86)}==:`) }
      ]
    ])('%s', async (_name, options) => {
      expect(await request(options as never)).toMatchObject(refusal(401, 'invalid_client'))
    })

    it('by another key', async () => {
      const impostor = auth.signWith({ ...createTestKey(), keyId: shop.key.keyId })
      const answer = await impostor.request('POST', PUBLIC_URL, {
        body: { client: shop.walletAddress, access_token: incomingPayments }
      })
      expect(answer).toMatchObject(refusal(401, 'invalid_client'))
    })

    it('of another URL, whatever the headers say of hosts', async () => {
      const grantEndpoint = `http://127.0.0.1:${String(auth.server.httpPort)}/`
      const elsewhere = createSigningClient({
        ...shop.key,
        clock: auth.clock,
        connect: () => grantEndpoint
      })
      const body = { client: shop.walletAddress, access_token: incomingPayments }
      const headers = { 'x-forwarded-host': 'elsewhere.test', forwarded: 'host=elsewhere.test' }
      for (const url of ['http://elsewhere.test/', grantEndpoint, `${PUBLIC_URL}?a=b`]) {
        const answer = await elsewhere.request('POST', url, { body, headers })
        expect(answer).toMatchObject(refusal(401, 'invalid_client'))
      }
    })

    it('that carries a nonce a second time', async () => {
      const options = { signature: { nonce: 'used-once' } }
      expect((await request(options)).status).toBe(200)
      expect(await request(options)).toMatchObject(refusal(401, 'invalid_client'))
    })

    it('on rotation and revocation, by another client', async () => {
      const grant = await issueGrant(shop)
      const options = { accessToken: grant.textAt('access_token.value') }
      for (const method of ['POST', 'DELETE']) {
        const answer = await market.request(method, grant.textAt('access_token.manage'), options)
        expect(answer).toMatchObject(refusal(401, 'invalid_client'))
      }
    })
  })

  describe('to a client that cannot be resolved: 400 invalid_client', () => {
    const request = (client: unknown) =>
      shop.request('POST', PUBLIC_URL, { body: { client, access_token: incomingPayments } })

    it('when its wallet address has no keys', async () => {
      const answer = await request(`${auth.wallet.origin}/nobody`)
      expect(answer).toMatchObject(refusal(400, 'invalid_client'))
    })
    it('when nothing listens at a stranger’s host: the answer says where it looked', async () => {
      const answer = await request('http://127.0.0.1:1/nobody')
      expect(answer).toMatchObject(refusal(400, 'invalid_client'))
      expect(answer.textAt('error.description')).toContain('from http://127.0.0.1:1/nobody/jwks.json')
    })
    it('when its wallet address document cannot be read: the answer says where it looked', async () => {
      const unreadable = auth.createClient('unreadable')
      auth.wallet.setDocument('/unreadable', {})
      const holder = auth.wallet.setWalletAddress('alice', { authServer: PUBLIC_URL })
      const answer = await unreadable.request('POST', PUBLIC_URL, {
        body: outgoingPaymentRequest(unreadable.walletAddress, holder)
      })
      expect(answer).toMatchObject(refusal(400, 'invalid_client'))
      expect(answer.textAt('error.description')).toContain(`from ${unreadable.walletAddress}`)
    })
    it('when its keys are no JWK Set', async () => {
      const url = auth.wallet.setDocument('/odd/jwks.json', { keys: 'none' }).replace('/jwks.json', '')
      expect(await request(url)).toMatchObject(refusal(400, 'invalid_client'))
    })
    it('when it does not publish the key that signed', async () => {
      expect(await request(market.walletAddress)).toMatchObject(refusal(400, 'invalid_client'))
    })
    it('when it signs as another URL of its wallet address: the answer says how that is spelled', async () => {
      const holder = auth.wallet.setWalletAddress('alice', { authServer: PUBLIC_URL })
      const alias = shop.walletAddress.replace('127.0.0.1', 'localhost')
      const answer = await shop.request('POST', PUBLIC_URL, { body: outgoingPaymentRequest(alias, holder) })
      expect(answer).toMatchObject(refusal(400, 'invalid_client'))
      expect(answer.textAt('error.description')).toContain(shop.walletAddress)
    })
    it('when the id of its wallet address is none', async () => {
      const holder = auth.wallet.setWalletAddress('alice', { authServer: PUBLIC_URL })
      const nameless = auth.createClient('nameless')
      const document = {
        id: '$wallet.test/nameless',
        assetCode: 'USD',
        assetScale: 2,
        authServer: PUBLIC_URL
      }
      auth.wallet.setDocument('/nameless', document)
      const answer = await nameless.request('POST', PUBLIC_URL, {
        body: outgoingPaymentRequest(nameless.walletAddress, holder)
      })
      expect(answer).toMatchObject(refusal(400, 'invalid_client'))
    })
    it('when its keys say that they are those of another URL, also where nobody is asked', async () => {
      const key = createTestKey('hosted-key')
      const keysLocation = 'https://wallet.test/hosted/jwks.json'
      const url = auth.wallet.setWalletAddress('hosted', { keys: [key.jwk], keysLocation })
      const answer = await auth.signWith(key).request('POST', PUBLIC_URL, {
        body: { client: url, access_token: incomingPayments }
      })
      expect(answer).toMatchObject(refusal(400, 'invalid_client'))
      expect(answer.textAt('error.description')).toContain('https://wallet.test/hosted')
    })
    it('when it is known by its key alone and the account holder would have to be asked', async () => {
      const key = createTestKey()
      const answer = await auth.signWith(key).request('POST', PUBLIC_URL, {
        body: {
          ...outgoingPaymentRequest('', auth.wallet.setWalletAddress('alice', { authServer: PUBLIC_URL })),
          client: { jwk: key.jwk }
        }
      })
      expect(answer).toMatchObject(refusal(400, 'invalid_client'))
    })
  })

  it.each([
    ['as it signs', 'same', 'http://localhost', '/same'],
    ['with a final slash', 'slash', 'http://localhost', '/slash/'],
    ['with its host in upper case', 'upper', 'HTTP://LocalHost', '/upper']
  ])('but not to a client whose document spells its URL %s', async (_spelling, name, host, path) => {
    const client = auth.createClient(name)
    const { port } = new URL(client.walletAddress)
    const id = `${host}:${port}${path}`
    auth.wallet.setDocument(`/${name}`, { id, assetCode: 'USD', assetScale: 2, authServer: PUBLIC_URL })
    const answer = await client.request('POST', PUBLIC_URL, {
      body: outgoingPaymentRequest(
        `http://localhost:${port}/${name}`,
        auth.wallet.setWalletAddress('alice', { authServer: PUBLIC_URL })
      )
    })
    expect(answer.status).toBe(200)
  })

  describe('while what the request needs cannot be fetched: 503, with the time to come again', () => {
    const unavailable = async (client: TestClient, holder: string) => {
      const answer = await client.request('POST', PUBLIC_URL, {
        body: outgoingPaymentRequest(client.walletAddress, holder)
      })
      expect(answer).toMatchObject(refusal(503, 'request_denied'))
      expect(answer.headers.get('retry-after')).toBe('3')
      return answer.textAt('error.description')
    }
    const newHolder = (): string => auth.wallet.setWalletAddress('alice', { authServer: PUBLIC_URL })

    it('when the host of the client’s keys says so', async () => {
      const away = auth.createClient('keys-away')
      auth.wallet.setDocument('/keys-away/jwks.json', {}, 502)
      expect(await unavailable(away, newHolder())).toContain(`from ${away.walletAddress}/jwks.json now`)
    })
    it('when the host of its wallet address says so', async () => {
      const away = auth.createClient('address-away')
      auth.wallet.setDocument('/address-away', {}, 503)
      expect(await unavailable(away, newHolder())).toContain(`from ${away.walletAddress} now`)
    })
    it('when its wallet address is not answered for, though its keys were', async () => {
      const away = auth.createClient('address-silent')
      auth.wallet.hangUp('/address-silent')
      expect(await unavailable(away, newHolder())).toContain(`from ${away.walletAddress} now`)
    })
    it('when the host of the account holder’s wallet address says so', async () => {
      const holder = auth.wallet.setDocument('/holder-away', {}, 503)
      expect(await unavailable(shop, holder)).toBe(
        `access_token.access[0].identifier: ${holder} cannot be fetched now`
      )
    })
  })

  it('to a malformed body or field: 400 invalid_request, and details name the field', async () => {
    const answer = await shop.request('POST', PUBLIC_URL, {
      body: { client: shop.walletAddress, access_token: { access: [{ type: 'incoming-payment' }] } }
    })
    expect(answer).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'invalid_request',
          details: { 'access_token.access[0].actions': expect.any(String) }
        }
      }
    })
    const notJson = await shop.request('POST', PUBLIC_URL, { body: '{' })
    expect(notJson).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { body: expect.any(String) } } }
    })
  })

  it('to access that needs the account holder, without interact: 400 invalid_request', async () => {
    const body = {
      ...outgoingPaymentRequest(shop.walletAddress, `${auth.wallet.origin}/alice`),
      interact: undefined
    }
    expect(await shop.request('POST', PUBLIC_URL, { body })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { interact: expect.any(String) } } }
    })
  })

  describe('to a continuation', () => {
    let grant: PendingGrant

    beforeEach(async () => {
      grant = await requestPendingGrant(auth, shop)
    })

    it.each([
      ['an unknown id', { continueUri: `${PUBLIC_URL}continue/${NOBODY}` }],
      ['a malformed id', { continueUri: `${PUBLIC_URL}continue/1` }],
      ['a wrong token', { continuationToken: 'wrong' }]
    ])('of %s: 401 invalid_continuation', async (_name, changed) => {
      auth.clock.advanceSeconds(5)
      const wrong = { ...grant, ...changed }
      expect(await continueGrant(shop, wrong)).toMatchObject(refusal(401, 'invalid_continuation'))
      expect(
        await shop.request('DELETE', wrong.continueUri, { accessToken: wrong.continuationToken })
      ).toMatchObject(refusal(401, 'invalid_continuation'))
    })

    it('without a token: 401 invalid_continuation', async () => {
      const answer = await shop.request('POST', grant.continueUri)
      expect(answer).toMatchObject(refusal(401, 'invalid_continuation'))
    })

    it('with another scheme: 401 invalid_continuation', async () => {
      const headers = { authorization: `Bearer ${grant.continuationToken}` }
      const answer = await shop.request('POST', grant.continueUri, { headers })
      expect(answer).toMatchObject(refusal(401, 'invalid_continuation'))
    })

    it('with the token of another grant: 401 invalid_continuation', async () => {
      const other = await requestPendingGrant(auth, shop)
      const mixed = { ...grant, continuationToken: other.continuationToken }
      expect(await continueGrant(shop, mixed)).toMatchObject(refusal(401, 'invalid_continuation'))
    })

    it('signed by another client: 401 invalid_continuation', async () => {
      expect(await continueGrant(market, grant)).toMatchObject(refusal(401, 'invalid_continuation'))
    })

    it('with a wrong interact_ref: 404 invalid_continuation, also before the wait is over', async () => {
      expect(await continueGrant(shop, grant, 'wrong')).toMatchObject(refusal(404, 'invalid_continuation'))
      await approve(auth, grant)
      auth.clock.advanceSeconds(5)
      expect(await continueGrant(shop, grant, 'wrong')).toMatchObject(refusal(404, 'invalid_continuation'))
    })

    it('before wait has passed: 400 too_fast, pending or approved', async () => {
      expect(await continueGrant(shop, grant)).toMatchObject(refusal(400, 'too_fast'))
      const reference = await approve(auth, grant)
      expect(await continueGrant(shop, grant, reference)).toMatchObject(refusal(400, 'too_fast'))
      auth.clock.advanceSeconds(5)
      expect((await continueGrant(shop, grant, reference)).status).toBe(200)
    })

    it('still pending, no finish asked for: 200 with continue only, and the wait starts again', async () => {
      const polled = await requestPendingGrant(auth, shop, { finish: false })
      auth.clock.advanceSeconds(5)
      const answer = await continueGrant(shop, polled)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        continue: {
          access_token: { value: polled.continuationToken },
          uri: polled.continueUri,
          wait: 5
        }
      })
      auth.clock.advanceSeconds(4)
      expect(await continueGrant(shop, polled)).toMatchObject(refusal(400, 'too_fast'))
      auth.clock.advanceSeconds(1)
      expect((await continueGrant(shop, polled)).status).toBe(200)
    })

    it('still pending with finish asked for: 401 request_denied', async () => {
      auth.clock.advanceSeconds(5)
      expect(await continueGrant(shop, grant)).toMatchObject(refusal(401, 'request_denied'))
    })

    it('approved, without the interact_ref the client was told: 401 request_denied', async () => {
      await approve(auth, grant)
      auth.clock.advanceSeconds(5)
      expect(await continueGrant(shop, grant)).toMatchObject(refusal(401, 'request_denied'))
    })

    it('rejected by the account holder: 401 user_denied with the reason, with or without finish', async () => {
      await decide(auth, grant, 'reject', { reason: 'too expensive' })
      expect(await continueGrant(shop, grant)).toMatchObject({
        status: 401,
        body: { error: { code: 'user_denied', description: 'too expensive' } }
      })
      const polled = await requestPendingGrant(auth, shop, { finish: false })
      await decide(auth, polled, 'reject')
      expect(await continueGrant(shop, polled)).toMatchObject(refusal(401, 'user_denied'))
    })

    it('already issued: 401 request_denied', async () => {
      const reference = await approve(auth, grant)
      auth.clock.advanceSeconds(5)
      expect((await continueGrant(shop, grant, reference)).status).toBe(200)
      expect(await continueGrant(shop, grant, reference)).toMatchObject(refusal(401, 'request_denied'))
    })

    it('issued at once: 401 request_denied', async () => {
      const issued = await issueGrant(shop)
      const answer = await shop.request('POST', issued.textAt('continue.uri'), {
        accessToken: issued.textAt('continue.access_token.value')
      })
      expect(answer).toMatchObject(refusal(401, 'request_denied'))
    })

    it('after the account holder did not answer in time: 401 request_denied', async () => {
      const polled = await requestPendingGrant(auth, shop, { finish: false })
      auth.clock.advanceSeconds(600)
      expect(await continueGrant(shop, polled)).toMatchObject(refusal(401, 'request_denied'))
    })
  })

  describe('to token management', () => {
    it.each([
      ['an unknown id', `${PUBLIC_URL}token/${NOBODY}`],
      ['a malformed id', `${PUBLIC_URL}token/1`]
    ])('of %s: 401 invalid_client', async (_name, url) => {
      for (const method of ['POST', 'DELETE']) {
        const answer = await shop.request(method, url, { accessToken: 'some-token' })
        expect(answer).toMatchObject(refusal(401, 'invalid_client'))
      }
    })

    it('with a wrong token, or none: 401 invalid_client', async () => {
      const [one, other] = [await issueGrant(shop), await issueGrant(shop)]
      const manage = one.textAt('access_token.manage')
      for (const method of ['POST', 'DELETE']) {
        const wrong = await shop.request(method, manage, { accessToken: other.textAt('access_token.value') })
        expect(wrong).toMatchObject(refusal(401, 'invalid_client'))
        expect(await shop.request(method, manage)).toMatchObject(refusal(401, 'invalid_client'))
      }
    })

    it('rotating a revoked token, or one that was rotated: 404 invalid_rotation', async () => {
      const revoked = await issueGrant(shop)
      const manage = revoked.textAt('access_token.manage')
      const options = { accessToken: revoked.textAt('access_token.value') }
      expect((await shop.request('DELETE', manage, options)).status).toBe(204)
      expect(await shop.request('POST', manage, options)).toMatchObject(refusal(404, 'invalid_rotation'))

      const rotated = await issueGrant(shop)
      const again = { accessToken: rotated.textAt('access_token.value') }
      expect((await shop.request('POST', rotated.textAt('access_token.manage'), again)).status).toBe(200)
      const answer = await shop.request('POST', rotated.textAt('access_token.manage'), again)
      expect(answer).toMatchObject(refusal(404, 'invalid_rotation'))
    })

    it('rotating an expired token of a live grant: 200, with a full lifetime', async () => {
      const grant = await issueGrant(shop)
      auth.clock.advanceSeconds(601)
      const answer = await shop.request('POST', grant.textAt('access_token.manage'), {
        accessToken: grant.textAt('access_token.value')
      })
      expect(answer).toMatchObject({ status: 200, body: { access_token: { expires_in: 600 } } })
    })

    it('rotating the token of a cancelled grant: 404 invalid_rotation', async () => {
      const grant = await issueGrant(shop)
      const accessToken = grant.textAt('continue.access_token.value')
      expect((await shop.request('DELETE', grant.textAt('continue.uri'), { accessToken })).status).toBe(204)
      const answer = await shop.request('POST', grant.textAt('access_token.manage'), {
        accessToken: grant.textAt('access_token.value')
      })
      expect(answer).toMatchObject(refusal(404, 'invalid_rotation'))
    })
  })

  it('to cancelling a grant and revoking a token: 204; repeating it is 204', async () => {
    const grant = await issueGrant(shop)
    const revoke = () =>
      shop.request('DELETE', grant.textAt('access_token.manage'), {
        accessToken: grant.textAt('access_token.value')
      })
    const cancel = () =>
      shop.request('DELETE', grant.textAt('continue.uri'), {
        accessToken: grant.textAt('continue.access_token.value')
      })
    for (const request of [revoke, revoke, cancel, cancel, revoke]) {
      const answer = await request()
      expect([answer.status, answer.text]).toEqual([204, ''])
    }
  })

  it('to cancelling a grant that waits for the account holder: 204, and nobody can agree any more', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const accessToken = grant.continuationToken
    expect((await shop.request('DELETE', grant.continueUri, { accessToken })).status).toBe(204)
    expect(await decide(auth, grant, 'accept')).toMatchObject(refusal(401, 'user_denied'))
    expect(await continueGrant(shop, grant)).toMatchObject(refusal(401, 'request_denied'))
  })

  it('to anything unexpected: 500 request_denied, with no internals in the text', async () => {
    await auth.database.query('alter table grant_request rename to hidden')
    try {
      const answer = await issueGrant(shop)
      expect(answer.status).toBe(500)
      expect(answer.body).toEqual({
        error: { code: 'request_denied', description: 'internal server error' }
      })
    } finally {
      await auth.database.query('alter table hidden rename to grant_request')
    }
  })
})
