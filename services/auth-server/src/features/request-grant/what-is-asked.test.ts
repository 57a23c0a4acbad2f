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

  describe('whose consent', () => {
    const paying = (identifier: string) => ({ type: 'outgoing-payment', actions: ['create'], identifier })
    const receiving = (actions: string[], identifier?: string) => ({
      type: 'incoming-payment',
      actions,
      identifier
    })
    const quoting = (identifier?: string) => ({ type: 'quote', actions: ['create'], identifier })
    const subjectOf = (...ids: string[]) => ({ sub_ids: ids.map((id) => ({ id, format: 'uri' })) })
    const ask = (access: unknown[], subject?: unknown) =>
      request({
        client: shop.walletAddress,
        ...(access.length === 0 ? {} : { access_token: { access } }),
        subject,
        interact: { start: ['redirect'] }
      })
    const SECOND = 'access_token.access[1].identifier'
    const SUBJECT = 'subject.sub_ids[0].id'

    interface Wallets {
      readonly alice: string
      readonly bob: string
      readonly origin: string
    }
    let wallets: Wallets

    beforeAll(() => {
      wallets = { alice, bob: createAccountHolder(auth, 'bob'), origin: auth.wallet.origin }
      // Answers under other spellings too, as lenient hosts do.
      const document = { id: alice, assetCode: 'USD', assetScale: 2, authServer: PUBLIC_URL }
      for (const path of ['/alice/', '/alice?x=1', '/%61lice', '/ALICE']) {
        auth.wallet.setDocument(path, document)
      }
      auth.wallet.setDocument('/nameless-wallet', { ...document, id: undefined })
    })

    it.each<[string, (wallets: Wallets) => [access: unknown[], subject?: unknown], string]>([
      ['two wallets in two items', ({ alice, bob }) => [[paying(alice), paying(bob)]], SECOND],
      ['an item and the subject of another', ({ alice, bob }) => [[paying(alice)], subjectOf(bob)], SUBJECT],
      [
        'a list of one wallet beside payments from another',
        ({ alice, bob }) => [[paying(alice), receiving(['list-all'], bob)]],
        SECOND
      ],
      [
        'what is configured to need consent, of another wallet',
        ({ alice, bob }) => [[paying(alice), receiving(['complete'], bob)]],
        SECOND
      ],
      ['prices for another wallet', ({ alice, bob }) => [[paying(alice), quoting(bob)]], SECOND],
      ['two subjects', ({ alice, bob }) => [[], subjectOf(alice, bob)], 'subject.sub_ids'],
      ['one subject twice', ({ alice }) => [[], subjectOf(alice, alice)], 'subject.sub_ids'],
      [
        'an item without a wallet beside one with',
        ({ alice }) => [[paying(alice), receiving(['list-all'])]],
        SECOND
      ],
      [
        'what is configured, without a wallet, beside one with',
        ({ alice }) => [[paying(alice), receiving(['complete'])]],
        SECOND
      ],
      ['prices alone, for nobody', () => [[quoting()]], `${ITEM}.identifier`],
      ['a final slash', ({ alice }) => [[paying(alice), receiving(['list-all'], `${alice}/`)]], SECOND],
      ['a final slash in the subject', ({ alice }) => [[paying(alice)], subjectOf(`${alice}/`)], SUBJECT],
      ['a final slash everywhere', ({ alice }) => [[paying(`${alice}/`)]], `${ITEM}.identifier`],
      [
        'another case of the scheme',
        ({ alice }) => [[paying(alice)], subjectOf(alice.replace('http', 'HTTP'))],
        SUBJECT
      ],
      [
        'another spelling of the host',
        ({ alice }) => [[paying(alice)], subjectOf(alice.replace('127.0.0.1', '127.1'))],
        SUBJECT
      ],
      [
        'an escaped letter',
        ({ alice, origin }) => [[paying(alice)], subjectOf(`${origin}/%61lice`)],
        SUBJECT
      ],
      [
        'another case of the path, which is another wallet',
        ({ alice, origin }) => [[paying(alice)], subjectOf(`${origin}/ALICE`)],
        SUBJECT
      ],
      [
        'a path that turns back',
        ({ alice, origin }) => [[paying(alice)], subjectOf(`${origin}/x/../alice`)],
        SUBJECT
      ],
      ['a query', ({ alice }) => [[paying(alice)], subjectOf(`${alice}?x=1`)], SUBJECT],
      ['a query everywhere', ({ alice }) => [[paying(`${alice}?x=1`)]], `${ITEM}.identifier`],
      ['a fragment', ({ alice }) => [[paying(alice)], subjectOf(`${alice}#bob`)], SUBJECT],
      [
        'a payment pointer',
        ({ alice }) => [[paying(alice)], subjectOf(alice.replace('http://', '$'))],
        SUBJECT
      ],
      [
        'a wallet that does not say its id',
        ({ origin }) => [[paying(`${origin}/nameless-wallet`)]],
        `${ITEM}.identifier`
      ]
    ])('is refused for %s', async (_what, requestOf, field) => {
      const before = await countGrants()
      expect(await ask(...requestOf(wallets))).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', details: { [field]: expect.any(String) } } }
      })
      expect(await countGrants()).toBe(before)
    })

    const countGrants = async () =>
      (await auth.database.query<{ n: string }>('select count(*) as n from grant_request'))[0]?.n

    const shown = async (answer: Awaited<ReturnType<typeof ask>>) => {
      const [, , id, nonce] = new URL(answer.textAt('interact.redirect')).pathname.split('/')
      return auth.identityProvider('GET', `/grant/${String(id)}/${String(nonce)}`)
    }

    it('is that of the one wallet address that items and subject name', async () => {
      const access = [paying(alice), receiving(['list-all'], alice), quoting(alice)]
      const answer = await shown(await ask(access, subjectOf(alice)))
      expect(answer.body).toMatchObject({ walletAddress: alice, access, subject: subjectOf(alice) })
    })

    it('is that of the subject, where no item needs any', async () => {
      const access = [receiving(['read-all'], wallets.bob)]
      const answer = await shown(await ask(access, subjectOf(alice)))
      expect(answer.body).toMatchObject({ walletAddress: alice, access })
    })

    it('is not asked for what needs none, which may be about any wallet', async () => {
      const access = [receiving(['create'], wallets.bob), receiving(['read-all']), paying(alice)]
      const answer = await shown(await ask(access))
      expect(answer.body).toMatchObject({ walletAddress: alice })
      expect(answer.at('access')).toEqual(JSON.parse(JSON.stringify(access)))
    })

    it('holds quotes that need it and name no wallet to the one that is named', async () => {
      const answer = await shown(await ask([quoting(), paying(alice)]))
      expect(answer.at('access')).toEqual([quoting(alice), paying(alice)])
    })

    it('is found out with one look at one wallet address, however many are named', async () => {
      const carol = createAccountHolder(auth, 'carol')
      await ask([paying(carol), paying(`${auth.wallet.origin}/never-asked`)], subjectOf(`${carol}/`))
      expect(auth.wallet.requestCount('/never-asked')).toBe(0)
    })
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
