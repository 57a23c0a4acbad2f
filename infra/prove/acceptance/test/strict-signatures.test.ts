import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startSystem, type System } from '../src/system.js'

describe('with SIGNATURE_TAG_REQUIRED (RFC 9635 §7.3.1)', () => {
  let system: System

  beforeAll(async () => {
    const settings = { SIGNATURE_TAG_REQUIRED: 'true' }
    system = await startSystem({ auth: settings, resource: settings })
  })
  afterAll(() => system.stop())

  const ask = (signature: { tag?: string }) =>
    system.shop.request('POST', system.authServerUrl, {
      body: {
        client: system.shop.walletAddress,
        access_token: { access: [{ type: 'incoming-payment', actions: ['list'] }] }
      },
      signature
    })

  it('the auth server accepts only signatures with the tag gnap', async () => {
    expect((await ask({ tag: 'gnap' })).status).toBe(200)
    for (const signature of [{}, { tag: 'other' }, { tag: 'GNAP' }]) {
      expect(await ask(signature)).toMatchObject({
        status: 401,
        body: { error: { code: 'invalid_client', description: 'invalid signature: tag must be "gnap"' } }
      })
    }
  })

  it('the resource server accepts only signatures with the tag gnap', async () => {
    const accessToken = (await ask({ tag: 'gnap' })).textAt('access_token.value')
    const wallet = encodeURIComponent(system.walletAddresses.bob)
    const url = `${system.resourceServerUrl}/incoming-payments?wallet-address=${wallet}`
    const read = (signature: { tag?: string }) => system.shop.request('GET', url, { accessToken, signature })
    expect((await read({ tag: 'gnap' })).status).toBe(200)
    for (const signature of [{}, { tag: 'other' }, { tag: 'GNAP' }]) {
      expect(await read(signature)).toMatchObject({
        status: 401,
        body: { error: { description: 'Signature validation error: tag must be "gnap"' } }
      })
    }
  })
})
