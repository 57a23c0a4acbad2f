import { createServer } from 'node:net'
import {
  createAuthenticatedClient,
  isFinalizedGrantWithAccessToken,
  isPendingGrant
} from '@interledger/open-payments'
import { createTestKey, RunningTestClock, send } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startTestAuthServer, type TestAuthServer } from './auth-server.js'

/** The official client reaches the server under its public URL, so the port must be known beforehand. */
async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}

describe('the official Open Payments client, validating every answer', () => {
  let auth: TestAuthServer
  let publicUrl: string
  const key = createTestKey('shop-key')

  beforeAll(async () => {
    const port = String(await findFreePort())
    publicUrl = `http://127.0.0.1:${port}/`
    auth = await startTestAuthServer(
      { PUBLIC_URL: publicUrl, HTTP_PORT: port, CONTINUATION_WAIT_SECONDS: '0' },
      // The client signs with the system's clock.
      { clock: new RunningTestClock() }
    )
  })
  afterAll(() => auth.stop())

  const createClient = () =>
    createAuthenticatedClient({
      walletAddressUrl: auth.wallet.setWalletAddress('shop', { keys: [key.jwk] }),
      keyId: key.keyId,
      privateKey: key.privateKey,
      useHttp: true,
      logLevel: 'silent'
    })

  it('gets a token at once for incoming payments, rotates it and revokes it', async () => {
    const client = await createClient()
    const grant = await client.grant.request(
      { url: publicUrl },
      {
        access_token: {
          access: [{ type: 'incoming-payment', actions: ['create', 'read-all', 'list', 'complete'] }]
        }
      }
    )
    if (!isFinalizedGrantWithAccessToken(grant)) throw new Error('expected a token')
    const token = { url: grant.access_token.manage, accessToken: grant.access_token.value }
    const rotated = await client.token.rotate(token)
    expect(rotated.access_token.value).not.toBe(grant.access_token.value)
    const next = { url: rotated.access_token.manage, accessToken: rotated.access_token.value }
    await client.token.revoke(next)
    await expect(client.token.rotate(next)).rejects.toMatchObject({ status: 404, code: 'invalid_rotation' })
  })

  it('asks for consent, continues, and cancels', async () => {
    const client = await createClient()
    const alice = auth.wallet.setWalletAddress('alice', { authServer: publicUrl })
    const grant = await client.grant.request(
      { url: publicUrl },
      {
        access_token: {
          access: [
            {
              type: 'outgoing-payment',
              actions: ['create', 'read', 'list'],
              identifier: alice,
              limits: {
                interval: 'R12/2019-08-24T14:15:22Z/P1M',
                debitAmount: { value: '500', assetCode: 'USD', assetScale: 2 }
              }
            }
          ]
        },
        interact: {
          start: ['redirect'],
          finish: { method: 'redirect', uri: 'https://shop.test/return', nonce: 'abc' }
        }
      }
    )
    if (!isPendingGrant(grant)) throw new Error('expected an interaction')
    const start = await send('GET', grant.interact.redirect)
    const cookie = (start.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const path = new URL(grant.interact.redirect).pathname.replace('/interact/', '/grant/')
    expect((await auth.identityProvider('POST', `${path}/accept`)).status).toBe(202)
    const { origin, pathname } = new URL(grant.interact.redirect)
    const finish = await send('GET', `${origin}${pathname}/finish`, { cookie })
    const reference = new URL(finish.headers.get('location') ?? '').searchParams.get('interact_ref') ?? ''
    const continuation = { url: grant.continue.uri, accessToken: grant.continue.access_token.value }
    const continued = await client.grant.continue(continuation, { interact_ref: reference })
    expect(continued).toMatchObject({ access_token: { access: [{ identifier: alice }] } })
    await client.grant.cancel(continuation)
    await expect(client.grant.continue(continuation, { interact_ref: reference })).rejects.toMatchObject({
      status: 401,
      code: 'request_denied'
    })
  })

  it('asks for the subject alone', async () => {
    const client = await createClient()
    const alice = auth.wallet.setWalletAddress('alice', { authServer: publicUrl })
    const grant = await client.grant.request(
      { url: publicUrl },
      { subject: { sub_ids: [{ id: alice, format: 'uri' }] }, interact: { start: ['redirect'] } }
    )
    if (!isPendingGrant(grant)) throw new Error('expected an interaction')
    const continuation = { url: grant.continue.uri, accessToken: grant.continue.access_token.value }
    const pending = await client.grant.continue(continuation)
    expect(pending).toEqual({ continue: expect.objectContaining({ wait: 0 }) })
    const path = new URL(grant.interact.redirect).pathname.replace('/interact/', '/grant/')
    await auth.identityProvider('POST', `${path}/accept`)
    const continued = await client.grant.continue(continuation)
    expect(continued).toMatchObject({ subject: { sub_ids: [{ id: alice, format: 'uri' }] } })
    expect(continued).not.toHaveProperty('access_token')
  })
})
