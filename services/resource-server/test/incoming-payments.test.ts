import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Answer, whenLocked } from '@open-payments-server/testing'
import {
  ALICE,
  AUTH_SERVER_URL,
  BOB,
  PUBLIC_URL,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer
} from './support/resource-server.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ALL_ACTIONS = ['create', 'read', 'list', 'complete']
const USD_25 = { value: '2500', assetCode: 'USD', assetScale: 2 }
const USD_0 = { value: '0', assetCode: 'USD', assetScale: 2 }

let service: TestResourceServer
let shop: TestClient
let market: TestClient

beforeAll(async () => {
  service = await startTestResourceServer()
  shop = service.createClient('shop')
  market = service.createClient('market')
})
afterAll(() => service.stop())

const accessTo = (identifier: string | undefined, actions: readonly string[] = ALL_ACTIONS) => [
  { type: 'incoming-payment' as const, actions, ...(identifier === undefined ? {} : { identifier }) }
]

/** Path of a resource below the public URL. */
const pathOf = (url: unknown): string => String(url).slice(PUBLIC_URL.length)

async function create(client: TestClient, body: object = { walletAddress: ALICE }): Promise<Answer> {
  const answer = await client.request(accessTo(undefined), 'POST', '/incoming-payments', { body })
  expect(answer).toMatchObject({ status: 201 })
  return answer
}

const countPayments = async (): Promise<string | undefined> =>
  (await service.database.query<{ count: string }>('select count(*) from incoming_payment'))[0]?.count

