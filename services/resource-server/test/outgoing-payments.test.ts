import { randomUUID } from 'node:crypto'
import { recordStatements } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  ALICE,
  BOB,
  CAROL,
  eur,
  PUBLIC_URL,
  type PaymentWorld,
  startPaymentWorld,
  usd
} from './support/payment-world.js'

const QUOTE_LIFETIME_SECONDS = 60

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: {
      EXCHANGE_RATES: 'USD/EUR=0.5',
      FEES: 'EUR=10+100',
      QUOTE_LIFETIME_SECONDS: String(QUOTE_LIFETIME_SECONDS)
    }
  })
})
afterEach(async () => {
  world.limits.debitLimits.clear()
  world.limits.inactive.clear()
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(() => world.stop())

const countRows = async (): Promise<unknown> =>
  (
    await world.database.query(`select (select count(*) from outgoing_payment) as payments,
      (select count(*) from grant_reservation) as reservations, (select count(*) from transfer) as transfers`)
  )[0]

describe('creating an outgoing payment from an incoming payment', () => {
  it('answers 201 with the payment, sends it at once, and the receiver has it in full', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(2500) })
    const before = await world.available('alice')
    const metadata = { externalRef: 'INV-1', lines: [{ sku: 'shoes' }] }
    const spentBefore = world.limits.spent(world.token).debited
    const created = await world.pay(receiver, 2500, { metadata })
    expect(created).toMatchObject({ status: 201 })
    const now = new Date(world.clock.now()).toISOString()
    expect(created.body).toEqual({
      id: expect.stringContaining(`${PUBLIC_URL}/outgoing-payments/`),
      walletAddress: ALICE,
      failed: false,
      receiver,
      receiveAmount: usd(2500),
      debitAmount: usd(2500),
      sentAmount: usd(0),
      grantSpentDebitAmount: usd(spentBefore + 2500n),
      grantSpentReceiveAmount: usd(spentBefore + 2500n),
      metadata,
      createdAt: now,
      updatedAt: now
    })
    expect(created.headers.get('location')).toBe(created.at('id'))
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toEqual({
      id: created.at('id'),
      walletAddress: ALICE,
      failed: false,
      receiver,
      receiveAmount: usd(2500),
      debitAmount: usd(2500),
      sentAmount: usd(2500),
      metadata,
      createdAt: now,
      updatedAt: now
    })
    const received = await world.request('GET', receiver.slice(PUBLIC_URL.length))
    expect(received.body).toMatchObject({ receivedAmount: usd(2500), completed: true })
    expect(await world.available('alice')).toBe(before - 2500n)
  })

  it.each<[string, object, string]>([
    ['no wallet address', { walletAddress: undefined }, 'walletAddress'],
    ['a wallet address that is no text', { walletAddress: 5 }, 'walletAddress'],
    ['no receiver', { incomingPayment: undefined }, 'incomingPayment'],
    ['no amount', { debitAmount: undefined }, 'debitAmount'],
    ['an amount that is no object', { debitAmount: '2500' }, 'debitAmount'],
    [
      'a value that is a number',
      { debitAmount: { value: 5, assetCode: 'USD', assetScale: 2 } },
      'debitAmount.value'
    ],
    ['a negative value', { debitAmount: usd('-1') }, 'debitAmount.value'],
    ['a value with a leading zero', { debitAmount: usd('01') }, 'debitAmount.value'],
    ['a value beyond 64 bits', { debitAmount: usd('18446744073709551616') }, 'debitAmount.value'],
    ['an unknown field of the amount', { debitAmount: { ...usd(1), unit: 'x' } }, 'debitAmount.unit'],
    ['a scale that is none', { debitAmount: { ...usd(1), assetScale: 2.5 } }, 'debitAmount.assetScale'],
    ['metadata that is no object', { metadata: [] }, 'metadata'],
    ['an unknown field', { receiveAmount: usd(5) }, 'receiveAmount'],
    ['both forms at once', { quoteId: `${PUBLIC_URL}/quotes/x` }, 'incomingPayment'],
    ['an amount in another asset', { debitAmount: eur(100) }, 'debitAmount'],
    ['a wallet address hosted elsewhere', { walletAddress: 'https://other.example/alice' }, 'walletAddress'],
    ['a wallet address that does not exist', { walletAddress: `${PUBLIC_URL}/nobody` }, 'walletAddress']
  ])('refuses %s with 400 naming the field, and changes nothing', async (_what, more, field) => {
    const receiver = await world.createReceiver()
    const before = await countRows()
    const asked = world.limits.asked.reserve
    const answer = await world.pay(receiver, 100, more)
    expect(answer).toMatchObject({ status: 400 })
    expect(Object.keys(answer.at('error.details') as object)).toContain(field)
    expect(await countRows()).toEqual(before)
    expect(world.limits.asked.reserve).toBe(asked)
  })

  it.each([
    ['an incoming payment that does not exist', `${PUBLIC_URL}/incoming-payments/${randomUUID()}`],
    ['a malformed id', `${PUBLIC_URL}/incoming-payments/1`],
    ['an incoming payment hosted elsewhere', `https://other.example/incoming-payments/${randomUUID()}`],
    ['no URL at all', 'not a url \u0001']
  ])('says `invalid receiver` for %s', async (_what, incomingPayment) => {
    const answer = await world.pay('', 100, { incomingPayment })
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.at('error.description')).toBe('invalid receiver')
  })

  it('says `unknown wallet address` for one that is not hosted here', async () => {
    const answer = await world.pay(await world.createReceiver(), 100, {
      walletAddress: `${PUBLIC_URL}/nobody`
    })
    expect(answer.at('error.description')).toBe('unknown wallet address')
  })

  it('refuses an amount in another asset, naming both', async () => {
    const answer = await world.pay(await world.createReceiver(), 1, { debitAmount: eur(100) })
    expect(answer.at('error.description')).toMatch(/EUR.*USD/)
  })

  it('refuses an amount too small to deliver anything, naming the smallest that would', async () => {
    const receiver = await world.createReceiver({ walletAddress: CAROL })
    const answer = await world.pay(receiver, 1)
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.textAt('error.description')).toContain('non-positive receive amount')
    expect(answer.at('error.details.minSendAmount')).toEqual(usd(2))
    expect(await world.pay(receiver, 0)).toMatchObject({ status: 400 })
    expect((await world.pay(receiver, 2)).body).toMatchObject({ receiveAmount: eur(1) })
  })

  it.each([
    ['completed', async (url: string) => world.request('POST', `${url.slice(PUBLIC_URL.length)}/complete`)],
    [
      'expired',
      async (url: string) =>
        world.database.query('update incoming_payment set expires_at = $2 where id = $1', [
          url.slice(-36),
          new Date(world.clock.now())
        ])
    ],
    ['full', async (url: string) => world.whenEnded((await world.pay(url, 100)).textAt('id'))]
  ])(
    'refuses a receiver that is %s with 400 `invalid receiver`, known before or not',
    async (_state, end) => {
      for (const known of [false, true]) {
        const receiver = await world.createReceiver({ incomingAmount: usd(100) })
        if (known) await world.whenEnded((await world.pay(receiver, 1)).textAt('id'))
        if (known && _state === 'full') await world.whenEnded((await world.pay(receiver, 99)).textAt('id'))
        else await end(receiver)
        const spent = world.limits.spent(world.token)
        const answer = await world.pay(receiver, 1)
        expect(answer).toMatchObject({ status: 400 })
        expect(answer.at('error.description')).toBe('invalid receiver')
        await world.whenDelivered()
        expect(world.limits.spent(world.token)).toEqual(spent)
      }
    }
  )

  it('refuses more than the receiver can take with 400 `invalid receiver`', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(100) })
    expect((await world.pay(receiver, 101)).at('error.description')).toBe('invalid receiver')
    await world.whenEnded((await world.pay(receiver, 60)).textAt('id'))
    expect((await world.pay(receiver, 41)).at('error.description')).toBe('invalid receiver')
  })

  it('refuses a body that is no JSON with 400, and another content type with 415', async () => {
    const send = (body: string, headers = {}) =>
      world.request('POST', '/outgoing-payments', { body, headers })
    expect(await send('{')).toMatchObject({ status: 400 })
    expect(await send('[]')).toMatchObject({ status: 400 })
    expect(await send('{}', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 })
    expect(await world.request('POST', '/outgoing-payments')).toMatchObject({ status: 400 })
  })
})

