import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import type { Answer } from '@open-payments-server/testing'
import { startRateSource } from './support/rate-source.js'
import {
  ALICE,
  BOB,
  CAROL,
  PUBLIC_URL,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer
} from './support/resource-server.js'

const INCOMING = [{ type: 'incoming-payment' as const, actions: ['create', 'complete'] }]
const QUOTE = [{ type: 'quote' as const, actions: ['create', 'read'] }]

const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
const eur = (value: string) => ({ value, assetCode: 'EUR', assetScale: 2 })

let service: TestResourceServer
let shop: TestClient
let market: TestClient

beforeAll(async () => {
  service = await startTestResourceServer({
    settings: { EXCHANGE_RATES: 'USD/EUR=0.92,EUR/USD=1.08', FEES: 'USD=10+50' }
  })
  shop = service.createClient('shop')
  market = service.createClient('market')
})
afterAll(() => service.stop())

/** Creates an incoming payment and answers its URL. */
async function receiverAt(walletAddress: string, order: object = {}): Promise<string> {
  const answer = await shop.request(INCOMING, 'POST', '/incoming-payments', {
    body: { walletAddress, ...order }
  })
  return answer.textAt('id')
}

const quote = (body: object, access = QUOTE, client = shop, headers = {}): Promise<Answer> =>
  client.request(access, 'POST', '/quotes', {
    body: { walletAddress: ALICE, method: 'ilp', ...body },
    headers
  })

const countQuotes = async (): Promise<string | undefined> =>
  (await service.database.query<{ count: string }>('select count(*) from quote'))[0]?.count

const pathOf = (answer: Answer): string => answer.textAt('id').slice(PUBLIC_URL.length)