describe('creating an incoming payment', () => {
  it('answers 201 with the payment, its own payment details, and where it is', async () => {
    const metadata = { externalRef: 'INV-1', lines: [{ sku: 'shoes', count: 2 }] }
    const expiresAt = new Date(service.clock.now() + 60_000).toISOString()
    const answer = await create(shop, { walletAddress: ALICE, incomingAmount: USD_25, expiresAt, metadata })

    const now = new Date(service.clock.now()).toISOString()
    expect(answer.body).toEqual({
      id: expect.stringContaining(`${PUBLIC_URL}/incoming-payments/`),
      walletAddress: ALICE,
      completed: false,
      incomingAmount: USD_25,
      receivedAmount: USD_0,
      expiresAt,
      metadata,
      createdAt: now,
      updatedAt: now,
      methods: [
        {
          type: 'ilp',
          ilpAddress: expect.stringMatching(/^test\.wallet\.[A-Za-z0-9_-]+$/),
          sharedSecret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/)
        }
      ]
    })
    expect(pathOf(answer.at('id')).split('/').at(-1)).toMatch(UUID)
    expect(answer.headers.get('location')).toBe(answer.at('id'))
    expect(answer.headers.get('etag')).toMatch(/^"[^"]+"$/)
    expect(answer.headers.get('last-modified')).toBe(new Date(service.clock.now()).toUTCString())
  })

  it('gives every payment details of its own, of 32 secret bytes', async () => {
    const methods = [(await create(shop)).at('methods'), (await create(shop)).at('methods')]
    const [first, second] = methods.map((list) => (list as { ilpAddress: string; sharedSecret: string }[])[0])
    expect(first?.ilpAddress).not.toBe(second?.ilpAddress)
    expect(first?.sharedSecret).not.toBe(second?.sharedSecret)
    expect(Buffer.from(first?.sharedSecret ?? '', 'base64url')).toHaveLength(32)
  })

  it('expires after 30 days unless told otherwise', async () => {
    const answer = await create(shop)
    expect(Date.parse(answer.textAt('expiresAt')) - service.clock.now()).toBe(30 * 86_400_000)
    expect(answer.at('incomingAmount')).toBeUndefined()
  })

  it('takes the wallet address from the access token when the body names none', async () => {
    const answer = await shop.request(accessTo(BOB), 'POST', '/incoming-payments', { body: {} })
    expect(answer.status).toBe(201)
    expect(answer.at('walletAddress')).toBe(BOB)
  })

  it('answers 400 when neither body nor access token names a wallet address', async () => {
    const answer = await shop.request(accessTo(undefined), 'POST', '/incoming-payments', { body: {} })
    expect(answer.status).toBe(400)
    expect(answer.at('error.details.walletAddress')).toBeDefined()
  })

  it.each([
    ['another wallet address', accessTo(BOB)],
    ['another action', accessTo(ALICE, ['read', 'list', 'complete'])],
    ['another type', [{ type: 'quote' as const, actions: ['create'], identifier: ALICE }]],
    ['nothing', []]
  ])('answers 403 Insufficient Grant when the access covers %s', async (_what, access) => {
    const answer = await shop.request(access, 'POST', '/incoming-payments', {
      body: { walletAddress: ALICE }
    })
    expect(answer.status).toBe(403)
    expect(answer.body).toEqual({ error: { code: '403', description: 'Insufficient Grant' } })
  })

  it.each([
    ['elsewhere', 'https://elsewhere.example/alice'],
    ['unknown here', `${PUBLIC_URL}/nobody`],
    ['not a URL', 'alice'],
    ['below another path', `${ALICE}/more`],
    ['with a NUL', `${ALICE}%00`]
  ])('answers 400 unknown wallet address for one %s', async (_what, walletAddress) => {
    const answer = await shop.request(accessTo(undefined), 'POST', '/incoming-payments', {
      body: { walletAddress }
    })
    expect(answer.status).toBe(400)
    expect(answer.at('error.description')).toBe('unknown wallet address')
    expect(answer.at('error.details.walletAddress')).toBeDefined()
  })

  it.each([
    [{ assetCode: 'EUR' }, 'EUR', 'USD'],
    [{ assetScale: 3 }, '3', '2']
  ])('answers 400 naming both assets for an amount in %j', async (difference, given, expected) => {
    const body = { walletAddress: ALICE, incomingAmount: { ...USD_25, ...difference } }
    const answer = await shop.request(accessTo(ALICE), 'POST', '/incoming-payments', { body })
    expect(answer.status).toBe(400)
    expect(answer.textAt('error.description')).toContain(given)
    expect(answer.textAt('error.description')).toContain(expected)
  })

  it.each<[string, string, unknown]>([
    ['an unknown field', 'receiver', { receiver: 'x' }],
    ['a wallet address that is no text', 'walletAddress', { walletAddress: 7 }],
    ['a zero amount', 'incomingAmount.value', { incomingAmount: USD_0 }],
    ['a negative amount', 'incomingAmount.value', { incomingAmount: { ...USD_25, value: '-1' } }],
    ['an amount with a leading zero', 'incomingAmount.value', { incomingAmount: { ...USD_25, value: '01' } }],
    ['an amount as a number', 'incomingAmount.value', { incomingAmount: { ...USD_25, value: 1 } }],
    [
      'an amount beyond 64 bits',
      'incomingAmount.value',
      { incomingAmount: { ...USD_25, value: '18446744073709551616' } }
    ],
    [
      'an amount without a scale',
      'incomingAmount.assetScale',
      { incomingAmount: { value: '1', assetCode: 'USD' } }
    ],
    [
      'an amount with an unknown field',
      'incomingAmount.currency',
      { incomingAmount: { ...USD_25, currency: 'x' } }
    ],
    ['an amount that is text', 'incomingAmount', { incomingAmount: '25 USD' }],
    ['an expiry in the past', 'expiresAt', { expiresAt: '2020-01-01T00:00:00Z' }],
    ['an expiry in a hundred years', 'expiresAt', { expiresAt: '2126-01-01T00:00:00Z' }],
    ['an expiry that is no date', 'expiresAt', { expiresAt: 'tomorrow' }],
    ['an expiry on a day that does not exist', 'expiresAt', { expiresAt: '2030-02-30T00:00:00Z' }],
    ['an expiry without an offset', 'expiresAt', { expiresAt: '2030-01-01T00:00:00' }],
    ['metadata that is a list', 'metadata', { metadata: [] }],
    ['metadata beyond its limit', 'metadata', { metadata: { text: 'x'.repeat(20_000) } }],
    ['metadata with a NUL', 'metadata.text', { metadata: { text: 'a\u0000b' } }],
    ['metadata with half a character', 'metadata.text', { metadata: { text: '\ud800' } }],
    ['a body that is a list', 'body', []],
    ['a body that is not JSON', 'body', '{']
  ])('answers 400 naming the field, and creates nothing, for %s', async (_what, field, difference) => {
    const before = await countPayments()
    const isPart = typeof difference === 'object' && !Array.isArray(difference)
    const body = isPart ? { walletAddress: ALICE, ...difference } : difference
    const answer = await shop.request(accessTo(ALICE), 'POST', '/incoming-payments', { body })
    expect({ status: answer.status, details: answer.at('error.details') }).toEqual({
      status: 400,
      details: expect.objectContaining({ [field]: expect.any(String) })
    })
    expect(await countPayments()).toBe(before)
  })

  it('answers 413 for a body beyond 64 KiB and 415 for another content type', async () => {
    const body = { metadata: { text: 'x'.repeat(70_000) } }
    expect(await shop.request(accessTo(ALICE), 'POST', '/incoming-payments', { body })).toMatchObject({
      status: 413
    })
    const headers = { 'content-type': 'text/plain' }
    const text = await shop.request(accessTo(ALICE), 'POST', '/incoming-payments', { body: {}, headers })
    expect(text.status).toBe(415)
  })

  describe('with an Idempotency-Key', () => {
    const post = (client: TestClient, key: string, body: object) =>
      client.request(accessTo(undefined), 'POST', '/incoming-payments', {
        body,
        headers: { 'idempotency-key': key }
      })

    it('answers the same request with the first answer, whatever became of the payment', async () => {
      const body = { walletAddress: ALICE, expiresAt: new Date(service.clock.now() + 5_000).toISOString() }
      const first = await post(shop, 'order-1', body)
      expect(first.status).toBe(201)
      await shop.request(accessTo(ALICE), 'POST', `${pathOf(first.at('id'))}/complete`)
      service.clock.advanceSeconds(10)
      const again = await post(shop, 'order-1', body)
      expect(again.status).toBe(201)
      expect(again.text).toBe(first.text)
      expect(again.headers.get('etag')).toBe(first.headers.get('etag'))
    })

    it('answers 422 for the same key with another body', async () => {
      await post(shop, 'order-2', { walletAddress: ALICE })
      const before = await countPayments()
      expect(await post(shop, 'order-2', { walletAddress: BOB })).toMatchObject({ status: 422 })
      expect(await countPayments()).toBe(before)
    })

    it('answers 422 for the same key under another grant', async () => {
      const body = { walletAddress: ALICE }
      expect((await post(shop, 'order-5', body)).status).toBe(201)
      const access = accessTo(undefined)
      const { accessToken } = service.auth.issueToken({ client: shop.client, keys: [shop.key], access })
      const headers = { 'idempotency-key': 'order-5' }
      expect(
        await shop.request(access, 'POST', '/incoming-payments', { body, headers, accessToken })
      ).toMatchObject({ status: 422 })
    })

    it('keeps the keys of clients apart', async () => {
      const first = await post(shop, 'order-3', { walletAddress: ALICE })
      const other = await post(market, 'order-3', { walletAddress: ALICE })
      expect(other.status).toBe(201)
      expect(other.at('id')).not.toBe(first.at('id'))
    })

    it('creates one payment for many requests at once', async () => {
      const before = Number(await countPayments())
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => post(shop, 'order-4', { walletAddress: ALICE }))
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
      expect(new Set(answers.map((answer) => answer.at('id'))).size).toBe(1)
      expect(Number(await countPayments())).toBe(before + 1)
    })

    it.each(['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+00:01'])(
      'answers 400 for an expiry before the first year, %s, though the past is no error of a repetition',
      async (expiresAt) => {
        const answer = await post(shop, 'order-6', { walletAddress: ALICE, expiresAt })
        expect(answer.status).toBe(400)
        expect(Object.keys(answer.at('error.details') as object)).toEqual(['expiresAt'])
      }
    )

    it('answers 400 for a key that is not visible ASCII', async () => {
      expect(await post(shop, 'x'.repeat(256), { walletAddress: ALICE })).toMatchObject({ status: 400 })
    })
  })
})

