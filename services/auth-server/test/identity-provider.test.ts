import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  IDENTITY_PROVIDER_SECRET,
  PUBLIC_URL,
  startTestAuthServer,
  type TestAuthServer,
  type TestClient
} from './auth-server.js'
import { FINISH_URI, continueGrant, createAccountHolder, decide, requestPendingGrant } from './grants.js'

const NOBODY = '0190a8b1-0000-7000-8000-000000000001'
/** The answer to a request with one header for each of the secrets. */
async function statusWithHeaders(port: number, path: string, secrets: string[]): Promise<number | undefined> {
  const request = get({ port, path, host: '127.0.0.1', headers: { 'x-idp-secret': secrets } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

describe('the identity provider', () => {
  let auth: TestAuthServer
  let shop: TestClient

  beforeAll(async () => {
    auth = await startTestAuthServer()
    shop = auth.createClient('shop')
  })
  afterAll(() => auth.stop())

  it('sees who asks for what, and what was decided', async () => {
    const limits = { debitAmount: { value: '500', assetCode: 'USD', assetScale: 2 } }
    const grant = await requestPendingGrant(auth, shop, { limits })
    const path = `/grant/${grant.interactionId}/${grant.nonce}`
    const answer = await auth.identityProvider('GET', path)
    expect(answer.status).toBe(200)
    const walletAddress = createAccountHolder(auth)
    const access = [
      { type: 'outgoing-payment', actions: ['create', 'read'], identifier: walletAddress, limits }
    ]
    const told = {
      expiresAt: new Date(auth.clock.now() + 600_000).toISOString(),
      client: shop.walletAddress,
      clientName: 'The shop'
    }
    expect(answer.body).toEqual({
      grantId: grant.continueUri.split('/').at(-1),
      access,
      walletAddress,
      state: 'PENDING',
      ...told,
      payees: null,
      endsAt: null,
      returnOrigin: new URL(FINISH_URI).origin,
      mayChange: ['actions', 'limits.debitAmount', 'limits.receiveAmount', 'limits.interval'],
      consentProof: 'either',
      signIn: null,
      document: {
        authServer: PUBLIC_URL,
        interaction: grant.interactionId,
        access,
        payees: null,
        walletAddress,
        ...told
      }
    })
    await decide(auth, grant, 'reject')
    expect((await auth.identityProvider('GET', path)).at('state')).toBe('DENIED')
  })

  it.each([null, '', 'wrong', 'the-secret-of-the-identity-provideR', 'x'.repeat(1000)])(
    'is refused with the secret %p: 401',
    async (secret) => {
      const grant = await requestPendingGrant(auth, shop)
      const path = `/grant/${grant.interactionId}/${grant.nonce}`
      expect(await auth.identityProvider('GET', path, { secret })).toMatchObject(
        refusal(401, 'invalid_request')
      )
      for (const choice of ['accept', 'reject']) {
        const answer = await auth.identityProvider('POST', `${path}/${choice}`, { secret })
        expect(answer).toMatchObject(refusal(401, 'invalid_interaction'))
      }
      expect((await auth.identityProvider('GET', path)).at('state')).toBe('PENDING')
    }
  )

  it('is refused with a secret that is repeated, or beside another: 400', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const path = `/grant/${grant.interactionId}/${grant.nonce}`
    const secret = IDENTITY_PROVIDER_SECRET
    for (const secrets of [
      [secret, secret],
      [secret, 'wrong'],
      ['wrong', secret],
      ['', secret]
    ]) {
      expect(await statusWithHeaders(auth.server.identityProviderPort, path, secrets)).toBe(400)
    }
    expect(await statusWithHeaders(auth.server.identityProviderPort, path, [secret])).toBe(200)
  })

  it('may send the secret of before while it is being changed, and no third one', async () => {
    const changing = await startTestAuthServer({ IDENTITY_PROVIDER_SECRET_PREVIOUS: 'the-secret-of-before' })
    try {
      const grant = await requestPendingGrant(changing, changing.createClient('shop'))
      const path = `/grant/${grant.interactionId}/${grant.nonce}`
      for (const secret of [IDENTITY_PROVIDER_SECRET, 'the-secret-of-before']) {
        expect((await changing.identityProvider('GET', path, { secret })).status).toBe(200)
      }
      for (const secret of ['', 'the-secret-of-befor', `${IDENTITY_PROVIDER_SECRET}the-secret-of-before`]) {
        expect((await changing.identityProvider('GET', path, { secret })).status).toBe(401)
      }
    } finally {
      await changing.stop()
    }
  })

  it('finds no unknown interaction: 404 unknown_interaction', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const paths = [`/grant/${NOBODY}/${grant.nonce}`, `/grant/1/1`, `/grant/${grant.interactionId}/wrong`]
    for (const path of paths) {
      expect(await auth.identityProvider('GET', path)).toMatchObject(refusal(404, 'unknown_interaction'))
      for (const choice of ['accept', 'reject']) {
        const answer = await auth.identityProvider('POST', `${path}/${choice}`)
        expect(answer).toMatchObject(refusal(404, 'unknown_interaction'))
      }
    }
  })

  it('cannot decide what the account holder declined already: 401 user_denied', async () => {
    const grant = await requestPendingGrant(auth, shop)
    await decide(auth, grant, 'reject')
    for (const choice of ['accept', 'reject'] as const) {
      expect(await decide(auth, grant, choice)).toMatchObject(refusal(401, 'user_denied'))
    }
  })

  it('cannot decide what the client cancelled: 401 user_denied, and sees nothing of it any more', async () => {
    const grant = await requestPendingGrant(auth, shop)
    await shop.request('DELETE', grant.continueUri, { accessToken: grant.continuationToken })
    expect(await decide(auth, grant, 'accept')).toMatchObject(refusal(401, 'user_denied'))
    const answer = await auth.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
    expect(answer).toMatchObject(refusal(404, 'unknown_interaction'))
  })

  it('cannot decide twice: 400 invalid_interaction', async () => {
    const grant = await requestPendingGrant(auth, shop)
    expect(await decide(auth, grant, 'accept')).toMatchObject({ status: 202, text: '' })
    for (const choice of ['accept', 'reject'] as const) {
      expect(await decide(auth, grant, choice)).toMatchObject(refusal(400, 'invalid_interaction'))
    }
  })

  it('cannot decide too late: 400 invalid_interaction', async () => {
    const grant = await requestPendingGrant(auth, shop)
    auth.clock.advanceSeconds(600)
    for (const choice of ['accept', 'reject'] as const) {
      expect(await decide(auth, grant, choice)).toMatchObject(refusal(400, 'invalid_interaction'))
    }
  })

  it('can only accept or reject: 400 invalid_request', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const answer = await auth.identityProvider('POST', `/grant/${grant.interactionId}/${grant.nonce}/maybe`)
    expect(answer).toMatchObject(refusal(400, 'invalid_request'))
  })

  it.each([
    [
      'with its reason, whatever is in it',
      'Ich mag "nicht" <b>mehr</b> 🙅 …',
      'Ich mag "nicht" <b>mehr</b> 🙅 …'
    ],
    ['with the longest reason', 'x'.repeat(500), 'x'.repeat(500)],
    ['without one', undefined, 'the account holder declined']
  ])('declines, and the client is told 401 user_denied %s', async (_how, reason, description) => {
    const grant = await requestPendingGrant(auth, shop)
    expect((await decide(auth, grant, 'reject', reason && { reason })).status).toBe(202)
    auth.clock.advanceSeconds(5)
    expect(await continueGrant(shop, grant)).toMatchObject({
      status: 401,
      body: { error: { code: 'user_denied', description } }
    })
  })

  it('is told which field of a rejection is wrong', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const unseen = ['a\nb', 'a\rb', '\u0000', '\u001b[31m', '\u007f', '\u0085', '\u2028', '\ud800']
    for (const reason of [5, '', 'x'.repeat(501), ...unseen]) {
      expect(await decide(auth, grant, 'reject', { reason })).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', details: { reason: expect.any(String) } } }
      })
    }
    auth.clock.advanceSeconds(5)
    expect(await continueGrant(shop, grant)).toMatchObject(refusal(401, 'request_denied'))
  })

  it.each([
    ['DELETE', '', 'GET, HEAD'],
    ['OPTIONS', '', 'GET, HEAD'],
    ['GET', '/accept', 'POST'],
    ['PUT', '/reject', 'POST']
  ])('is told what is taken where %s …%s is not: 405', async (method, rest, allow) => {
    const answer = await auth.identityProvider(method, `/grant/some-id/some-nonce${rest}`)
    expect(answer).toMatchObject(refusal(405, 'invalid_request'))
    expect(answer.headers.get('allow')).toBe(allow)
  })

  it.each([
    ['GET', '', 'POST, OPTIONS'],
    ['GET', 'continue/some-id', 'POST, DELETE'],
    ['PATCH', 'token/some-id', 'POST, DELETE'],
    ['POST', '.well-known/gnap-as-rs', 'GET, HEAD'],
    ['POST', 'interact/some-id/some-nonce', 'GET, HEAD'],
    ['OPTIONS', 'interact/some-id/some-nonce/finish', 'GET, HEAD']
  ])('leaves it to the public listener to say so to clients: %s /%s', async (method, path, allow) => {
    const answer = await auth.send(method, `http://auth.test/${path}`)
    expect(answer).toMatchObject(refusal(405, 'invalid_request'))
    expect(answer.headers.get('allow')).toBe(allow)
  })

  it('has no way in through the public listener', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const answer = await auth.send('GET', `http://auth.test/grant/${grant.interactionId}/${grant.nonce}`)
    expect(answer.status).toBe(404)
  })
})

describe('whoever runs the service', () => {
  it('learns that it lives, and that it is ready only while its database answers', async () => {
    const auth = await startTestAuthServer()
    try {
      expect((await auth.identityProvider('GET', '/healthz', { secret: null })).status).toBe(200)
      expect((await auth.identityProvider('GET', '/readyz', { secret: null })).status).toBe(200)
      expect((await auth.send('GET', 'http://auth.test/readyz')).status).toBe(404)
      await auth.database.drop()
      expect(await auth.identityProvider('GET', '/readyz', { secret: null })).toMatchObject({
        status: 503,
        body: {
          status: 'not ready',
          reasons: ['database: does not answer'],
          dependencies: [{ name: 'database', status: 'down', reason: 'does not answer' }]
        }
      })
      expect((await auth.identityProvider('GET', '/healthz', { secret: null })).status).toBe(200)
    } finally {
      await auth.stop()
    }
  })
})
