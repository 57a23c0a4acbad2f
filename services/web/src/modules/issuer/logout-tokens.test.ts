import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import { type Configuration, type CustomFetch } from 'openid-client'
import { ServiceAway } from '../../domain/grant.js'
import { createLogoutTokens, type LogoutTokens } from './logout-tokens.js'

const ISSUER = 'https://login.wallet.test'
const NOW_SECONDS = 1_767_225_600
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const CLAIMS = {
  iss: ISSUER,
  aud: 'pages',
  iat: NOW_SECONDS - 1,
  exp: NOW_SECONDS + 60,
  jti: 'one',
  sid: 'session-1',
  events: { [EVENT]: {} }
}

describe('a logout token', () => {
  let keys: Awaited<ReturnType<typeof generateKeyPair>>
  let other: Awaited<ReturnType<typeof generateKeyPair>>
  let tokens: LogoutTokens
  const verifying = (fetch: CustomFetch): LogoutTokens => {
    const configuration = { serverMetadata: () => ({ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks` }) }
    return createLogoutTokens(
      { issuer: ISSUER, clientId: 'pages', fetch, clock: { now: () => NOW_SECONDS * 1_000 } },
      () => Promise.resolve(configuration as unknown as Configuration)
    )
  }
  beforeAll(async () => {
    ;[keys, other] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')]
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'key', alg: 'ES256' }
    tokens = verifying(() => Promise.resolve(Response.json({ keys: [jwk] })))
  })
  const sign = (changes: JWTPayload, header: Partial<JWTHeaderParameters> = {}, key = keys.privateKey) => {
    const claims = Object.fromEntries(
      Object.entries({ ...CLAIMS, ...changes }).filter(([, value]) => value !== undefined)
    )
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'key', typ: 'logout+jwt', ...header })
      .sign(key)
  }

  it('of the issuer tells which of its sessions has ended', async () => {
    expect(await tokens.verify(await sign({}))).toBe('session-1')
    expect(await tokens.verify(await sign({}, { typ: undefined as unknown as string }))).toBe('session-1')
  })

  it.each<[string, JWTPayload, Partial<JWTHeaderParameters>?]>([
    ['of another issuer', { iss: 'https://login.evil.test' }],
    ['for another client', { aud: 'console' }],
    ['that is old', { iat: NOW_SECONDS - 600, exp: undefined }],
    ['that is over', { exp: NOW_SECONDS - 100 }],
    ['of the future', { iat: NOW_SECONDS + 600 }],
    ['without a time', { iat: undefined }],
    ['that names no session', { sid: undefined }],
    ['without an id', { jti: undefined }],
    ['about something else', { events: { 'https://example.test/other': {} } }],
    ['about nothing', { events: undefined }],
    ['with a nonce, as ID tokens have', { nonce: 'any' }],
    ['of another kind', {}, { typ: 'at+jwt' }],
    ['by an unknown key', {}, { kid: 'other' }]
  ])('%s tells nothing', async (...[, changes, header]) => {
    expect(await tokens.verify(await sign(changes, header))).toBeUndefined()
  })

  it('that somebody else signed tells nothing', async () => {
    expect(await tokens.verify(await sign({}, {}, other.privateKey))).toBeUndefined()
    const secret = new TextEncoder().encode('a-secret-that-anybody-may-have-chosen')
    const symmetric = await new SignJWT(CLAIMS).setProtectedHeader({ alg: 'HS256', kid: 'key' }).sign(secret)
    expect(await tokens.verify(symmetric)).toBeUndefined()
    for (const text of ['', 'x', 'a.b.c', 'x'.repeat(10_000)])
      expect(await tokens.verify(text)).toBeUndefined()
  })

  it('by a key that the issuer just began with counts, and keys are not fetched for each that nobody has', async () => {
    let published = keys.publicKey
    let fetched = 0
    const rotated = verifying(async () => {
      fetched += 1
      return Response.json({
        keys: [{ ...(await exportJWK(published)), kid: `key-${String(fetched)}`, alg: 'ES256' }]
      })
    })
    const nowMs = Date.now()
    const now = jest.spyOn(Date, 'now').mockReturnValue(nowMs)
    try {
      expect(await rotated.verify(await sign({}, { kid: 'key-1' }))).toBe('session-1')
      published = other.publicKey
      for (let sent = 0; sent < 10; sent += 1)
        expect(await rotated.verify(await sign({}, { kid: 'nobody' }))).toBeUndefined()
      expect(fetched).toBe(1)
      now.mockReturnValue(nowMs + 1_001)
      expect(await rotated.verify(await sign({}, { kid: 'key-2' }, other.privateKey))).toBe('session-1')
      expect(fetched).toBe(2)
    } finally {
      now.mockRestore()
    }
  })

  it('cannot be told from others while the keys of the issuer cannot be had', async () => {
    const token = await sign({})
    const answers: CustomFetch[] = [
      () => Promise.resolve(new Response('', { status: 500 })),
      () => Promise.resolve(Response.json({ keys: 'none' })),
      () => Promise.reject(new ServiceAway('the issuer'))
    ]
    for (const fetch of answers) await expect(verifying(fetch).verify(token)).rejects.toThrow(ServiceAway)
  })
})
