import { createTestKey, recordStatements } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  PUBLIC_URL,
  startTestAuthServer,
  type TestAuthServer,
  type TestClient
} from '../../../test/auth-server.js'
import { createAccountHolder, outgoingPaymentRequest, requestPendingGrant } from '../../../test/grants.js'

const ITEM = 'access_token.access[0]'

describe('a grant request', () => {
  let auth: TestAuthServer
  let shop: TestClient
  let alice: string

  beforeAll(async () => {
    auth = await startTestAuthServer({ INTERACTION_REQUIRED_FOR: 'quote:create, incoming-payment:complete' })
    shop = auth.createClient('shop')
    alice = createAccountHolder(auth)
  })
  afterAll(() => auth.stop())

  const request = (body: Record<string, unknown>) => shop.request('POST', PUBLIC_URL, { body })
  const requestAccess = (...access: unknown[]) =>
    request({ client: shop.walletAddress, access_token: { access } })

  it('is answered the same whether the client is given as a text or as an object', async () => {
    const access_token = { access: [{ type: 'incoming-payment', actions: ['read-all'] }] }
    for (const client of [
      shop.walletAddress,
      { walletAddress: shop.walletAddress },
      `${shop.walletAddress}/`
    ]) {
      expect((await request({ client, access_token })).status).toBe(200)
    }
    const grants = await auth.database.query(
      'select distinct client_wallet_address as client from grant_request'
    )
    expect(grants).toEqual([{ client: shop.walletAddress }])
  })

  it('gets back exactly the access that was asked for', async () => {
    const access = [
      { type: 'incoming-payment', actions: ['create', 'read', 'read-all', 'list'], identifier: alice },
      { type: 'quote', actions: ['read'] }
    ]
    const answer = await requestAccess(...access)
    expect(answer.at('access_token.access')).toEqual(access)
  })

  it('may carry fields of RFC 9635 that are not used here', async () => {
    const answer = await request({
      client: shop.walletAddress,
      access_token: { access: [{ type: 'quote', actions: ['read'] }], label: 'one' },
      capabilities: [],
      user: 'someone'
    })
    expect(answer.status).toBe(200)
    expect(answer.at('access_token.label')).toBeUndefined()
  })

  it.each([
    [
      'an outgoing payment',
      { type: 'outgoing-payment', actions: ['read'], identifier: 'https://wallet.test/alice' }
    ],
    ['any list-all', { type: 'incoming-payment', actions: ['list-all'] }],
    ['what is configured', { type: 'quote', actions: ['create'] }],
    ['what is configured for another type', { type: 'incoming-payment', actions: ['read', 'complete'] }]
  ])('needs the account holder for %s', async (_name, item) => {
    expect(await requestAccess(item)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { interact: expect.any(String) } } }
    })
  })

  it('for the subject needs the account holder', async () => {
    const answer = await request({
      client: shop.walletAddress,
      subject: { sub_ids: [{ id: alice, format: 'uri' }] }
    })
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { details: { interact: expect.any(String) } } }
    })
  })

  it('with interact is answered at once where nobody need be asked', async () => {
    const answer = await request({
      client: shop.walletAddress,
      access_token: { access: [{ type: 'incoming-payment', actions: ['create'] }] },
      interact: { start: ['redirect'] }
    })
    expect(answer.at('access_token.value')).toEqual(expect.any(String))
    expect(answer.at('interact')).toBeUndefined()
  })

  it('that waits for the account holder is written with one statement', async () => {
    const record = recordStatements(auth.server.pool)
    await requestPendingGrant(auth, shop)
    record.stop()
    expect(record.statements).toHaveLength(1)
  })

  it('keeps secrets only as hashes', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const issued = await requestAccess({ type: 'quote', actions: ['read'] })
    const secrets = [
      grant.continuationToken,
      issued.textAt('access_token.value'),
      issued.textAt('continue.access_token.value')
    ]
    const rows = await auth.database.query<{ row: string }>(
      'select g::text as row from grant_request g union all select t::text from access_token t'
    )
    const written = rows.map((row) => row.row).join('\n')
    for (const secret of secrets) {
      expect(written).not.toContain(secret)
      expect(written).not.toContain(Buffer.from(secret).toString('hex'))
    }
    expect(issued.textAt('access_token.manage')).not.toContain(issued.textAt('access_token.value'))
  })

  it('shows the address of a client that gives no name', async () => {
    const key = createTestKey('nameless-key')
    const nameless = auth.wallet.setWalletAddress('nameless', { publicName: '', keys: [key.jwk] })
    const answer = await auth
      .signWith(key)
      .request('POST', PUBLIC_URL, { body: outgoingPaymentRequest(nameless, alice) })
    const redirect = new URL(answer.textAt('interact.redirect'))
    expect(redirect.searchParams.get('clientName')).toBe(nameless)
  })

  describe('for outgoing payments', () => {
    const requestLimits = (limits: Record<string, unknown>, identifier = alice) =>
      request(outgoingPaymentRequest(shop.walletAddress, identifier, { limits }))
    const expectField = async (answer: ReturnType<typeof request>, field: string) => {
      expect(await answer).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', details: { [field]: expect.any(String) } } }
      })
    }

    it('is refused when the wallet address is unknown', async () => {
      await expectField(requestLimits({}, `${auth.wallet.origin}/nobody`), `${ITEM}.identifier`)
    })

    it('is refused when the wallet address has another authorization server', async () => {
      const foreign = auth.wallet.setWalletAddress('foreign', { authServer: 'https://elsewhere.test/' })
      await expectField(requestLimits({}, foreign), `${ITEM}.identifier`)
    })

    it.each([
      ['code', { value: '1', assetCode: 'EUR', assetScale: 2 }],
      ['scale', { value: '1', assetCode: 'USD', assetScale: 3 }]
    ])(
      'is refused when the debit limit has another asset %s than the wallet address',
      async (_part, debitAmount) => {
        await expectField(requestLimits({ debitAmount }), `${ITEM}.limits.debitAmount`)
      }
    )

    it('is refused when the receive limit has another asset than the receiver', async () => {
      const receiver = auth.wallet.setDocument('/incoming-payments/1', {
        receivedAmount: { value: '0', assetCode: 'EUR', assetScale: 2 },
        authServer: 'https://elsewhere.test/'
      })
      const receiveAmount = { value: '1', assetCode: 'USD', assetScale: 2 }
      await expectField(requestLimits({ receiver, receiveAmount }), `${ITEM}.limits.receiveAmount`)
      const right = { receiver, receiveAmount: { ...receiveAmount, assetCode: 'EUR' } }
      expect((await requestLimits(right)).status).toBe(200)
    })

    it('does not depend on a receiver elsewhere being reachable', async () => {
      const receiver = `${auth.wallet.origin}/incoming-payments/gone`
      const receiveAmount = { value: '1', assetCode: 'USD', assetScale: 2 }
      expect((await requestLimits({ receiver, receiveAmount })).status).toBe(200)
    })

    it('may limit both amounts, or neither', async () => {
      const amount = { value: '1', assetCode: 'USD', assetScale: 2 }
      expect((await requestLimits({ debitAmount: amount, receiveAmount: amount })).status).toBe(200)
      expect((await requestLimits({ interval: 'R/2026-01-01T00:00:00Z/P1D' })).status).toBe(200)
      expect((await requestLimits({})).status).toBe(200)
    })
  })
})
