import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import {
  continueGrant,
  createAccountHolder,
  decide,
  finishInBrowser,
  finishUrl,
  requestPendingGrant,
  startInBrowser
} from './grants.js'

const NOBODY = '0190a8b1-0000-7000-8000-000000000001'

describe("the account holder's browser", () => {
  let auth: TestAuthServer
  let shop: TestClient

  beforeAll(async () => {
    auth = await startTestAuthServer()
    shop = auth.createClient('shop')
  })
  afterAll(() => auth.stop())

  const queryOf = (location: string | null) => Object.fromEntries(new URL(location ?? '').searchParams)

  it('is shown the name the client proved, whatever the link says', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const forged = new URL(grant.redirect)
    forged.searchParams.set('clientName', 'Your bank')
    forged.searchParams.set('clientUri', 'https://bank.test')
    const answer = await auth.send('GET', forged.href)
    expect(queryOf(answer.headers.get('location'))).toMatchObject({
      clientName: 'The shop',
      clientUri: shop.walletAddress
    })
  })

  it('gets answers that are not kept, framed, or told to others', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const answer = await auth.send('GET', grant.redirect)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'")
    })
  })

  it.each([
    ['an unknown interaction', `${PUBLIC_URL}interact/${NOBODY}/nonce`],
    ['a malformed id', `${PUBLIC_URL}interact/1/nonce`]
  ])('cannot start %s: 404 unknown_interaction', async (_name, url) => {
    expect(await auth.send('GET', url)).toMatchObject({
      status: 404,
      body: { error: { code: 'unknown_interaction' } }
    })
  })

  it('cannot start an interaction without its nonce: 404 unknown_interaction', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const answer = await auth.send('GET', `${PUBLIC_URL}interact/${grant.interactionId}/other`)
    expect(answer).toMatchObject({ status: 404, body: { error: { code: 'unknown_interaction' } } })
  })

  it('can only finish what it started: 401 invalid_request otherwise', async () => {
    const [grant, other] = [await requestPendingGrant(auth, shop), await requestPendingGrant(auth, shop)]
    await decide(auth, grant, 'accept')
    const cookies = ['', 'interaction=', 'interaction=wrong', await startInBrowser(auth, other)]
    for (const cookie of cookies) {
      expect(await auth.send('GET', finishUrl(grant), { cookie })).toMatchObject({
        status: 401,
        body: { error: { code: 'invalid_request', description: 'invalid session' } }
      })
    }
  })

  it('goes back with result=grant_rejected when the account holder declined', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, 'reject')
    const answer = await auth.send('GET', finishUrl(grant), { cookie })
    expect(answer.status).toBe(303)
    expect(queryOf(answer.headers.get('location'))).toEqual({ order: '7', result: 'grant_rejected' })
  })

  it('goes back with result=grant_invalid when nobody decided', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const answer = await finishInBrowser(auth, grant)
    expect(queryOf(answer.headers.get('location'))).toEqual({ order: '7', result: 'grant_invalid' })
  })

  it('goes back with what became of it when it starts an interaction that is over', async () => {
    const [expired, cancelled, rejected, accepted] = await Promise.all([
      requestPendingGrant(auth, shop),
      requestPendingGrant(auth, shop),
      requestPendingGrant(auth, shop),
      requestPendingGrant(auth, shop)
    ])
    await shop.request('DELETE', cancelled.continueUri, { accessToken: cancelled.continuationToken })
    await decide(auth, rejected, 'reject')
    await decide(auth, accepted, 'accept')
    const start = (grant: typeof expired) => auth.send('GET', grant.redirect)
    // The client must not be told that an approved grant was declined.
    expect(await start(accepted)).toMatchObject({ status: 403 })
    auth.clock.advanceSeconds(600)
    for (const [grant, result] of [
      [expired, 'grant_invalid'],
      // An approval that was not continued in time is void.
      [accepted, 'grant_invalid'],
      [cancelled, 'grant_invalid'],
      [rejected, 'grant_rejected']
    ] as const) {
      const answer = await start(grant)
      expect(queryOf(answer.headers.get('location'))).toEqual({ order: '7', result })
      expect(answer.headers.get('set-cookie')).toBeNull()
    }
  })

  it('goes back with result=grant_invalid when the client cancelled meanwhile, even after consent', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, 'accept')
    await shop.request('DELETE', grant.continueUri, { accessToken: grant.continuationToken })
    const answer = await auth.send('GET', finishUrl(grant), { cookie })
    expect(queryOf(answer.headers.get('location'))).toEqual({ order: '7', result: 'grant_invalid' })
  })

  describe('of a client that did not ask to be told', () => {
    it('is told that it is done: 202, whatever the account holder decided', async () => {
      for (const choice of ['accept', 'reject'] as const) {
        const grant = await requestPendingGrant(auth, shop, { finish: false })
        const cookie = await startInBrowser(auth, grant)
        await decide(auth, grant, choice)
        expect((await auth.send('GET', finishUrl(grant), { cookie })).status).toBe(202)
      }
    })

    it('is told 401 invalid_interaction when nobody decided', async () => {
      const grant = await requestPendingGrant(auth, shop, { finish: false })
      expect(await finishInBrowser(auth, grant)).toMatchObject({
        status: 401,
        body: { error: { code: 'invalid_interaction' } }
      })
    })

    it('is told 403 invalid_interaction when it starts an interaction that is over', async () => {
      const grant = await requestPendingGrant(auth, shop, { finish: false })
      await decide(auth, grant, 'accept')
      expect(await auth.send('GET', grant.redirect)).toMatchObject({
        status: 403,
        body: { error: { code: 'invalid_interaction' } }
      })
    })
  })

  it('lets several interactions go on side by side', async () => {
    const [one, other] = [await requestPendingGrant(auth, shop), await requestPendingGrant(auth, shop)]
    const [cookieOfOne, cookieOfOther] = [await startInBrowser(auth, one), await startInBrowser(auth, other)]
    await decide(auth, one, 'accept')
    await decide(auth, other, 'accept')
    for (const [grant, cookie] of [[one, cookieOfOne] as const, [other, cookieOfOther] as const]) {
      const answer = await auth.send('GET', finishUrl(grant), { cookie })
      expect(queryOf(answer.headers.get('location'))).toHaveProperty('interact_ref')
    }
  })

  it('may tell the client who the account holder is, without any access', async () => {
    const subject = { sub_ids: [{ id: createAccountHolder(auth), format: 'uri' }] }
    const grant = await requestPendingGrant(auth, shop, { access: false, subject, finish: false })
    const shown = await auth.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
    expect(shown.body).toMatchObject({ access: [], subject, state: 'PENDING' })
    await decide(auth, grant, 'accept')
    auth.clock.advanceSeconds(5)
    const answer = await continueGrant(shop, grant)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      subject,
      continue: { access_token: { value: grant.continuationToken }, uri: grant.continueUri }
    })
  })
})

