import { randomUUID } from 'node:crypto'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { afterEach, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from './auth-server.js'
import { issueGrant } from './grants.js'

let auth: TestAuthServer | undefined

afterEach(async () => {
  await auth?.stop()
  auth = undefined
})

describe('marks of nonces', () => {
  it('are left by no request beyond the limit of its client', async () => {
    const marks: string[] = []
    const store = createInProcessStore()
    const sharedStore = {
      ...store,
      markOnce: (key: string) => {
        marks.push(key)
        return Promise.resolve(true)
      }
    }
    auth = await startTestAuthServer(
      { RATE_LIMITS: 'true', RATE_LIMIT_CLIENT_REQUESTS: '2' },
      { sharedStore }
    )
    const shop = auth.createClient('shop')
    const token = await issueGrant(shop)
    const signed = () => ({ signature: { nonce: randomUUID() } })
    const ask = (): Promise<number> =>
      shop
        .request('POST', PUBLIC_URL, { body: quoteGrant(shop.walletAddress), ...signed() })
        .then(({ status }) => status)
    const revoke = (): Promise<number> =>
      shop
        .request('DELETE', token.textAt('access_token.manage'), {
          accessToken: token.textAt('access_token.value'),
          ...signed()
        })
        .then(({ status }) => status)

    // The first request carried no nonce.
    expect([await ask(), await ask(), await ask()]).toEqual([200, 429, 429])
    expect(marks).toHaveLength(1)
    expect([await revoke(), await revoke(), await revoke(), await revoke()]).toEqual([204, 204, 429, 429])
    expect(marks).toHaveLength(3)
    await store.close()
  })
})

function quoteGrant(client: unknown): Record<string, unknown> {
  return { client, access_token: { access: [{ type: 'quote', actions: ['create'] }] } }
}
