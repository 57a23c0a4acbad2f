import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, createClient } from '@open-payments-server/grpc-transport'
import { auth as contract } from '@open-payments-server/proto'
import {
  CONSENT_PAGE_URL,
  PUBLIC_URL,
  startTestAuthServer,
  type TestAuthServer,
  type TestClient
} from './auth-server.js'
import {
  approve,
  CLIENT_NONCE,
  continueGrant,
  createAccountHolder,
  decide,
  FINISH_URI,
  finishUrl,
  requestGrant,
  requestPendingGrant,
  startInBrowser
} from './grants.js'

const limits = {
  interval: 'R12/2019-08-24T14:15:22Z/P1M',
  debitAmount: { value: '500', assetCode: 'USD', assetScale: 2 },
  receiveAmount: { value: '18446744073709551615', assetCode: 'EUR', assetScale: 2 }
}

describe('a client that asks for outgoing payments', () => {
  let auth: TestAuthServer
  let shop: TestClient

  beforeAll(async () => {
    auth = await startTestAuthServer()
    shop = auth.createClient('shop')
  })
  afterAll(() => auth.stop())

  it('gets a token once the account holder agreed, and can then rotate it, revoke it and cancel the grant', async () => {
    const grant = await requestPendingGrant(auth, shop, { limits })
    expect(grant.answer.status).toBe(200)
    expect(grant.answer.at('access_token')).toBeUndefined()
    expect(grant.answer.at('continue.wait')).toBe(5)
    expect(grant.answer.at('interact.finish')).toBe(grant.nonce)
    const redirect = new URL(grant.redirect)
    expect(redirect.origin).toBe('http://auth.test')
    expect(redirect.searchParams.get('clientName')).toBe('The shop')
    expect(redirect.searchParams.get('clientUri')).toBe(shop.walletAddress)

    const start = await auth.send('GET', grant.redirect)
    expect(start.status).toBe(303)
    const consentPage = new URL(start.headers.get('location') ?? '')
    expect(consentPage.origin + consentPage.pathname).toBe(CONSENT_PAGE_URL)
    expect(Object.fromEntries(consentPage.searchParams)).toEqual({
      interactId: grant.interactionId,
      nonce: grant.nonce,
      clientName: 'The shop',
      clientUri: shop.walletAddress
    })

    const access = [
      {
        type: 'outgoing-payment',
        actions: ['create', 'read'],
        identifier: createAccountHolder(auth),
        limits
      }
    ]
    const shown = await auth.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
    expect(shown).toMatchObject({
      status: 200,
      body: { access, state: 'PENDING', client: shop.walletAddress, clientName: 'The shop' }
    })
    const accepted = await decide(auth, grant, 'accept')
    expect(accepted.status).toBe(202)

    const setCookie = start.headers.get('set-cookie') ?? ''
    expect(setCookie).toMatch(
      /^interaction=[\w-]{43}; Max-Age=87600; Path=\/interact\/[0-9a-f-]{36}; HttpOnly; SameSite=Lax$/
    )
    const [cookie = ''] = setCookie.split(';')
    const finish = await auth.send('GET', finishUrl(grant), { cookie })
    expect(finish.status).toBe(303)
    const back = new URL(finish.headers.get('location') ?? '')
    const reference = back.searchParams.get('interact_ref') ?? ''
    const expectedHash = createHash('sha256')
      .update(`${CLIENT_NONCE}\n${grant.nonce}\n${reference}\n${PUBLIC_URL}`)
      .digest('base64')
    expect(back.origin + back.pathname).toBe('https://shop.test/return')
    expect(Object.fromEntries(back.searchParams)).toEqual({
      order: '7',
      hash: expectedHash,
      interact_ref: reference
    })

    auth.clock.advanceSeconds(5)
    const continued = await continueGrant(shop, grant, reference)
    expect(continued).toMatchObject({
      status: 200,
      body: {
        access_token: { expires_in: 600, access },
        continue: { access_token: { value: grant.continuationToken }, uri: grant.continueUri }
      }
    })

    const rotated = await shop.request('POST', continued.textAt('access_token.manage'), {
      accessToken: continued.textAt('access_token.value')
    })
    expect(rotated).toMatchObject({ status: 200, body: { access_token: { expires_in: 600, access } } })
    expect(rotated.textAt('access_token.value')).not.toBe(continued.textAt('access_token.value'))
    expect(rotated.textAt('access_token.manage')).not.toBe(continued.textAt('access_token.manage'))

    const revoked = await shop.request('DELETE', rotated.textAt('access_token.manage'), {
      accessToken: rotated.textAt('access_token.value')
    })
    expect(revoked.status).toBe(204)
    const cancelled = await shop.request('DELETE', grant.continueUri, {
      accessToken: grant.continuationToken
    })
    expect(cancelled.status).toBe(204)
  })

  it('has a hash in base64url when it asked for a hash method', async () => {
    const grant = await requestPendingGrant(auth, shop, { finish: { hash_method: 'sha-256' } })
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, 'accept')
    const finish = await auth.send('GET', finishUrl(grant), { cookie })
    const query = new URL(finish.headers.get('location') ?? '').searchParams
    const text = `${CLIENT_NONCE}\n${grant.nonce}\n${query.get('interact_ref') ?? ''}\n${PUBLIC_URL}`
    expect(query.get('hash')).toBe(createHash('sha256').update(text).digest('base64url'))
  })
})