describe('under an https public URL with a path', () => {
  it('the cookie is Secure and stays below that path', async () => {
    const auth = await startTestAuthServer({ PUBLIC_URL: 'https://wallet.test/auth/' })
    try {
      const shop = auth.createClient('shop')
      const client = auth.signWithAt(shop.key, 'https://wallet.test/auth/')
      const alice = auth.wallet.setWalletAddress('alice', { authServer: 'https://wallet.test/auth/' })
      const answer = await client.request('POST', 'https://wallet.test/auth/', {
        body: {
          client: shop.walletAddress,
          access_token: { access: [{ type: 'outgoing-payment', actions: ['create'], identifier: alice }] },
          interact: { start: ['redirect'] }
        }
      })
      const redirect = answer.textAt('interact.redirect')
      expect(redirect).toMatch(/^https:\/\/wallet\.test\/auth\/interact\//)
      const start = await auth.send('GET', redirect.replace('https://wallet.test/auth/', PUBLIC_URL))
      expect(start.headers.get('set-cookie')).toMatch(
        /^__Secure-interaction=[\w-]{43}; Max-Age=87600; Path=\/auth\/interact\/[0-9a-f-]{36}; HttpOnly; Secure; SameSite=Lax$/
      )
    } finally {
      await auth.stop()
    }
  })
})