describe('reading an incoming payment', () => {
  it('shows its creator the payment with its methods', async () => {
    const created = await create(shop)
    const answer = await shop.request(accessTo(ALICE, ['read']), 'GET', pathOf(created.at('id')))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(created.body)
    expect(answer.headers.get('vary')).toContain('Accept')
    expect(answer.headers.get('last-modified')).toBeTruthy()
  })

  it('shows anyone without credentials the public form', async () => {
    const created = await create(shop)
    const answer = await service.send('GET', pathOf(created.at('id')))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ receivedAmount: USD_0, authServer: AUTH_SERVER_URL })
    expect(answer.headers.get('vary')).toContain('Authorization')
  })

  it('asks for credentials when some are given and others are missing', async () => {
    const path = pathOf((await create(shop)).at('id'))
    const onlyToken = await service.send('GET', path, { authorization: 'GNAP unknown' })
    expect(onlyToken).toMatchObject({ status: 401 })
    const onlySignature = await service.send('GET', path, {
      'signature-input': 'sig1=()',
      signature: 'sig1=:AA==:'
    })
    expect(onlySignature.status).toBe(401)
    expect(onlySignature.at('error.description')).toBe('Invalid Token')
  })

  it('hides it from other clients, unless they may read all', async () => {
    const path = pathOf((await create(shop)).at('id'))
    expect(await market.request(accessTo(ALICE, ['read']), 'GET', path)).toMatchObject({ status: 404 })
    const all = await market.request(accessTo(ALICE, ['read-all']), 'GET', path)
    expect(all.status).toBe(200)
    expect(all.at('methods')).toHaveLength(1)
  })

  it('answers 403 when the access is for another wallet address', async () => {
    const path = pathOf((await create(shop)).at('id'))
    const answer = await shop.request(accessTo(BOB), 'GET', path)
    expect(answer.status).toBe(403)
    expect(answer.at('error.description')).toBe('Insufficient Grant')
  })

  it.each([
    ['unknown', '01890a5d-ac96-774b-bcce-b302099a8057'],
    ['malformed', 'not-an-id'],
    ['very long', 'a'.repeat(4_000)],
    ['with a NUL', '%00']
  ])('answers 404 for an id that is %s', async (_what, id) => {
    const answer = await shop.request(accessTo(undefined), 'GET', `/incoming-payments/${id}`)
    expect(answer.status).toBe(404)
    expect(answer.at('error.code')).toBe('404')
    expect(await service.send('GET', `/incoming-payments/${id}`)).toMatchObject({ status: 404 })
  })

  it('answers 304 without a body while the payment is as the client knows it', async () => {
    const path = pathOf((await create(shop)).at('id'))
    const access = accessTo(undefined)
    const first = await shop.request(access, 'GET', path)
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
    const unchanged = await shop.request(access, 'GET', path, { headers })
    expect(unchanged).toMatchObject({ status: 304, text: '' })
    expect(unchanged.headers.get('etag')).toBe(first.headers.get('etag'))
    await shop.request(access, 'POST', `${path}/complete`)
    expect(await shop.request(access, 'GET', path, { headers })).toMatchObject({ status: 200 })
  })

  it('shows no methods once it is completed or expired', async () => {
    const access = accessTo(undefined)
    const completed = pathOf((await create(shop)).at('id'))
    await shop.request(access, 'POST', `${completed}/complete`)
    expect((await shop.request(access, 'GET', completed)).at('methods')).toEqual([])
    const expiresAt = new Date(service.clock.now() + 1_000).toISOString()
    const expired = pathOf((await create(shop, { walletAddress: ALICE, expiresAt })).at('id'))
    service.clock.advanceSeconds(1)
    const answer = await shop.request(access, 'GET', expired)
    expect(answer.at('methods')).toEqual([])
    expect(answer.at('completed')).toBe(false)
  })
})

