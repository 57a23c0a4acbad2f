import { randomUUID } from 'node:crypto'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { afterEach, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from './auth-server.js'
import { issueGrant, outgoingPaymentRequest } from './grants.js'

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

describe('an identifier', () => {
  it('has at most 256 characters unless it is hosted here: what is refused is named, and not stored', async () => {
    auth = await startTestAuthServer(({ origin }) => ({ WALLET_ADDRESS_ORIGINS: origin }))
    const { wallet, database } = auth
    const shop = auth.createClient('shop')
    const elsewhere = (length: number): string => 'https://elsewhere.example/'.padEnd(length, 'a')
    const longName = 'a'.repeat(300)
    const hosted = wallet.setWalletAddress(longName, { authServer: PUBLIC_URL })
    const receiver = wallet.setDocument(`/incoming-payments/${longName}`, {
      receivedAmount: { value: '0', assetCode: 'USD', assetScale: 2 }
    })
    const ask = async (changed: object): Promise<{ status: number; fields: string[] }> => {
      const body = { ...outgoingPaymentRequest(shop.walletAddress, hosted), ...changed }
      const answer = await shop.request('POST', PUBLIC_URL, { body })
      return { status: answer.status, fields: Object.keys((answer.at('error.details') ?? {}) as object) }
    }
    const access = (item: object) => ({ access_token: { access: [item] } })
    const incoming = (identifier: string) =>
      access({ type: 'incoming-payment', actions: ['create'], identifier })
    const paying = (to: string) =>
      access({ type: 'outgoing-payment', actions: ['create'], identifier: hosted, limits: { receiver: to } })
    const fits = { status: 200, fields: [] }
    const refused = (field: string) => ({ status: 400, fields: [field] })

    expect(await ask({})).toEqual(fits)
    expect(await ask(incoming(elsewhere(256)))).toEqual(fits)
    expect(await ask(incoming(elsewhere(257)))).toEqual(refused('access_token.access[0].identifier'))
    expect(await ask(incoming(hosted))).toEqual(fits)
    // Below our own origin, and made up.
    expect(await ask(incoming(`${hosted}b`))).toEqual(refused('access_token.access[0].identifier'))
    expect(await ask(paying(receiver))).toEqual(fits)
    expect(await ask(paying(`${receiver}b`))).toEqual(refused('access_token.access[0].limits.receiver'))
    expect(await ask({ subject: { sub_ids: [{ id: elsewhere(257), format: 'uri' }] } })).toEqual(
      refused('subject.sub_ids[0].id')
    )
    const [stored] = await database.query<{ count: number }>(
      'select count(*)::integer as count from grant_request'
    )
    expect(stored?.count).toBe(4)
  })
})