describe('a quote', () => {
  it('for what the receiver lacks has its amount, and a debit that covers it and the fee', async () => {
    const receiver = await receiverAt(BOB, { incomingAmount: usd('10000') })
    const answer = await quote({ receiver })
    expect(answer.status).toBe(201)
    const now = service.clock.now()
    // 0.10 fixed and 0.5 %: the smallest debit that leaves 100.00.
    expect(answer.body).toEqual({
      id: expect.stringContaining(`${PUBLIC_URL}/quotes/`),
      walletAddress: ALICE,
      receiver,
      receiveAmount: usd('10000'),
      debitAmount: usd('10061'),
      method: 'ilp',
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + 300_000).toISOString()
    })
    expect(answer.headers.get('location')).toBe(answer.at('id'))
    expect(answer.headers.get('etag')).toBeTruthy()
    expect(
      await service.database.query('select fee_value from quote where receiver = $1', [receiver])
    ).toEqual([{ fee_value: '61' }])
  })

  it('for what the receiver lacks leaves out what it has received', async () => {
    const receiver = await receiverAt(BOB, { incomingAmount: usd('10000') })
    await service.database.query('update incoming_payment set received_value = 4000 where id = $1', [
      receiver.split('/').at(-1)
    ])
    expect((await quote({ receiver })).at('receiveAmount')).toEqual(usd('6000'))
  })

  it('of a fixed debit tells what arrives', async () => {
    const answer = await quote({ receiver: await receiverAt(BOB), debitAmount: usd('10061') })
    expect(answer.status).toBe(201)
    expect(answer.at('debitAmount')).toEqual(usd('10061'))
    expect(answer.at('receiveAmount')).toEqual(usd('10000'))
  })

  it('across assets converts with exact arithmetic, in favour of neither the sender nor the receiver twice', async () => {
    const receiver = await receiverAt(CAROL)
    const fixedDebit = await quote({ receiver, debitAmount: usd('10061') })
    expect(fixedDebit.at('receiveAmount')).toEqual(eur('9200'))
    const fixedReceive = await quote({ receiver, receiveAmount: eur('9200') })
    expect(fixedReceive.at('debitAmount')).toEqual(usd('10061'))
    const roundedUp = await quote({ receiver, receiveAmount: eur('1') })
    expect(roundedUp.at('debitAmount')).toEqual(usd('13'))
    const withoutFee = await quote({
      walletAddress: CAROL,
      receiver: await receiverAt(BOB),
      debitAmount: eur('100')
    })
    expect(withoutFee.at('receiveAmount')).toEqual(usd('108'))
  })

  it('is shown to who made it, with its ETag', async () => {
    const created = await quote({ receiver: await receiverAt(BOB), debitAmount: usd('500') })
    const answer = await shop.request(QUOTE, 'GET', pathOf(created))
    expect(answer.status).toBe(200)
    expect(answer.text).toBe(created.text)
    const headers = { 'if-none-match': answer.headers.get('etag') ?? '' }
    expect(await shop.request(QUOTE, 'GET', pathOf(created), { headers })).toMatchObject({ status: 304 })
  })

  it('is hidden from other clients, unless its account holder agreed that they may read all', async () => {
    const path = pathOf(await quote({ receiver: await receiverAt(BOB), debitAmount: usd('500') }))
    const readAll = async (
      { client, key, request }: TestClient,
      identifier: string | undefined,
      consentedWalletAddress: string
    ): Promise<number> => {
      const item = { type: 'quote' as const, actions: ['read-all'], ...(identifier && { identifier }) }
      const { accessToken } = service.auth.issueToken({
        client,
        keys: [key],
        access: [item],
        consentedWalletAddress
      })
      return (await request([item], 'GET', path, { accessToken })).status
    }
    for (const identifier of [ALICE, undefined]) {
      expect(await readAll(market, identifier, ALICE)).toBe(200)
      expect(await readAll(market, identifier, BOB)).toBe(404)
      expect(await readAll(market, identifier, '')).toBe(404)
      expect(await readAll(shop, identifier, '')).toBe(200)
    }
    expect(await readAll(market, BOB, ALICE)).toBe(404)
  })

  it('is hidden from other clients, and from who may read those of another wallet address', async () => {
    const path = pathOf(await quote({ receiver: await receiverAt(BOB), debitAmount: usd('500') }))
    const access = (actions: string[], identifier = ALICE) => [
      { type: 'quote' as const, actions, identifier }
    ]
    expect(await market.request(access(['read']), 'GET', path)).toMatchObject({ status: 404 })
    expect(await shop.request(access(['create']), 'GET', path)).toMatchObject({ status: 403 })
    expect(await shop.request(access(['read'], BOB), 'GET', path)).toMatchObject({ status: 403 })
    expect(await shop.request(access(['read']), 'GET', '/quotes/nothing')).toMatchObject({ status: 404 })
    const unknown = '/quotes/01890a5d-ac96-774b-bcce-b302099a8057'
    expect(await shop.request(access(['read']), 'GET', unknown)).toMatchObject({ status: 404 })
    expect(await service.send('GET', path)).toMatchObject({ status: 401 })
  })

  it('is refused with 403 Insufficient Grant where the access does not cover it', async () => {
    const receiver = await receiverAt(BOB)
    for (const access of [
      [{ ...QUOTE[0], identifier: BOB }],
      [{ ...QUOTE[0], actions: ['read'] }],
      INCOMING
    ]) {
      const answer = await quote({ receiver, debitAmount: usd('500') }, access as typeof QUOTE)
      expect(answer.status).toBe(403)
      expect(answer.at('error.description')).toBe('Insufficient Grant')
    }
  })
})

