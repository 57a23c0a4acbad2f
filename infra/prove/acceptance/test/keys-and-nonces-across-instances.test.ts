import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { startTcpProxy, type TcpProxy } from '@open-payments-server/local-services'
import {
  type Answer,
  createSigningClient,
  createTestKey,
  recordStatements,
  send,
  type SignedRequestOptions,
  type SigningClient,
  type TestKey
} from '@open-payments-server/testing'
import { Redis } from 'ioredis'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { createReceiver, eventually, pay } from '../src/payments.js'
import { startSystem, type System, type TestClient } from '../src/system.js'

const withRedis = process.env.TEST_REDIS_URL === undefined ? describe.skip : describe

/** A Redis database that no other test uses, because it is emptied here. */
const REDIS_DATABASE = 9
const INSTANCES = [0, 1] as const
/** CLIENT_KEYS_CACHE_SECONDS and INTROSPECTION_CACHE_SECONDS together. */
const KEY_REMOVAL_SECONDS = 60 + 30
/** SIGNATURE_FUTURE_MAX_SECONDS, and one more since signatures are dated in whole seconds. */
const LOST_MARKS_SECONDS = 30 + 1

/** A token, and what its client needs to end it. */
interface Issued {
  readonly token: string
  readonly manage: string
  readonly continueUri: string
  readonly continuationToken: string
}