describe('a setting that was changed after tokens were issued', () => {
  const access = [{ type: 'incoming-payment', actions: ['create'] }]
  let before: TestAuthServer
  let after: TestAuthServer
  let shop: TestClient
  let alice: string

  beforeAll(async () => {
    before = await startTestAuthServer({
      INTERACTION_REQUIRED_FOR: 'incoming-payment:create',
      CONTINUATION_WAIT_SECONDS: '0'
    })
    after = await startTestAuthServer({ DATABASE_URL: before.database.url })
    shop = before.createClient('shop')
    alice = createAccountHolder(before)
  })
  afterAll(async () => {
    await after.stop()
    await before.stop()
  })

  /** The account holder of a token, as read by a server that has not cached the token. */
  const consentedAt = async (auth: TestAuthServer, token: string): Promise<string> => {
    const client = createClient(contract.IntrospectionServiceClient, {
      target: `127.0.0.1:${String(auth.server.grpcPort)}`,
      deadlineMs: 20_000,
      retriesMax: 0,
      messageBytesMax: 1 << 20
    })
    const worth = await callUnary(
      client,
      'introspect',
      { accessToken: token, keyId: '' },
      { idempotent: false }
    )
    client.close()
    expect(worth.status).toBe(contract.TokenStatus.TOKEN_STATUS_ACTIVE)
    return worth.consentedWalletAddress
  }

  it('does not take away the consent that an old token has', async () => {
    const grant = await requestGrant(shop, {
      client: shop.walletAddress,
      access_token: { access: access.map((item) => ({ ...item, identifier: alice })) },
      interact: {
        start: ['redirect'],
        finish: { method: 'redirect', uri: FINISH_URI, nonce: CLIENT_NONCE }
      }
    })
    const continued = await continueGrant(shop, grant, await approve(before, grant))
    const token = continued.textAt('access_token.value')
    expect(await Promise.all([before, after].map((auth) => consentedAt(auth, token)))).toEqual([alice, alice])
  })

  it('does not give an old token consent that it never had', async () => {
    const granted = await after.signWith(shop.key).request('POST', PUBLIC_URL, {
      body: {
        client: shop.walletAddress,
        access_token: { access: access.map((item) => ({ ...item, identifier: alice })) }
      }
    })
    const token = granted.textAt('access_token.value')
    expect(await Promise.all([before, after].map((auth) => consentedAt(auth, token)))).toEqual(['', ''])
  })
})