describe('the grant of an outgoing payment', () => {
  it('must cover the type, the action and the wallet address: else 403 `Insufficient Grant`', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(1) }
    for (const access of [
      [{ type: 'outgoing-payment' as const, actions: ['read', 'list'] }],
      [{ type: 'incoming-payment' as const, actions: ['create'] }],
      [{ type: 'outgoing-payment' as const, actions: ['create'], identifier: BOB }]
    ]) {
      const answer = await world.shop.request(access, 'POST', '/outgoing-payments', { body })
      expect(answer).toMatchObject({ status: 403 })
      expect(answer.at('error.description')).toBe('Insufficient Grant')
    }
  })

  it('without room answers 403 `unauthorized`, and nothing is spent', async () => {
    const receiver = await world.createReceiver()
    const spent = world.limits.spent(world.token)
    world.limits.debitLimits.set(world.token, spent.debited + 100n)
    expect(await world.pay(receiver, 100)).toMatchObject({ status: 201 })
    const before = await countRows()
    const answer = await world.pay(receiver, 1)
    expect(answer).toMatchObject({ status: 403 })
    expect(answer.at('error.description')).toBe('unauthorized')
    expect(await countRows()).toMatchObject({ payments: (before as { payments: string }).payments })
    expect(world.limits.spent(world.token).debited).toBe(spent.debited + 100n)
  })

  it('says what refuses it, what one payment may still have, and when the next interval begins, for as long as it is repeated', async () => {
    const receiver = await world.createReceiver()
    const next = '2030-02-01T00:00:00.000Z'
    world.limits.nextIntervalTime = new Date(next)
    world.limits.debitLimits.set(world.token, world.limits.spent(world.token).debited + 100n)
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(101) }
    const headers = { 'idempotency-key': randomUUID() }
    const ask = () => world.request('POST', '/outgoing-payments', { body, headers })
    const told = (remaining: number) => ({
      code: '403',
      description: 'unauthorized',
      details: {
        refusedBy: { accessIndex: 0, limits: ['debitAmount'] },
        remainingDebitAmount: usd(remaining),
        nextIntervalAt: next
      }
    })
    expect((await ask()).at('error')).toEqual(told(100))
    expect(await world.pay(receiver, 60)).toMatchObject({ status: 201 })
    expect((await ask()).at('error')).toEqual(told(40))
  })

  it('whose token ended meanwhile answers 403 `Inactive Token`', async () => {
    const receiver = await world.createReceiver()
    world.limits.inactive.add(world.token)
    const answer = await world.pay(receiver, 1)
    expect(answer).toMatchObject({ status: 403 })
    expect(answer.at('error.description')).toBe('Inactive Token')
  })
})