describe('a receiver', () => {
  const isRefused = async (
    receiver: string,
    amounts: object = { debitAmount: usd('500') }
  ): Promise<void> => {
    const before = await countQuotes()
    const answer = await quote({ receiver, ...amounts })
    expect(answer.status).toBe(400)
    expect(answer.at('error.description')).toBe('invalid receiver')
    expect(answer.at('error.details.receiver')).toBeDefined()
    expect(await countQuotes()).toBe(before)
  }

  it.each([
    ['unknown', `${PUBLIC_URL}/incoming-payments/01890a5d-ac96-774b-bcce-b302099a8057`],
    ['malformed', `${PUBLIC_URL}/incoming-payments/x`],
    ['elsewhere', 'https://elsewhere.example/incoming-payments/01890a5d-ac96-774b-bcce-b302099a8057'],
    ['a wallet address', BOB],
    ['no URL', 'bob']
  ])('is refused with 400 invalid receiver when it is %s', async (_what, receiver) => {
    await isRefused(receiver)
  })

  it('is refused when it is completed, full or expired', async () => {
    const completed = await receiverAt(BOB)
    await shop.request(INCOMING, 'POST', `${completed.slice(PUBLIC_URL.length)}/complete`)
    await isRefused(completed)
    const expiresAt = new Date(service.clock.now() + 1_000).toISOString()
    const expired = await receiverAt(BOB, { expiresAt })
    service.clock.advanceSeconds(1)
    await isRefused(expired)
  })

  it('that was quoted before is refused once it is completed, too full for the amount, or expired', async () => {
    const amount = { receiveAmount: usd('60') }
    const completed = await receiverAt(BOB)
    const filled = await receiverAt(BOB, { incomingAmount: usd('100') })
    const expiresAt = new Date(service.clock.now() + 1_000).toISOString()
    const expired = await receiverAt(BOB, { expiresAt })
    for (const receiver of [completed, filled, expired]) {
      expect(await quote({ receiver, ...amount })).toMatchObject({ status: 201 })
    }
    await shop.request(INCOMING, 'POST', `${completed.slice(PUBLIC_URL.length)}/complete`)
    const filledId = filled.slice(filled.lastIndexOf('/') + 1)
    await service.database.query('update incoming_payment set received_value = 41 where id = $1', [filledId])
    service.clock.advanceSeconds(1)
    for (const receiver of [completed, filled, expired]) {
      await isRefused(receiver, amount)
      // As well with a key: it is no repetition of anything.
      const headers = { 'idempotency-key': `after-${receiver}` }
      expect(await quote({ receiver, ...amount }, QUOTE, shop, headers)).toMatchObject({ status: 400 })
    }
    expect(await quote({ receiver: filled, receiveAmount: usd('59') })).toMatchObject({ status: 201 })
  })

  it('is refused when it takes less than the amount', async () => {
    const receiver = await receiverAt(BOB, { incomingAmount: usd('100') })
    await isRefused(receiver, { receiveAmount: usd('101') })
    await isRefused(receiver, { debitAmount: usd('1000') })
    expect(await quote({ receiver, receiveAmount: usd('100') })).toMatchObject({ status: 201 })
  })

  it('without an incomingAmount is refused when the order names no amount either', async () => {
    await isRefused(await receiverAt(BOB), {})
  })
})

describe('quotes that arrive together', () => {
  it('each come to what they would alone, whatever the others are refused for', async () => {
    await service.database.query(
      `insert into wallet_address (id, path, account_id) select $1, '/gone', account_id from wallet_address where path = '/alice'`,
      [randomUUID()]
    )
    const open = await receiverAt(BOB)
    const small = await receiverAt(BOB, { incomingAmount: usd('100') })
    const gone = { walletAddress: `${PUBLIC_URL}/gone`, receiver: open, receiveAmount: usd('1') }
    for (const body of [gone, { receiver: small, receiveAmount: usd('1') }]) {
      expect(await quote(body)).toMatchObject({ status: 201 })
    }
    // The cached data of both is outdated.
    await service.database.query(
      `with quotes as (delete from quote where wallet_address_id in (select id from wallet_address where path = '/gone'))
       update incoming_payment set received_value = 95 where id = $1`,
      [small.slice(small.lastIndexOf('/') + 1)]
    )
    await service.database.query(`delete from wallet_address where path = '/gone'`)
    const bodies = Array.from({ length: 8 }, (_, index) => [
      { receiver: open, receiveAmount: usd(String(1_000 + index)) },
      { receiver: small, receiveAmount: usd('6') },
      gone
    ]).flat()
    const answers = await Promise.all(bodies.map((body) => quote(body)))
    expect(answers.map(({ status }) => status)).toEqual(
      Array.from({ length: 8 }, () => [201, 400, 500]).flat()
    )
    const created = answers.filter(({ status }) => status === 201)
    expect(created.map((answer) => answer.at('receiveAmount.value'))).toEqual(
      Array.from({ length: 8 }, (_, index) => String(1_000 + index))
    )
    for (const answer of created) {
      expect((await shop.request(QUOTE, 'GET', pathOf(answer))).body).toEqual(answer.body)
    }
  })
})