describe('completing an incoming payment', () => {
  const complete = (client: TestClient, path: string, access = accessTo(ALICE)) =>
    client.request(access, 'POST', `${path}/complete`)

  it('answers 200 with the completed payment, without methods', async () => {
    const created = await create(shop, { walletAddress: ALICE, incomingAmount: USD_25 })
    service.clock.advanceSeconds(5)
    const answer = await complete(shop, pathOf(created.at('id')))
    expect(answer.status).toBe(200)
    const updatedAt = new Date(service.clock.now()).toISOString()
    const expected = { ...(created.body as object), completed: true, updatedAt, methods: undefined }
    expect(answer.body).toEqual(expected)
    expect(answer.body).not.toHaveProperty('methods')
    expect(answer.headers.get('vary')).toContain('Accept')
  })

  it('answers 409 when it is already completed', async () => {
    const path = pathOf((await create(shop)).at('id'))
    await complete(shop, path)
    const answer = await complete(shop, path)
    expect(answer.status).toBe(409)
    expect(answer.at('error.code')).toBe('409')
  })

  it('answers 409 when it has expired, and leaves it as it is', async () => {
    const expiresAt = new Date(service.clock.now() + 1_000).toISOString()
    const path = pathOf((await create(shop, { walletAddress: ALICE, expiresAt })).at('id'))
    service.clock.advanceSeconds(1)
    expect(await complete(shop, path)).toMatchObject({ status: 409 })
    expect((await shop.request(accessTo(ALICE), 'GET', path)).at('completed')).toBe(false)
  })

  it('lets exactly one of many at once succeed', async () => {
    const path = pathOf((await create(shop)).at('id'))
    const answers = await Promise.all(Array.from({ length: 8 }, () => complete(shop, path)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)])
  })

  it('says that it is completed, not that it has expired, when another request just did', async () => {
    const path = pathOf((await create(shop)).at('id'))
    const completing = await service.database.inTransaction(async (query) => {
      await query('update incoming_payment set completed = true where id = $1', [path.slice(-36)])
      const answer = complete(shop, path)
      await whenLocked(service.database.query)
      return { answer }
    })
    const answer = await completing.answer
    expect(answer.status).toBe(409)
    expect(answer.at('error.description')).toBe('the incoming payment is already completed')
  })

  it('answers 404 to a client that did not create it, even one that may read all', async () => {
    const path = pathOf((await create(shop)).at('id'))
    const access = accessTo(ALICE, ['complete', 'read-all', 'list-all'])
    expect(await complete(market, path, access)).toMatchObject({ status: 404 })
    expect((await shop.request(accessTo(ALICE), 'GET', path)).at('completed')).toBe(false)
  })

  it('answers 403 when the access covers another wallet address or another action', async () => {
    const path = pathOf((await create(shop)).at('id'))
    expect(await complete(shop, path, accessTo(BOB))).toMatchObject({ status: 403 })
    expect(await complete(shop, path, accessTo(ALICE, ['read', 'create']))).toMatchObject({ status: 403 })
    expect((await shop.request(accessTo(ALICE), 'GET', path)).at('completed')).toBe(false)
  })

  it('answers 404 for an unknown or malformed id', async () => {
    expect(await complete(shop, '/incoming-payments/nothing')).toMatchObject({ status: 404 })
    const unknown = '/incoming-payments/01890a5d-ac96-774b-bcce-b302099a8057'
    expect(await complete(shop, unknown)).toMatchObject({ status: 404 })
  })
})