describe('creating an outgoing payment from a quote', () => {
  const payQuote = (quoteId: string, more: object = {}) =>
    world.request('POST', '/outgoing-payments', {
      body: { walletAddress: ALICE, quoteId, ...more },
      signature: { nonce: randomUUID() }
    })

  it('takes the terms of the quote, and names it', async () => {
    const receiver = await world.createReceiver({ walletAddress: CAROL, incomingAmount: eur(500) })
    const quoteId = await world.createQuote(receiver)
    const created = await payQuote(quoteId)
    expect(created).toMatchObject({ status: 201 })
    expect(created.body).toMatchObject({ quoteId, receiver, debitAmount: usd(1000), receiveAmount: eur(500) })
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ quoteId, failed: false, sentAmount: usd(1000) })
  })

  const newQuote = async (): Promise<string> =>
    world.createQuote(await world.createReceiver({ incomingAmount: usd(700) }))
  const refused = { status: 400, body: { error: { code: '400', description: 'invalid quote' } } }

  it('looks one up that was created here only when it is asked for again, and any other one each time', async () => {
    const lookups = async (quoteId: string): Promise<number> => {
      const record = recordStatements(world.server.pool)
      await payQuote(quoteId)
      record.stop()
      return record.statements.filter((text) => text.includes('from quote')).length
    }
    const quoteId = await newQuote()
    expect([await lookups(quoteId), await lookups(quoteId)]).toEqual([0, 1])
    expect(await lookups(await world.createQuoteElsewhere(quoteId))).toBe(1)
  })

  /** Where a quote may come from. */
  const ORIGINS: [string, (quoteId: string) => Promise<string>][] = [
    ['created here', (quoteId) => Promise.resolve(quoteId)],
    ['created elsewhere', (quoteId) => world.createQuoteElsewhere(quoteId)]
  ]
  describe.each(ORIGINS)('one that was %s', (_where, from) => {
    it('can be paid once: then 400 `invalid quote`, and the grant has spent nothing for it', async () => {
      const quoteId = await from(await newQuote())
      expect(await payQuote(quoteId)).toMatchObject({ status: 201 })
      const spent = world.limits.spent(world.token)
      expect(await payQuote(quoteId)).toMatchObject(refused)
      expect(world.limits.spent(world.token)).toEqual(spent)
    })

    it('cannot be paid by another client, nor from another wallet address, which leaves it to be paid', async () => {
      const quoteId = await from(await newQuote())
      const stranger = world.createClient('stranger')
      const access = [{ type: 'outgoing-payment' as const, actions: ['create'] }]
      const body = { walletAddress: ALICE, quoteId }
      expect(await stranger.request(access, 'POST', '/outgoing-payments', { body })).toMatchObject(refused)
      expect(await payQuote(quoteId, { walletAddress: BOB })).toMatchObject(refused)
      expect(await payQuote(quoteId)).toMatchObject({ status: 201 })
    })

    it('cannot be paid when it is expired', async () => {
      const quoteId = await from(await newQuote())
      world.clock.advanceSeconds(QUOTE_LIFETIME_SECONDS)
      expect(await payQuote(quoteId)).toMatchObject(refused)
    })
  })

  it.each([`${PUBLIC_URL}/quotes/${randomUUID()}`, `${PUBLIC_URL}/incoming-payments/${randomUUID()}`])(
    'refuses %s, which is none, with 400 `invalid quote`',
    async (quoteId) => {
      expect(await payQuote(quoteId)).toMatchObject(refused)
    }
  )

  describe('that was created here and paid elsewhere', () => {
    /** Pays a quote of the same terms, and lets that payment be one of this quote. */
    const paidElsewhere = async (created = newQuote()): Promise<string> => {
      const quoteId = await created
      const payment = await payQuote(await world.createQuoteElsewhere(quoteId))
      await world.whenEnded(payment.textAt('id'))
      await world.database.query(
        `with paid as (update outgoing_payment set quote_id = $2 where id = $1 returning id)
         update grant_reservation r set quote_id = $2 from paid where r.payment_id = paid.id`,
        [payment.textAt('id').slice(-36), quoteId.slice(-36)]
      )
      return quoteId
    }

    it('answers 400 `invalid quote`, and the grant has spent nothing for it', async () => {
      const receiver = await world.createReceiver()
      const quoteId = await paidElsewhere(world.createQuote(receiver, { debitAmount: usd(700) }))
      await world.whenDelivered()
      const spent = world.limits.spent(world.token)
      expect(await payQuote(quoteId)).toMatchObject(refused)
      await world.whenDelivered()
      expect(world.limits.spent(world.token)).toEqual(spent)
    })

    it('answers the same where its receiver has no room for it, either', async () => {
      expect(await payQuote(await paidElsewhere())).toMatchObject(refused)
    })

    it('answers the same where the grant has no room for it, either', async () => {
      const quoteId = await paidElsewhere()
      world.limits.debitLimits.set(world.token, 0n)
      const answers = [await payQuote(quoteId), await payQuote(await newQuote())]
      world.limits.debitLimits.delete(world.token)
      expect(answers).toMatchObject([refused, { status: 403 }])
    })
  })

  it('refuses fields of the other form, naming them', async () => {
    const quoteId = await world.createQuote(await world.createReceiver({ incomingAmount: usd(700) }))
    const answer = await payQuote(quoteId, { debitAmount: usd(700) })
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.at('error.details')).toHaveProperty('debitAmount')
  })
})