describe('the amount of a quote', () => {
  it("must be in the wallet address's asset when it is debited, and in the receiver's when it is received", async () => {
    const receiver = await receiverAt(CAROL)
    for (const amounts of [{ debitAmount: eur('500') }, { receiveAmount: usd('500') }]) {
      const answer = await quote({ receiver, ...amounts })
      expect(answer.status).toBe(400)
      expect(answer.textAt('error.description')).toContain('USD')
      expect(answer.textAt('error.description')).toContain('EUR')
    }
  })

  it('too small to deliver anything is refused, and the smallest that would is told', async () => {
    const receiver = await receiverAt(CAROL)
    const answer = await quote({ receiver, debitAmount: usd('11') })
    expect(answer.status).toBe(400)
    expect(answer.textAt('error.description')).toContain('non-positive receive amount')
    expect(answer.at('error.details.minSendAmount')).toEqual(usd('13'))
    expect(await quote({ receiver, debitAmount: usd('13') })).toMatchObject({ status: 201 })
    for (const amounts of [{ debitAmount: usd('0') }, { receiveAmount: eur('0') }]) {
      expect((await quote({ receiver, ...amounts })).textAt('error.description')).toContain(
        'non-positive receive amount'
      )
    }
  })

  it('whose other side exceeds 64 bits is refused', async () => {
    const answer = await quote({
      receiver: await receiverAt(BOB),
      receiveAmount: usd('18446744073709551615')
    })
    expect(answer.status).toBe(400)
    expect(answer.at('error.details.receiveAmount')).toBeDefined()
  })

  it('is as exact at 64 bits as anywhere', async () => {
    const body = {
      walletAddress: CAROL,
      receiver: await receiverAt(CAROL),
      debitAmount: eur('18446744073709551615')
    }
    expect((await quote(body)).at('receiveAmount')).toEqual(eur('18446744073709551615'))
  })
})

describe('a request for a quote', () => {
  it.each<[string, string, object]>([
    ['an unknown field', 'metadata', { metadata: {} }],
    ['both amounts', 'debitAmount', { debitAmount: usd('1'), receiveAmount: usd('1') }],
    ['another method', 'method', { method: 'wire' }],
    ['no method', 'method', { method: undefined }],
    ['no receiver', 'receiver', { receiver: undefined }],
    ['a receiver that is no text', 'receiver', { receiver: 7 }],
    ['no wallet address', 'walletAddress', { walletAddress: undefined }],
    ['a malformed amount', 'debitAmount.value', { debitAmount: usd('1.5') }]
  ])('is refused with 400 naming the field for %s', async (_what, field, difference) => {
    const before = await countQuotes()
    const answer = await quote({ receiver: 'x', ...difference })
    expect(answer.status).toBe(400)
    expect(answer.at('error.details')).toHaveProperty([field])
    expect(await countQuotes()).toBe(before)
  })

  it('is refused with 400 unknown wallet address for one that is not hosted here', async () => {
    const answer = await quote({ walletAddress: `${PUBLIC_URL}/nobody`, receiver: await receiverAt(BOB) })
    expect(answer.status).toBe(400)
    expect(answer.at('error.description')).toBe('unknown wallet address')
  })

  it('with an Idempotency-Key is answered again as it was, and creates nothing more', async () => {
    const receiver = await receiverAt(BOB)
    const headers = { 'idempotency-key': 'quote-1' }
    const first = await quote({ receiver, debitAmount: usd('500') }, QUOTE, shop, headers)
    await shop.request(INCOMING, 'POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)
    const before = await countQuotes()
    const again = await quote({ receiver, debitAmount: usd('500') }, QUOTE, shop, headers)
    expect(again.status).toBe(201)
    expect(again.text).toBe(first.text)
    expect(await quote({ receiver, debitAmount: usd('501') }, QUOTE, shop, headers)).toMatchObject({
      status: 422
    })
    const ofAnotherGrant = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: QUOTE })
    const body = { walletAddress: ALICE, method: 'ilp', receiver, debitAmount: usd('500') }
    const { accessToken } = ofAnotherGrant
    expect(await shop.request(QUOTE, 'POST', '/quotes', { body, headers, accessToken })).toMatchObject({
      status: 422
    })
    expect(await countQuotes()).toBe(before)
  })
})

