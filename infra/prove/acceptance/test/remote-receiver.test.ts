import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createSafeHttpClient, type SafeHttpClient } from '@open-payments-server/http-client'
import { systemRandom } from '@open-payments-server/runtime'
import {
  createClientIdentity,
  createReceiverReader,
  type ProviderGrant,
  type ReceiverReader
} from '../../../../services/resource-server/src/other-providers/index.js'
import { createReceiver } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

/** How a provider reads what it is to pay at another one: here, both are this project. */
describe('an incoming payment hosted here, as another provider reads it', () => {
  let system: System
  let http: SafeHttpClient
  let reader: ReceiverReader
  const grants = new Map<string, ProviderGrant>()

  beforeAll(async () => {
    system = await startSystem()
    http = createSafeHttpClient({
      allowPrivateNetworks: true,
      timeoutMs: 10_000,
      bodyBytesMax: 65_536,
      userAgent: 'another provider'
    })
    const { walletAddress, key } = system.market
    reader = createReceiverReader({
      http,
      identity: createClientIdentity({ walletAddress, keys: [key] }),
      store: {
        find: (authServer) => Promise.resolve(grants.get(authServer)),
        async save(authServer, grant) {
          grants.set(authServer, grant)
        },
        async forget(authServer) {
          grants.delete(authServer)
        }
      },
      clock: system.clock,
      random: systemRandom,
      timeoutMs: 20_000
    })
  })
  afterAll(async () => {
    await http.close()
    await system.stop()
  })

  it('is found with what it can receive, and how to send it', async () => {
    const { url } = await createReceiver(system, system.shop, { incoming: 2_500n })
    expect(await reader.readReceiver(url)).toEqual({
      kind: 'found',
      receiver: {
        url,
        walletAddressUrl: system.walletAddresses.bob,
        asset: { code: 'USD', scale: 2 },
        incomingValue: 2_500n,
        receivedValue: 0n,
        completed: false,
        expiresAtMs: expect.any(Number),
        credentials: { ilpAddress: expect.any(String), sharedSecret: expect.any(Buffer) }
      }
    })
  })

  it('is read with one token, which is rotated before it ends', async () => {
    const { url } = await createReceiver(system, system.shop)
    await reader.readReceiver(url)
    const [first] = grants.values()
    if (first?.expiresAtMs === undefined) throw new Error('the token has no end')
    await reader.readReceiver(url)
    expect([...grants.values()]).toEqual([first])
    system.clock.set(first.expiresAtMs - 1_000)
    expect(await reader.readReceiver(url)).toMatchObject({ kind: 'found' })
    const [second] = grants.values()
    expect(second?.accessToken).not.toBe(first.accessToken)
    expect(second?.manageUrl).not.toBe(first.manageUrl)
  })

  it('is found completed, and not found where there is none', async () => {
    const { url, token } = await createReceiver(system, system.shop)
    await system.shop.request('POST', `${url}/complete`, { accessToken: token })
    expect(await reader.readReceiver(url)).toMatchObject({
      kind: 'found',
      receiver: { completed: true, credentials: undefined }
    })
    expect(await reader.readReceiver(url.replace(/.{4}$/, '0000'))).toEqual({ kind: 'not-found' })
    expect(await reader.readReceiver(system.walletAddresses.bob)).toMatchObject({ kind: 'invalid' })
  })

  it('is read with a new token after the old one was revoked', async () => {
    const { url } = await createReceiver(system, system.shop)
    await reader.readReceiver(url)
    const [first] = grants.values()
    await system.market.request('DELETE', first?.manageUrl ?? '', { accessToken: first?.accessToken ?? '' })
    expect(await reader.readReceiver(url)).toMatchObject({ kind: 'found' })
  })
})
