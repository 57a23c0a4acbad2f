import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { type Answer, createSigningClient, createTestKey, send } from '@open-payments-server/testing'
import {
  FINISH_URI,
  interact,
  readPendingGrant,
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant
} from '../src/consent.js'
import { startSystem, type System } from '../src/system.js'

const QUOTE_ACCESS = [{ type: 'quote', actions: ['create'] }]
const TOKEN_LIFETIME_SECONDS = 600

/** The answers of the auth server that clients depend on, one by one. */
describe('the auth server answers', () => {
  let system: System
  beforeAll(async () => {
    system = await startSystem()
  })
  afterAll(() => system.stop())

  const expectError = (answer: Answer, status: number, code: string): void => {
    expect({ status: answer.status, code: answer.at('error.code') }).toEqual({ status, code })
    expect(typeof answer.at('error.description')).toBe('string')
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  }

  const requestGrant = (body: Record<string, unknown>, options: object = {}): Promise<Answer> =>
    system.shop.request('POST', system.authServerUrl, {
      body: { client: system.shop.walletAddress, ...body },
      ...options
    })
  const issued = (): Promise<Answer> => requestGrant({ access_token: { access: QUOTE_ACCESS } })
  const pending = (finish?: object): Promise<PendingGrant> =>
    requestInteractiveGrant(system, system.shop, [outgoingAccess(system)], finish)
  const withoutFinish = async (): Promise<PendingGrant> => {
    const answer = await requestGrant({
      access_token: { access: [outgoingAccess(system)] },
      interact: { start: ['redirect'] }
    })
    return readPendingGrant(answer)
  }
  const continueGrant = (grant: PendingGrant, reference?: string | null): Promise<Answer> =>
    system.shop.request('POST', grant.continueUri, {
      accessToken: grant.continuationToken,
      ...(reference === undefined ? {} : { body: { interact_ref: reference } })
    })
  const waitIsOver = (): void => {
    system.clock.advanceSeconds(6)
  }

  describe('a grant request', () => {
    it('without interaction with a token bound to nothing but what was asked for', async () => {
      const answer = await issued()
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        access_token: {
          value: expect.stringMatching(/^[A-Za-z0-9_-]{43,}$/),
          manage: expect.stringContaining(`${system.authServerUrl}token/`),
          expires_in: TOKEN_LIFETIME_SECONDS,
          access: QUOTE_ACCESS
        },
        continue: {
          access_token: { value: expect.any(String) },
          uri: expect.stringContaining(`${system.authServerUrl}continue/`)
        }
      })
      expect(answer.textAt('access_token.manage')).not.toContain(answer.textAt('access_token.value'))
    })

    it.each([
      ['as text', () => system.shop.walletAddress],
      ['as an object', () => ({ walletAddress: system.shop.walletAddress })],
      ['as a key', () => ({ jwk: system.shop.key.jwk })]
    ])('of a client given %s', async (_form, client) => {
      const answer = await system.shop.request('POST', system.authServerUrl, {
        body: { client: client(), access_token: { access: QUOTE_ACCESS } }
      })
      expect(answer.status).toBe(200)
    })

    it('that needs the account holder with where to send the browser, and when to continue', async () => {
      const answer = await requestGrant({
        access_token: { access: [outgoingAccess(system)] },
        interact: { start: ['redirect'], finish: { method: 'redirect', uri: FINISH_URI, nonce: 'n' } }
      })
      expect(answer.body).toEqual({
        interact: { redirect: expect.any(String), finish: expect.any(String) },
        continue: { access_token: { value: expect.any(String) }, uri: expect.any(String), wait: 5 }
      })
      const redirect = new URL(answer.textAt('interact.redirect'))
      expect(redirect.searchParams.get('clientName')).toBe('shop')
      expect(redirect.searchParams.get('clientUri')).toBe(system.shop.walletAddress)
    })

    it.each([
      ['an outgoing payment', () => ({ access_token: { access: [outgoingAccess(system)] } })],
      [
        'list-all',
        () => ({ access_token: { access: [{ type: 'incoming-payment', actions: ['list-all'] }] } })
      ],
      ['a subject', () => ({ subject: { sub_ids: [{ id: system.walletAddresses.alice, format: 'uri' }] } })]
    ])('for %s without interact with 400 invalid_request', async (_what, body) => {
      expectError(await requestGrant(body()), 400, 'invalid_request')
    })

    it.each([
      [
        'list-all of no wallet address',
        () => ({ access_token: { access: [{ type: 'incoming-payment', actions: ['list-all'] }] } }),
        'identifier'
      ],
      [
        'an outgoing payment from a wallet address spelled otherwise',
        () => ({
          access_token: { access: [outgoingAccess(system, undefined, `${system.walletAddresses.alice}?x=1`)] }
        }),
        'identifier'
      ],
      [
        'a subject of somewhere else',
        () => ({ subject: { sub_ids: [{ id: 'http://localhost:2/bob', format: 'uri' }] } }),
        'subject'
      ]
    ])('for %s with 400: nobody here can agree to that', async (_what, body, field) => {
      const answer = await requestGrant({ ...body(), interact: { start: ['redirect'] } })
      expectError(answer, 400, 'invalid_request')
      expect(Object.keys(answer.at('error.details') as object).join()).toContain(field)
    })

    it('without a signature with 401 invalid_client', async () => {
      expectError(
        await requestGrant({ access_token: { access: QUOTE_ACCESS } }, { unsigned: true }),
        401,
        'invalid_client'
      )
    })

    it('signed with another key under the same key id with 401 invalid_client', async () => {
      const forger = createTestKey(system.shop.key.keyId)
      const client = createSigningClient({
        keyId: forger.keyId,
        privateKey: forger.privateKey,
        clock: system.clock
      })
      const answer = await client.request('POST', system.authServerUrl, {
        body: { client: system.shop.walletAddress, access_token: { access: QUOTE_ACCESS } }
      })
      expectError(answer, 401, 'invalid_client')
    })

    it('of a client that cannot be resolved with 400 invalid_client', async () => {
      expectError(
        await requestGrant({
          client: `${system.resourceServerUrl}/nobody`,
          access_token: { access: QUOTE_ACCESS }
        }),
        400,
        'invalid_client'
      )
    })

    it('of a client whose key id is not among its keys with 400 invalid_client', async () => {
      const answer = await requestGrant(
        { access_token: { access: QUOTE_ACCESS } },
        { signature: { keyId: 'none' } }
      )
      expectError(answer, 400, 'invalid_client')
    })

    it('of a client given as a key that needs interaction with 400 invalid_client', async () => {
      const answer = await requestGrant({
        client: { jwk: system.shop.key.jwk },
        access_token: { access: [outgoingAccess(system)] },
        interact: { start: ['redirect'] }
      })
      expectError(answer, 400, 'invalid_client')
    })

    it('with a malformed field with 400 invalid_request that names it', async () => {
      const answer = await requestGrant({
        access_token: { access: [{ type: 'quote', actions: ['delete'] }] }
      })
      expectError(answer, 400, 'invalid_request')
      expect(Object.keys(answer.at('error.details') as object).join()).toContain(
        'access_token.access[0].actions'
      )
    })
  })

  describe('a continuation', () => {
    it('of an unknown id, or with the wrong token, with 401 invalid_continuation', async () => {
      const grant = await pending()
      const unknown = { ...grant, continueUri: `${system.authServerUrl}continue/${randomUUID()}` }
      expectError(await continueGrant(unknown), 401, 'invalid_continuation')
      expectError(await continueGrant({ ...grant, continuationToken: 'wrong' }), 401, 'invalid_continuation')
      const other = await pending()
      expectError(
        await continueGrant({ ...grant, continuationToken: other.continuationToken }),
        401,
        'invalid_continuation'
      )
    })

    it('signed by another client with 401 invalid_continuation', async () => {
      const grant = await pending()
      const answer = await system.market.request('POST', grant.continueUri, {
        accessToken: grant.continuationToken
      })
      expectError(answer, 401, 'invalid_continuation')
    })

    it('with a wrong interact_ref with 404 invalid_continuation', async () => {
      const grant = await pending()
      await interact(system, grant, 'accept')
      waitIsOver()
      expectError(await continueGrant(grant, 'wrong'), 404, 'invalid_continuation')
    })

    it('before the wait has passed with 400 too_fast', async () => {
      const grant = await pending()
      const finished = await interact(system, grant, 'accept')
      expectError(await continueGrant(grant, finished.searchParams.get('interact_ref')), 400, 'too_fast')
    })

    it('while pending without a finish with 200 and when to come again', async () => {
      const grant = await withoutFinish()
      waitIsOver()
      const answer = await continueGrant(grant)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        continue: {
          access_token: { value: grant.continuationToken },
          uri: grant.continueUri,
          wait: 5
        }
      })
      expectError(await continueGrant(grant), 400, 'too_fast')
      waitIsOver()
      expect((await continueGrant(grant)).status).toBe(200)
    })

    it('while pending with a finish with 401 request_denied', async () => {
      const grant = await pending()
      waitIsOver()
      expectError(await continueGrant(grant), 401, 'request_denied')
    })

    it('of a grant that the account holder declined with 401 user_denied', async () => {
      const grant = await pending()
      const finished = await interact(system, grant, 'reject')
      expect(finished.searchParams.get('result')).toBe('grant_rejected')
      expect(finished.searchParams.has('interact_ref')).toBe(false)
      waitIsOver()
      expectError(await continueGrant(grant), 401, 'user_denied')
    })

    it('of a grant that was issued already with 401 request_denied', async () => {
      const grant = await pending()
      const finished = await interact(system, grant, 'accept')
      waitIsOver()
      const reference = finished.searchParams.get('interact_ref')
      const first = await continueGrant(grant, reference)
      expect(first.status).toBe(200)
      expect(first.at('continue.access_token.value')).toBe(grant.continuationToken)
      waitIsOver()
      expectError(await continueGrant(grant, reference), 401, 'request_denied')
    })

    it('of an approved grant without finish, by polling, with the token', async () => {
      const grant = await withoutFinish()
      const started = await send('GET', grant.redirect)
      const page = new URL(started.headers.get('location') ?? '')
      const { interactId, nonce } = Object.fromEntries(page.searchParams)
      const accepted = await send(
        'POST',
        `${system.identityProviderUrl()}/grant/${String(interactId)}/${String(nonce)}/accept`,
        { 'x-idp-secret': system.identityProviderSecret }
      )
      expect(accepted.status).toBe(202)
      waitIsOver()
      const answer = await continueGrant(grant)
      expect(answer.status).toBe(200)
      expect(answer.at('access_token.access')).toEqual([outgoingAccess(system)])
    })

    it('of a subject with the subject and no token', async () => {
      const subject = { sub_ids: [{ id: system.walletAddresses.alice, format: 'uri' }] }
      const answer = await requestGrant({
        subject,
        interact: {
          start: ['redirect'],
          finish: { method: 'redirect', uri: FINISH_URI, nonce: 'client-nonce' }
        }
      })
      const grant = readPendingGrant(answer, 'client-nonce')
      const finished = await interact(system, grant, 'accept')
      waitIsOver()
      const continued = await continueGrant(grant, finished.searchParams.get('interact_ref'))
      expect(continued.at('subject')).toEqual(subject)
      expect(continued.at('access_token')).toBeUndefined()
    })
  })

  describe('the finish redirect', () => {
    it('with the hash that every client in the field compares with', async () => {
      const grant = await pending()
      const finished = await interact(system, grant, 'accept')
      const reference = finished.searchParams.get('interact_ref') ?? ''
      const hash = createHash('sha256').update(
        `${grant.clientNonce}\n${grant.serverNonce}\n${reference}\n${system.authServerUrl}`
      )
      expect(finished.searchParams.get('hash')).toBe(hash.digest('base64'))
      expect(finished.searchParams.get('order')).toBe('17')
    })

    it('with the hash of RFC 9635 when its hash_method was asked for', async () => {
      const grant = await pending({
        method: 'redirect',
        uri: FINISH_URI,
        nonce: 'client-nonce',
        hash_method: 'sha-256'
      })
      const finished = await interact(system, grant, 'accept')
      const reference = finished.searchParams.get('interact_ref') ?? ''
      const hash = createHash('sha256').update(
        `${grant.clientNonce}\n${grant.serverNonce}\n${reference}\n${system.authServerUrl}`
      )
      expect(finished.searchParams.get('hash')).toBe(hash.digest('base64url'))
    })

    it("with the client's own query as it was, to the letter", async () => {
      const uri = 'http://localhost:2/finish?next=a%20b&sig=~x(1)&flag'
      const grant = await pending({ method: 'redirect', uri, nonce: 'client-nonce' })
      const finished = await interact(system, grant, 'reject')
      expect(finished.href).toBe(`${uri}&result=grant_rejected`)
    })

    it('of an interaction that expired with grant_invalid', async () => {
      const grant = await pending()
      const started = await send('GET', grant.redirect)
      const cookie = (started.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
      system.clock.advanceSeconds(601)
      const finish = `${new URL(grant.redirect).origin}${new URL(grant.redirect).pathname}/finish`
      const finished = await send('GET', finish, { cookie })
      expect(new URL(finished.headers.get('location') ?? '').searchParams.get('result')).toBe('grant_invalid')
    })

    it('only to the browser that started the interaction', async () => {
      const grant = await pending()
      await send('GET', grant.redirect)
      const finish = `${new URL(grant.redirect).origin}${new URL(grant.redirect).pathname}/finish`
      expect((await send('GET', finish)).status).toBe(401)
    })
  })

  describe('the management of tokens', () => {
    const rotate = (manage: string, accessToken: string): Promise<Answer> =>
      system.shop.request('POST', manage, { accessToken })
    const revoke = (manage: string, accessToken: string): Promise<Answer> =>
      system.shop.request('DELETE', manage, { accessToken })

    it('of an unknown id, or with the wrong token, with 401 invalid_client', async () => {
      const token = await issued()
      const manage = token.textAt('access_token.manage')
      const unknown = `${system.authServerUrl}token/${randomUUID()}`
      for (const act of [rotate, revoke]) {
        expectError(await act(unknown, token.textAt('access_token.value')), 401, 'invalid_client')
        expectError(await act(manage, 'wrong'), 401, 'invalid_client')
      }
    })

    it('signed by another client with 401 invalid_client', async () => {
      const token = await issued()
      const answer = await system.market.request('POST', token.textAt('access_token.manage'), {
        accessToken: token.textAt('access_token.value')
      })
      expectError(answer, 401, 'invalid_client')
    })

    it('a rotation with a new value and a new address; the old ones are over', async () => {
      const token = await issued()
      const rotated = await rotate(token.textAt('access_token.manage'), token.textAt('access_token.value'))
      expect(rotated.status).toBe(200)
      expect(rotated.body).toEqual({
        access_token: {
          value: expect.any(String),
          manage: expect.any(String),
          expires_in: TOKEN_LIFETIME_SECONDS,
          access: QUOTE_ACCESS
        }
      })
      expect(rotated.textAt('access_token.value')).not.toBe(token.textAt('access_token.value'))
      expect(rotated.textAt('access_token.manage')).not.toBe(token.textAt('access_token.manage'))
      const again = await rotate(token.textAt('access_token.manage'), token.textAt('access_token.value'))
      expectError(again, 404, 'invalid_rotation')
    })

    it('a rotation of a revoked token with 404 invalid_rotation, and a repeated revocation with 204', async () => {
      const token = await issued()
      const [manage, value] = [token.textAt('access_token.manage'), token.textAt('access_token.value')]
      expect((await revoke(manage, value)).status).toBe(204)
      expect((await revoke(manage, value)).status).toBe(204)
      expectError(await rotate(manage, value), 404, 'invalid_rotation')
    })

    it('a rotation of an expired token of a living grant with a new one', async () => {
      const token = await issued()
      system.clock.advanceSeconds(TOKEN_LIFETIME_SECONDS + 1)
      const rotated = await rotate(token.textAt('access_token.manage'), token.textAt('access_token.value'))
      expect(rotated.status).toBe(200)
      const { status } = await callUnary(
        system.introspection,
        'introspect',
        { accessToken: rotated.textAt('access_token.value'), keyId: '' },
        { idempotent: true }
      )
      expect(status).toBe(1)
    })

    it('a cancelled grant with 204, again and again, and nothing can be done with its token', async () => {
      const token = await issued()
      const cancel = (): Promise<Answer> =>
        system.shop.request('DELETE', token.textAt('continue.uri'), {
          accessToken: token.textAt('continue.access_token.value')
        })
      expect((await cancel()).status).toBe(204)
      expect((await cancel()).status).toBe(204)
      const rotated = await rotate(token.textAt('access_token.manage'), token.textAt('access_token.value'))
      expectError(rotated, 404, 'invalid_rotation')
    })

    it('a cancelled pending grant with 204; the account holder can no longer accept it', async () => {
      const grant = await pending()
      const cancelled = await system.shop.request('DELETE', grant.continueUri, {
        accessToken: grant.continuationToken
      })
      expect(cancelled.status).toBe(204)
      await expect(interact(system, grant, 'accept')).rejects.toThrow()
    })
  })

  it('with the scheme GNAP in any case', async () => {
    const token = await issued()
    for (const scheme of ['gnap', 'Gnap']) {
      const answer = await system.shop.request('DELETE', token.textAt('access_token.manage'), {
        headers: { authorization: `${scheme} ${token.textAt('access_token.value')}` }
      })
      expect(answer.status).toBe(204)
    }
  })

  it('what it is: OPTIONS / and /.well-known/gnap-as-rs', async () => {
    const discovery = await send('OPTIONS', system.authServerUrl)
    expect(discovery.body).toMatchObject({
      grant_request_endpoint: system.authServerUrl,
      interaction_start_modes_supported: ['redirect'],
      interaction_finish_methods_supported: ['redirect'],
      key_proofs_supported: ['httpsig']
    })
    const forResourceServers = await send('GET', `${system.authServerUrl}.well-known/gnap-as-rs`)
    expect(forResourceServers.body).toMatchObject({ grant_request_endpoint: system.authServerUrl })
  })

  describe('the identity provider', () => {
    const idp = (
      method: string,
      path: string,
      headers: Record<string, string> = { 'x-idp-secret': system.identityProviderSecret }
    ): Promise<Answer> => send(method, `${system.identityProviderUrl()}/grant/${path}`, headers)
    const started = async (): Promise<string> => {
      const grant = await pending()
      const page = new URL((await send('GET', grant.redirect)).headers.get('location') ?? '')
      return `${page.searchParams.get('interactId') ?? ''}/${page.searchParams.get('nonce') ?? ''}`
    }

    it('with what is asked', async () => {
      const answer = await idp('GET', await started())
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({
        grantId: expect.any(String),
        access: [outgoingAccess(system)],
        state: 'PENDING'
      })
    })

    it('with 401 to a wrong secret of any length, and to none', async () => {
      const path = await started()
      for (const secret of ['x', 'x'.repeat(500), `${system.identityProviderSecret}x`]) {
        expect((await idp('GET', path, { 'x-idp-secret': secret })).status).toBe(401)
        expect((await idp('POST', `${path}/accept`, { 'x-idp-secret': secret })).status).toBe(401)
      }
      expect((await idp('GET', path, {})).status).toBe(401)
    })

    it('with 404 to an unknown interaction, and 400 to a second choice', async () => {
      expect((await idp('GET', `${randomUUID()}/nonce`)).status).toBe(404)
      const path = await started()
      expect((await idp('POST', `${path}/accept`)).status).toBe(202)
      expect((await idp('POST', `${path}/accept`)).status).toBe(400)
    })
  })
})