describe('exchange rates', () => {
  it('that the provider does not have are answered with 400', async () => {
    const bare = await startTestResourceServer()
    try {
      const client = bare.createClient('shop')
      const order = { walletAddress: CAROL }
      const receiver = (await client.request(INCOMING, 'POST', '/incoming-payments', { body: order })).textAt(
        'id'
      )
      const body = { walletAddress: ALICE, receiver, method: 'ilp', debitAmount: usd('500') }
      const answer = await client.request(QUOTE, 'POST', '/quotes', { body })
      expect(answer.status).toBe(400)
      expect(answer.textAt('error.description')).toContain('no exchange rate from USD to EUR')
    } finally {
      await bare.stop()
    }
  })

  it('come from EXCHANGE_RATES_URL where it is set, and are used for a short time', async () => {
    let rate: string | undefined = '0.5'
    const asked: string[] = []
    const source = await startRateSource((query) => {
      asked.push(query)
      return rate
    })
    const live = await startTestResourceServer({ settings: { EXCHANGE_RATES_URL: source.url } })
    try {
      const client = live.createClient('shop')
      const order = { walletAddress: CAROL }
      const receiver = (await client.request(INCOMING, 'POST', '/incoming-payments', { body: order })).textAt(
        'id'
      )
      const body = { walletAddress: ALICE, receiver, method: 'ilp', debitAmount: usd('500') }
      const ask = () => client.request(QUOTE, 'POST', '/quotes', { body })
      expect((await ask()).at('receiveAmount')).toEqual(eur('250'))
      rate = '0.25'
      expect((await ask()).at('receiveAmount')).toEqual(eur('250'))
      expect(asked.toSorted()).toEqual(['?source=EUR&target=USD', '?source=USD&target=EUR'])
      live.clock.advanceSeconds(15)
      expect((await ask()).at('receiveAmount')).toEqual(eur('125'))
      live.clock.advanceSeconds(15)
      rate = undefined
      const unavailable = await ask()
      expect(unavailable.status).toBe(503)
      expect(unavailable.headers.get('retry-after')).toBeTruthy()
    } finally {
      await live.stop()
      await source.stop()
    }
  })

  it('of a service cannot be had now where going round gains: nothing is quoted, and only the log tells why', async () => {
    let back = '1.09'
    const source = await startRateSource((query) => (query === '?source=USD&target=EUR' ? '0.93' : back))
    const lines: string[] = []
    const logger = createLogger({
      service: 'resource-server',
      level: 'warn',
      destination: { write: (line) => lines.push(line) }
    })
    const live = await startTestResourceServer({
      settings: { EXCHANGE_RATES_URL: source.url },
      overrides: { logger }
    })
    try {
      const client = live.createClient('shop')
      const quoteTo = async (from: string, to: string) => {
        const order = { walletAddress: to }
        const created = await client.request(INCOMING, 'POST', '/incoming-payments', { body: order })
        const debitAmount = from === ALICE ? usd('500') : eur('500')
        const body = { walletAddress: from, receiver: created.textAt('id'), method: 'ilp', debitAmount }
        return client.request(QUOTE, 'POST', '/quotes', { body })
      }
      for (const answer of [await quoteTo(ALICE, CAROL), await quoteTo(CAROL, ALICE)]) {
        expect(answer).toMatchObject({
          status: 503,
          body: { error: { description: 'exchange rates are temporarily unavailable' } }
        })
        expect(answer.headers.get('retry-after')).toBeTruthy()
        expect(answer.text).not.toContain('0.93')
      }
      expect(await live.database.query('select from quote')).toEqual([])
      const told = lines.filter((line) => line.includes('going round'))
      expect(told).toEqual([expect.stringMatching(/"level":"?(?:40|warn)"?.*EUR → USD → EUR/)])
      // Until they are fetched again.
      back = '1.07'
      live.clock.advanceSeconds(15)
      expect((await quoteTo(ALICE, CAROL)).status).toBe(201)
    } finally {
      await live.stop()
      await source.stop()
    }
  })
})