withRedis('across two instances of each service and one Redis, which need Redis (TEST_REDIS_URL),', () => {
  let redisUrl: string
  let proxy: TcpProxy
  let system: System
  /** The client `shop`, at each of the instances. */
  let shop: readonly SigningClient[]
  let payment: { token: string; receiver: string }

  beforeAll(async () => {
    const url = Object.assign(new URL(process.env.TEST_REDIS_URL ?? ''), {
      pathname: `/${String(REDIS_DATABASE)}`
    })
    redisUrl = url.href
    proxy = await startTcpProxy(redisUrl)
    const settings = { REDIS_URL: proxy.url }
    system = await startSystem({ instanceCount: 2, auth: settings, resource: settings })
    shop = signAtEach(system.shop.key)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    payment = { token, receiver: (await createReceiver(system, system.shop)).url }
  })
  afterAll(async () => {
    await system.stop()
    await proxy.stop()
  })

  /** A client that signs with a key, at each of the instances. */
  function signAtEach(key: TestKey): readonly SigningClient[] {
    return INSTANCES.map((instance) =>
      createSigningClient({
        keyId: key.keyId,
        privateKey: key.privateKey,
        clock: system.clock,
        connect(text) {
          const url = new URL(text)
          const isAuth = url.origin === new URL(system.authServerUrl).origin
          const instances = isAuth ? system.authServers : system.resourceServers
          url.port = String(instances[instance]?.httpPort)
          return url.href
        }
      })
    )
  }

  const ask = (client: SigningClient, options: SignedRequestOptions = {}, { walletAddress } = system.shop) =>
    client.request('POST', system.authServerUrl, {
      body: {
        client: walletAddress,
        access_token: { access: [{ type: 'incoming-payment', actions: ['create', 'list'] }] }
      },
      ...options
    })

  const issue = async (client: SigningClient, holder?: TestClient): Promise<Issued> => {
    const answer = await ask(client, {}, holder)
    return {
      token: answer.textAt('access_token.value'),
      manage: answer.textAt('access_token.manage'),
      continueUri: answer.textAt('continue.uri'),
      continuationToken: answer.textAt('continue.access_token.value')
    }
  }

  const read = (client: SigningClient, token: string, signature = {}): Promise<Answer> => {
    const wallet = encodeURIComponent(system.walletAddresses.bob)
    const url = `${system.resourceServerUrl}/incoming-payments?wallet-address=${wallet}`
    return client.request('GET', url, { accessToken: token, signature })
  }

  /** The answer of each instance of the resource server to a client with a token. */
  const statusesOf = async (clients: readonly SigningClient[], token: string): Promise<number[]> =>
    (await Promise.all(clients.map((client) => read(client, token)))).map(({ status }) => status)

  const isRefusedEverywhere = async (token: string): Promise<boolean> =>
    (await statusesOf(shop, token)).every((status) => status === 403)

  /** Waits until both instances have cached the token, and no longer ask the auth server. */
  const remembered = async (token: string): Promise<void> => {
    await eventually('both instances remember a token', async () => {
      await statusesOf(shop, token)
      const records = system.runningAuthServers.map(({ pool }) => recordStatements(pool))
      const statuses = await statusesOf(shop, token)
      for (const record of records) record.stop()
      return (
        records.every(({ statements }) => statements.length === 0) && !statuses.some((one) => one !== 200)
      )
    })
  }

  const revoke = (client: SigningClient, { manage, token }: Issued) =>
    client.request('DELETE', manage, { accessToken: token })
  const cancel = (client: SigningClient, { continueUri, continuationToken }: Issued) =>
    client.request('DELETE', continueUri, { accessToken: continuationToken })
  const rotate = (client: SigningClient, { manage, token }: Issued) =>
    client.request('POST', manage, { accessToken: token })

  it('a nonce accepted by one is refused by the other', async () => {
    const { token } = await issue(shop[0]!)
    const nonce = randomUUID()
    expect((await read(shop[0]!, token, { nonce })).status).toBe(200)
    expect((await read(shop[1]!, token, { nonce })).status).toBe(401)
    expect((await ask(shop[1]!, { signature: { nonce } })).status).toBe(200)
    expect((await ask(shop[0]!, { signature: { nonce } })).status).toBe(401)
  })

  it.each([
    ['revoked', revoke, 204],
    ['rotated', rotate, 200],
    ['cancelled with its grant', cancel, 204]
  ])('a token that both remember and that is %s at one is refused by both', async (_how, end, status) => {
    const issued = await issue(shop[0]!)
    await remembered(issued.token)
    expect((await end(shop[1]!, issued)).status).toBe(status)
    await eventually('both refuse the token', () => isRefusedEverywhere(issued.token))
  })

  it('a removed key is refused by all within the stated time, and a new one accepted', async () => {
    const { market } = system
    const atEach = signAtEach(market.key)
    const issued = await issue(atEach[0]!, market)
    await Promise.all(atEach.map((client) => ask(client, {}, market)))
    expect(await statusesOf(atEach, issued.token)).toEqual([200, 200])
    const newKey = createTestKey('market-key-2')
    const { walletAddress } = market
    const call = { idempotent: false }
    await callUnary(system.operator, 'revokeClientKey', { walletAddress, kid: market.key.keyId }, call)
    await callUnary(
      system.operator,
      'addClientKey',
      { walletAddress, kid: newKey.keyId, x: newKey.jwk.x },
      call
    )

    system.clock.advanceSeconds(KEY_REMOVAL_SECONDS)
    expect(await statusesOf(atEach, issued.token)).toEqual([401, 401])
    for (const client of atEach) {
      expect((await rotate(client, issued)).status).toBe(401)
      expect((await cancel(client, issued)).status).toBe(401)
      expect((await ask(client, {}, market)).status).toBe(400)
    }
    const withNewKey = signAtEach(newKey)
    expect(await statusesOf(withNewKey, issued.token)).toEqual([200, 200])
    expect((await rotate(withNewKey[1]!, issued)).status).toBe(200)
  })

  it.each<[string, () => Promise<void>]>([
    ['is away', () => proxy.refuse()],
    [
      'answers nothing',
      () => {
        proxy.hang()
        return Promise.resolve()
      }
    ]
  ])(
    'while Redis %s, what cannot be told is answered 503, no token outlives its end, and all else goes on',
    async (_how, fail) => {
      const [revoked, rotated] = [await issue(shop[0]!), await issue(shop[0]!)]
      await Promise.all([remembered(revoked.token), remembered(rotated.token)])
      await fail()

      const unknown = await Promise.all(
        shop.flatMap((client) => [
          read(client, revoked.token, { nonce: randomUUID() }),
          ask(client, { signature: { nonce: randomUUID() } }),
          revoke(client, revoked)
        ])
      )
      for (const { status, headers } of unknown) {
        expect([status, headers.get('retry-after')]).toEqual([503, '1'])
      }
      const { token } = await issue(shop[1]!)
      expect(await statusesOf(shop, token)).toEqual([200, 200])
      expect((await rotate(shop[1]!, rotated)).status).toBe(200)
      expect((await pay(system, system.shop, payment.token, payment.receiver, 1n)).status).toBe(201)
      await eventually('both refuse what was revoked', () => isRefusedEverywhere(revoked.token))
      await eventually('both refuse what was rotated', () => isRefusedEverywhere(rotated.token))
      expect(await readiness()).toEqual([200, 200, 200, 200])

      await proxy.restore()
      await eventually('a nonce is taken again', async () => {
        const answers = await Promise.all(
          shop.flatMap((client) => [
            read(client, token, { nonce: randomUUID() }),
            ask(client, { signature: { nonce: randomUUID() } })
          ])
        )
        return answers.every(({ status }) => status === 200)
      })
      await eventually(
        'the revocation can be told',
        async () => (await revoke(shop[1]!, revoked)).status === 204
      )
      await remembered(token)
    }
  )

  it('no nonce is accepted twice after Redis lost its data: nonces are refused until older ones have expired', async () => {
    const { token } = await issue(shop[0]!)
    const used = { nonce: randomUUID(), createdSeconds: Math.floor(system.clock.now() / 1_000) }
    expect((await read(shop[0]!, token, used)).status).toBe(200)
    expect((await ask(shop[0]!, { signature: used })).status).toBe(200)
    const redis = new Redis(redisUrl)
    await redis.flushdb()
    redis.disconnect()

    for (const client of shop) {
      // 401 once the refused request has set the mark again itself.
      expect([401, 503]).toContain((await read(client, token, used)).status)
      expect([401, 503]).toContain((await ask(client, { signature: used })).status)
      expect((await read(client, token, { nonce: randomUUID() })).status).toBe(503)
      expect((await read(client, token)).status).toBe(200)
    }
    system.clock.advanceSeconds(LOST_MARKS_SECONDS)
    for (const client of shop) {
      expect((await read(client, token, used)).status).toBe(401)
      expect((await read(client, token, { nonce: randomUUID() })).status).toBe(200)
      expect((await ask(client, { signature: { nonce: randomUUID() } })).status).toBe(200)
    }
  })

  /** Readiness of all instances: those of the resource server, then those of the auth server. */
  async function readiness(): Promise<number[]> {
    const urls = [
      ...system.resourceServers.map(({ httpPort }) => `http://localhost:${String(httpPort)}/readyz`),
      ...system.authServers.map(
        ({ identityProviderPort }) => `http://127.0.0.1:${String(identityProviderPort)}/readyz`
      )
    ]
    return (await Promise.all(urls.map((url) => send('GET', url)))).map(({ status }) => status)
  }
})
