import { randomUUID } from 'node:crypto'
import { createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PEER_SETTINGS } from './support/paying-peer.js'
import { BOB, type PaymentWorld, PUBLIC_URL, startPaymentWorld } from './support/payment-world.js'
import { AUTH_SERVER_URL, startTestResourceServer } from './support/resource-server.js'

const PATH = '/.well-known/pay'
const URL_OF_PROVIDER = `${PUBLIC_URL}${PATH}`

const key = createTestKey('provider')
const SETTINGS = {
  ...PEER_SETTINGS,
  PROVIDER_KEYS: JSON.stringify({
    keys: [{ ...key.privateKey.export({ format: 'jwk' }), kid: key.keyId }]
  })
}

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({ settings: SETTINGS })
})
afterAll(() => world.stop())

describe('the wallet address of the provider itself', () => {
  it('is served like any other, at the URL that it signs as, with its keys below', async () => {
    const answer = await world.send('GET', PATH)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: URL_OF_PROVIDER,
      publicName: 'wallet.test',
      assetCode: 'USD',
      assetScale: 2,
      authServer: AUTH_SERVER_URL,
      resourceServer: PUBLIC_URL
    })
    expect(answer.headers.get('cache-control')).toBe('public, max-age=60')
    expect(answer.headers.get('vary')).toContain('Accept')
    const known = { 'if-none-match': answer.headers.get('etag') ?? '' }
    expect(await world.send('GET', PATH, known)).toMatchObject({ status: 304, text: '' })
    expect(await world.send('HEAD', PATH)).toMatchObject({ status: 200, text: '' })
    const refused = await world.send('OPTIONS', PATH)
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await world.send('GET', `${PATH}/jwks.json`)).body).toEqual({ keys: [key.jwk] })
    expect((await world.send('GET', '/')).status).toBe(404)
  })

  it('keeps the asset that was created first', async () => {
    await world.operate('createAsset', { asset: { code: 'AAA', scale: 0 } })
    expect((await world.send('GET', PATH)).at('assetCode')).toBe('USD')
    const replica = await startTestResourceServer({
      settings: { ...SETTINGS, DATABASE_URL: world.database.url }
    })
    expect((await replica.send('GET', PATH)).at('assetCode')).toBe('USD')
    await replica.stop()
  })

  it.each([
    ['/incoming-payments', { walletAddress: URL_OF_PROVIDER }],
    [
      '/quotes',
      {
        walletAddress: URL_OF_PROVIDER,
        receiver: `${PUBLIC_URL}/incoming-payments/${randomUUID()}`,
        method: 'ilp'
      }
    ],
    [
      '/outgoing-payments',
      { walletAddress: URL_OF_PROVIDER, quoteId: `${PUBLIC_URL}/quotes/${randomUUID()}` }
    ]
  ])('has no payments: %s', async (path, body) => {
    const { status, body: error } = await world.request('POST', path, { body })
    expect([status, error]).toEqual([
      400,
      { error: expect.objectContaining({ code: '400', description: 'unknown wallet address' }) }
    ])
  })

  it('gives way to a wallet address without a path', async () => {
    await world.database.query(
      `insert into wallet_address (id, path, account_id) select $1, $2, account_id from wallet_address where path = '/bob'`,
      [randomUUID(), PATH]
    )
    expect((await world.send('GET', PATH)).at('id')).toBe(PUBLIC_URL)
    expect((await world.send('GET', BOB.slice(PUBLIC_URL.length))).at('id')).toBe(BOB)
  })
})

describe('where there is none', () => {
  it('without keys, it is not found', async () => {
    const service = await startTestResourceServer()
    expect((await service.send('GET', PATH)).status).toBe(404)
    await service.stop()
  })

  it('while there is no asset, it is not found, and from then on it is', async () => {
    const service = await startTestResourceServer({ settings: SETTINGS })
    await service.database.query('delete from wallet_address')
    await service.database.query('delete from account')
    expect((await service.send('GET', PATH)).status).toBe(404)
    await service.database.query(
      `insert into account (id, kind, asset_id, asset_code, asset_scale) select $1, 'outside', id, code, scale from asset where code = 'EUR'`,
      [randomUUID()]
    )
    expect((await service.send('GET', PATH)).body).toMatchObject({ id: URL_OF_PROVIDER, assetCode: 'EUR' })
    await service.stop()
  })
})
