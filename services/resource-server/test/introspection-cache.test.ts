import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Answer, createTestKey, type TestKey } from '@open-payments-server/testing'
import type { TestToken } from './support/fake-auth-server.js'
import {
  ALICE,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer
} from './support/resource-server.js'

const ACCESS = [{ type: 'incoming-payment' as const, actions: ['list'] }]
const LIST = `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`

let service: TestResourceServer
let shop: TestClient
let token: TestToken

beforeEach(async () => {
  service = await startTestResourceServer()
  shop = service.createClient('shop')
  token = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS })
})
afterEach(() => service.stop())

const statusOfRequest = async (): Promise<number> =>
  (await shop.request(ACCESS, 'GET', LIST, { accessToken: token.accessToken })).status

/** Repeats a request until the answer is as expected, because stream messages arrive a moment later. */
async function eventually(expected: number, timeoutMs = 5_000): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const status = await statusOfRequest()
    if (status === expected) return
    if (Date.now() > deadline) throw new Error(`still ${String(status)} and not ${String(expected)}`)
  }
}

/** Waits until requests are answered without asking the auth server, or asking it every time. */
async function untilCaching(caching: boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  for (;;) {
    const before = service.auth.introspections
    await statusOfRequest()
    await statusOfRequest()
    if (service.auth.introspections - before < 2 === caching) return
    if (Date.now() > deadline) throw new Error(`caching is not ${String(caching)}`)
  }
}

describe('what is known of a token', () => {
  it('is asked once while revocations are streamed', async () => {
    for (let count = 0; count < 5; count += 1) expect(await statusOfRequest()).toBe(200)
    expect(service.auth.introspections).toBe(1)
  })

  it('is asked again when it gets old, and when the token expires', async () => {
    await statusOfRequest()
    service.clock.advanceSeconds(30)
    await statusOfRequest()
    expect(service.auth.introspections).toBe(2)
    token.expiresAt = new Date(service.clock.now() + 5_000)
    service.clock.advanceSeconds(30)
    await statusOfRequest()
    await statusOfRequest()
    expect(service.auth.introspections).toBe(4)
  })

  it('is asked again when the clock was set back, and not used for longer', async () => {
    await statusOfRequest()
    service.clock.advanceSeconds(-900)
    await statusOfRequest()
    expect(service.auth.introspections).toBe(2)
  })

  it('is void as soon as the token is revoked', async () => {
    expect(await statusOfRequest()).toBe(200)
    await service.auth.revokeToken(token)
    await eventually(403)
  })

  it('is void as soon as the token is revoked together with others', async () => {
    const others = Array.from({ length: 2 }, () =>
      service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS })
    )
    for (const one of [token, ...others]) {
      token = one
      expect(await statusOfRequest()).toBe(200)
    }
    const all = [...others, token]
    await service.auth.revokeTokens(all)
    for (const one of all) {
      token = one
      await eventually(403)
    }
  })

  it('is void as soon as its grant is revoked', async () => {
    expect(await statusOfRequest()).toBe(200)
    await service.auth.revokeGrant(token.grantId)
    await eventually(403)
  })

  it('is not kept when the revocation overtakes the answer', async () => {
    for (const revoke of [
      () => service.auth.revokeToken(token),
      () => service.auth.revokeGrant(token.grantId)
    ]) {
      token = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS })
      const witness = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS })
      const asWitness = async (): Promise<number> =>
        (await shop.request(ACCESS, 'GET', LIST, { accessToken: witness.accessToken })).status
      await asWitness()
      service.auth.beforeAnswer = async () => {
        service.auth.beforeAnswer = undefined
        await revoke()
        // Streams keep their order: once the second revocation has arrived, the first has too.
        await service.auth.revokeToken(witness)
        while ((await asWitness()) !== 403);
      }
      expect(await statusOfRequest()).toBe(200)
      expect(await statusOfRequest()).toBe(403)
    }
  })

  it('is asked every time while the stream is down, and kept again when it is back', async () => {
    await untilCaching(true)
    service.auth.setStreaming(false)
    await untilCaching(false)
    token.status = 'inactive'
    expect(await statusOfRequest()).toBe(403)
    token.status = 'active'
    service.auth.setStreaming(true)
    await untilCaching(true)
  })

  it('tells nothing of another token or another key', async () => {
    expect(await statusOfRequest()).toBe(200)
    const thief = service.createClient('thief')
    const stolen = await thief.request(ACCESS, 'GET', LIST, { accessToken: token.accessToken })
    expect(stolen.status).toBe(401)
    expect(await statusOfRequest()).toBe(200)
  })
})

describe('a key of the client', () => {
  const signedWith = ({ keyId, privateKey }: TestKey): Promise<Answer> => {
    const signature = { keyId, privateKey }
    return shop.request(ACCESS, 'GET', LIST, { accessToken: token.accessToken, signature })
  }

  it('that is new is taken at once, though another is kept, and though it was refused before', async () => {
    const newKey = createTestKey('new-key')
    expect(await statusOfRequest()).toBe(200)
    expect((await signedWith(newKey)).status).toBe(401)
    token.keys = [shop.key, newKey]
    expect((await signedWith(newKey)).status).toBe(200)
  })

  it('that was taken out is refused when the answer gets old', async () => {
    expect(await statusOfRequest()).toBe(200)
    token.keys = [createTestKey('another')]
    service.clock.advanceSeconds(29)
    expect(await statusOfRequest()).toBe(200)
    service.clock.advanceSeconds(1)
    expect(await statusOfRequest()).toBe(401)
  })

  it('that came in the place of another, under its identifier, makes us ask again once in five seconds', async () => {
    expect(await statusOfRequest()).toBe(200)
    const renewed = createTestKey(shop.key.keyId)
    token.keys = [renewed]
    expect((await signedWith(renewed)).status).toBe(401)
    expect(service.auth.introspections).toBe(1)
    service.clock.advanceSeconds(5)
    expect((await signedWith(renewed)).status).toBe(200)
    expect(service.auth.introspections).toBe(2)
    for (let count = 0; count < 3; count += 1) expect(await statusOfRequest()).toBe(401)
    expect((await signedWith(renewed)).status).toBe(200)
    expect(service.auth.introspections).toBe(2)
  })

  it('is told with 503 to be unknown while nobody can tell, and that is not kept', async () => {
    token.keys = undefined
    const answer = await signedWith(shop.key)
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
    token.keys = [shop.key]
    expect((await signedWith(shop.key)).status).toBe(200)
  })
})

describe('with INTROSPECTION_CACHE_SECONDS=0', () => {
  it('asks every time', async () => {
    await service.stop()
    service = await startTestResourceServer({ settings: { INTROSPECTION_CACHE_SECONDS: '0' } })
    shop = service.createClient('shop')
    token = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS })
    await statusOfRequest()
    await statusOfRequest()
    expect(service.auth.introspections).toBe(2)
  })
})
