import { randomUUID } from 'node:crypto'
import { callUnary, createClient, RpcError, status } from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import { type Answer, damageDatabase, whenLocked } from '@open-payments-server/testing'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { endRefunds } from '../src/features/process-outgoing-payments/end-refunds.js'
import { Prisma } from '../src/modules/database.js'
import { shareOf } from '../src/modules/refunds/create.js'
import { openDatabase } from './support/open-database.js'
import {
  ALICE,
  BOB,
  CAROL,
  eur,
  type PaymentWorld,
  PUBLIC_URL,
  startPaymentWorld,
  usd
} from './support/payment-world.js'

let world: PaymentWorld
let told: events.EventServiceClient

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1', FEES: 'USD=0+1000' }
  })
  told = createClient(events.EventServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 10_485_760
  })
})
afterEach(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(async () => {
  told.close()
  await world.stop()
})

const refund = async (
  refundOf: string,
  value: bigint | number | string,
  more: Partial<wallet.CreateRefundRequest> = {}
): Promise<wallet.Refund> => {
  const request = { refundOf, value: String(value), idempotencyKey: '', returnsFee: false, ...more }
  // The newest is known by its instant.
  world.clock.advanceSeconds(1)
  const answer = await world.operate('createRefund', request)
  if (answer.refund === undefined) throw new Error('no refund was answered')
  return answer.refund
}

const describeRefusal = (error: unknown): string =>
  error instanceof RpcError ? `${status[error.code]} ${String(error.field)}: ${error.message}` : String(error)

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(() => 'nothing was refused', describeRefusal)

const read = (url: string, options = {}): Promise<Answer> =>
  world.request('GET', url.slice(PUBLIC_URL.length), options)

/** Pays from alice, with a fee of a tenth, and waits for the end. */
async function paid(value: number, to = BOB): Promise<{ payment: string; receiver: string }> {
  world.clock.advanceSeconds(1)
  const receiver = await world.createReceiver({ walletAddress: to })
  const created = await world.pay(receiver, value)
  expect(created.status).toBe(201)
  await world.whenEnded(created.textAt('id'))
  return { payment: created.textAt('id'), receiver }
}

/** Pays from a wallet address to an incoming payment of another, with what the payment refunds. */
async function refundByPayment(
  refundOf: string,
  debit: number,
  {
    from = BOB,
    to = ALICE,
    amount = usd(debit),
    options = {},
    ...more
  }: {
    from?: string
    to?: string
    amount?: object
    options?: object
    incomingAmount?: object
  } = {}
): Promise<Answer> {
  world.clock.advanceSeconds(1)
  const receiver = await world.createReceiver({ walletAddress: to, ...more })
  return world.pay(receiver, debit, { walletAddress: from, debitAmount: amount, refundOf }, options)
}

const available = async (...names: string[]): Promise<bigint[]> =>
  Promise.all(names.map((name) => world.available(name)))

/** The transfers of a refund: kind, amount, from, to. */
async function transfersOf({ refundId }: wallet.Refund): Promise<string[]> {
  const rows = await world.database.query<{ line: string }>(
    `select format('%s %s %s %s > %s', t.kind, t.posted_amount, s.code, coalesce(d.name, d.kind::text),
                   coalesce(c.name, c.kind::text)) as line
       from transfer t join account d on d.id = t.debit_account_id join account c on c.id = t.credit_account_id
       join asset s on s.id = t.asset_id
      where t.payment_id = $1 order by t.kind`,
    [refundId]
  )
  return rows.map(({ line }) => line)
}

/** Everything that the tables of money have. */
const digest = async (): Promise<unknown> =>
  (
    await world.database.query(
      `select (select json_agg(f order by f.id) from refund f) as refunds, (select json_agg(a order by a.id) from account a) as accounts,
              (select json_agg(p order by p.id) from outgoing_payment p) as payments, (select count(*) from transfer) as transfers`
    )
  )[0]

const listed = async (refundOf = ''): Promise<wallet.Refund[]> =>
  (await world.operate('listRefunds', { refundOf, pageSize: 0, pageToken: '' })).refunds

async function whenPublished(): Promise<events.Event[]> {
  for (;;) {
    const [row] = await world.database.query<{ count: number }>(
      'select count(*)::int as count from event_outbox'
    )
    if (row?.count === 0) break
  }
  const request = { afterCursor: '', types: [], pageSize: 1_000 }
  return (await callUnary(told, 'listEvents', request, { idempotent: true })).events
}

const eventsOf = async (id: string): Promise<[type: string, data: unknown][]> =>
  (await whenPublished())
    .filter(({ subject }) => subject.endsWith(id))
    .map(({ type, data }) => [type, JSON.parse(data) as unknown])

describe('a refund of the provider', () => {
  it('takes the money from the receiver and gives it to the payer, and changes nothing of the payment', async () => {
    const { payment, receiver } = await paid(1000)
    const before = await available('alice', 'bob')
    const spent = world.limits.spent(world.token)
    const part = await refund(payment, 400)
    expect(part).toMatchObject({
      refundOf: payment,
      payment: '',
      state: 'completed',
      value: '400',
      settledValue: '400',
      returnedValue: '400',
      returnedFeeValue: '0'
    })
    expect(await available('alice', 'bob')).toEqual([before[0]! + 400n, before[1]! - 400n])
    expect(await transfersOf(part)).toEqual(['refund 400 USD bob > alice'])
    const rest = await refund(payment, 500)
    expect(await available('alice', 'bob')).toEqual([before[0]! + 900n, before[1]! - 900n])
    expect(world.limits.spent(world.token)).toEqual(spent)

    const shown = (await read(payment)).body
    expect(shown).toMatchObject({ sentAmount: usd(1000), refundedAmount: usd(900), failed: false })
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(900), refundedAmount: usd(900) })
    const ids = [rest, part].map(({ refundId }) => `urn:uuid:${refundId}`)
    for (const url of [payment, receiver]) {
      expect((await read(url)).at('refunds')).toMatchObject(ids.map((id) => ({ id, refundOf: payment })))
    }
    expect((await read(payment)).at('refunds.1')).toEqual({
      id: ids[1],
      refundOf: payment,
      state: 'completed',
      value: '400',
      refundAmount: usd(400),
      returnedAmount: usd(400),
      createdAt: part.createTime?.toISOString(),
      updatedAt: part.updateTime?.toISOString()
    })
    expect(await listed(payment)).toEqual([rest, part])
  })

  it('is shown where the published API is closed only to those who accept more than that', async () => {
    const { payment, receiver } = await paid(1000)
    const closed = { headers: { accept: 'application/json' } }
    const before = (await read(payment, closed)).body
    await refund(payment, 400)
    expect((await read(payment, closed)).body).toEqual(before)
    const lists = ['outgoing', 'incoming'].map((kind) => {
      const walletAddress = kind === 'outgoing' ? ALICE : BOB
      return `/${kind}-payments?wallet-address=${encodeURIComponent(walletAddress)}`
    })
    for (const path of lists) {
      expect((await world.request('GET', path)).at('result.0.refundedAmount')).toEqual(usd(400))
      expect((await world.request('GET', path, closed)).at('result.0.refundedAmount')).toBeUndefined()
    }
    const completed = await world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)
    expect(completed.body).toEqual({ ...((await read(receiver)).body as object), methods: undefined })
    const { payments } = await world.operate(
      'listPayments',
      wallet.ListPaymentsRequest.fromPartial({
        kind: wallet.PaymentKind.PAYMENT_KIND_INCOMING,
        walletAddress: BOB,
        pageSize: 1,
        pageToken: ''
      })
    )
    expect(payments[0]).toMatchObject({ refundedValue: '400', refundedAsset: { code: 'USD', scale: 2 } })
  })

  it('between assets is at the rate of the payment, in parts exactly as in one', async () => {
    const { payment } = await paid(1000, CAROL)
    // 900 USD without the fee were 810 EUR.
    const before = await available('alice', 'carol')
    const parts = []
    for (const value of [1, 7, 100, 1, 700]) parts.push(await refund(payment, value))
    expect(parts.map(({ returnedValue }) => returnedValue)).toEqual(['1', '7', '112', '1', '777'])
    expect(await refusalOf(refund(payment, 2))).toMatch(/^FAILED_PRECONDITION value: no more than 1 is left/)
    const last = await refund(payment, 1)
    expect(await available('alice', 'carol')).toEqual([before[0]! + 900n, before[1]! - 810n])
    expect(await transfersOf(last)).toEqual([
      'refund 1 EUR carol > exchange',
      'refund_conversion 2 USD exchange > alice'
    ])
    expect((await read(payment)).at('refundedAmount')).toEqual(eur(810))
    expect((await read(payment)).at('refunds.0')).toMatchObject({
      refundAmount: eur(1),
      returnedAmount: usd(2)
    })
  })

  it('returns the fee only where that is asked for, in proportion', async () => {
    const { payment } = await paid(1000)
    const before = await available('alice', 'bob')
    await refund(payment, 450)
    const second = await refund(payment, 225, { returnsFee: true })
    expect(second).toMatchObject({ returnedValue: '225', returnedFeeValue: '25' })
    expect(await transfersOf(second)).toEqual([
      'refund 225 USD bob > alice',
      'refund_fee 25 USD fees > alice'
    ])
    expect(await available('alice', 'bob')).toEqual([before[0]! + 700n, before[1]! - 675n])
    expect((await read(payment)).at('refunds.0.returnedFeeAmount')).toEqual(usd(25))
  })

  it('tells that it was created and completed, as the API shows it', async () => {
    const { payment } = await paid(1000)
    const { refundId } = await refund(payment, 90, { returnsFee: true })
    const shown = (await read(payment)).at('refunds.0') as Record<string, unknown>
    const { returnedAmount, returnedFeeAmount, ...created } = shown
    expect(returnedAmount).toEqual(usd(90))
    expect(returnedFeeAmount).toEqual(usd(10))
    expect(await eventsOf(refundId)).toEqual([
      ['refund.created', { ...created, state: 'pending' }],
      ['refund.completed', shown]
    ])
    expect((await eventsOf(payment)).map(([, data]) => Object.keys(data as object))).not.toContain('refunds')
  })

  it('with the same key is made once, and another one is refused', async () => {
    const { payment } = await paid(1000)
    const { payment: other } = await paid(1000)
    const idempotencyKey = randomUUID()
    const key = { idempotencyKey }
    const answers = await Promise.all(Array.from({ length: 8 }, () => refund(payment, 900, key)))
    expect(new Set(answers.map(({ refundId }) => refundId)).size).toBe(1)
    expect(await listed(payment)).toHaveLength(1)
    const before = await digest()
    const refused = 'ALREADY_EXISTS idempotency_key: the key was used for another refund'
    for (const [refundOf, value, more] of [
      [payment, 899, key],
      [other, 900, key],
      [payment, 900, { ...key, returnsFee: true }]
    ] as const) {
      expect(await refusalOf(refund(refundOf, value, more))).toBe(refused)
    }
    const racing = { idempotencyKey: randomUUID() }
    const { payment: third } = await paid(1000)
    const races = await Promise.allSettled([refund(other, 1, racing), refund(third, 1, racing)])
    expect(races.filter((race) => race.status === 'fulfilled')).toHaveLength(1)
    expect((await digest()) === before).toBe(false)
  })

  it.each<[what: string, refused: RegExp, call: () => Promise<unknown>]>([
    [
      'of nothing',
      /^INVALID_ARGUMENT value: value must be above 0/,
      async () => refund((await paid(100)).payment, 0)
    ],
    ['of less than nothing', /^INVALID_ARGUMENT value: /, async () => refund((await paid(100)).payment, -1)],
    ['of a fraction', /^INVALID_ARGUMENT value: /, async () => refund((await paid(100)).payment, '1.5')],
    [
      'of more than 64 bits',
      /^INVALID_ARGUMENT value: /,
      async () => refund((await paid(100)).payment, UINT64_MAX + 1n)
    ],
    [
      'of more than was delivered',
      /^FAILED_PRECONDITION value: no more than 90 is left to refund/,
      async () => refund((await paid(100)).payment, 91)
    ],
    [
      'of the largest amount',
      /^FAILED_PRECONDITION value: /,
      async () => refund((await paid(100)).payment, UINT64_MAX)
    ],
    [
      'of an unknown payment',
      /^NOT_FOUND refund_of: /,
      () => refund(`${PUBLIC_URL}/outgoing-payments/${randomUUID()}`, 1)
    ],
    [
      'of a foreign payment',
      /^NOT_FOUND refund_of: /,
      () => refund(`https://other.example/outgoing-payments/${randomUUID()}`, 1)
    ],
    ['of an incoming payment', /^NOT_FOUND refund_of: /, async () => refund((await paid(100)).receiver, 1)],
    ['of no URL', /^NOT_FOUND refund_of: /, () => refund('', 1)],
    [
      'with a key that has spaces',
      /^INVALID_ARGUMENT idempotency_key: /,
      async () => refund((await paid(100)).payment, 1, { idempotencyKey: 'a key' })
    ],
    [
      'with a key that is too long',
      /^INVALID_ARGUMENT idempotency_key: /,
      async () => refund((await paid(100)).payment, 1, { idempotencyKey: 'k'.repeat(256) })
    ]
  ])('%s is refused', async (_what, refused, call) => {
    expect(await refusalOf(call())).toMatch(refused)
    expect((await listed()).filter(({ value }) => ['0', '91'].includes(value))).toEqual([])
  })

  it('of a payment that has not ended, or has delivered nothing, is refused', async () => {
    const receiver = await world.createReceiver()
    const failed = await world.pay(receiver, 2_000_000)
    await world.whenEnded(failed.textAt('id'))
    const client = await world.server.pool.connect()
    await client.query('begin')
    await client.query('select 1 from incoming_payment where id = $1 for no key update', [
      receiver.slice(-36)
    ])
    const pending = await world.pay(receiver, 100)
    const before = await digest()
    expect(await refusalOf(refund(pending.textAt('id'), 1))).toBe(
      'FAILED_PRECONDITION refund_of: the payment has not ended yet'
    )
    expect(await refusalOf(refund(failed.textAt('id'), 1))).toBe(
      'FAILED_PRECONDITION refund_of: the payment failed and delivered nothing'
    )
    expect(await digest()).toEqual(before)
    await client.query('commit')
    client.release()
    await world.whenEnded(pending.textAt('id'))
  })

  it('of what was delivered in part is possible, and of no more', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(90) })
    const client = await world.server.pool.connect()
    await client.query('begin')
    await client.query('select 1 from incoming_payment where id = $1 for no key update', [
      receiver.slice(-36)
    ])
    const whole = await world.pay(receiver, 50)
    // The older one is processed first.
    world.clock.advanceSeconds(1)
    const both = [whole, await world.pay(receiver, 100)]
    await client.query('commit')
    client.release()
    for (const created of both) await world.whenEnded(created.textAt('id'))
    const partial = both[1]!.textAt('id')
    expect((await read(partial)).body).toMatchObject({ failed: true, sentAmount: usd(50) })
    const before = await world.available('alice')
    expect(await refusalOf(refund(partial, 46))).toMatch(/no more than 45 is left/)
    await refund(partial, 45, { returnsFee: true })
    expect(await world.available('alice')).toBe(before + 50n)
  })

  it('is refused where the receiver has less money, and takes nothing that a payment holds', async () => {
    const { payment } = await paid(1000)
    const all = await world.available('bob')
    await world.operate('withdraw', {
      withdrawalId: randomUUID(),
      accountName: 'bob',
      value: String(all - 400n)
    })
    const before = await digest()
    expect(await refusalOf(refund(payment, 401))).toBe(
      "FAILED_PRECONDITION value: the receiver's account has less than that available"
    )
    expect(await digest()).toEqual(before)
    await refund(payment, 400)
    expect(await world.available('bob')).toBe(0n)
    await world.operate('deposit', { depositId: randomUUID(), accountName: 'bob', value: '1000000' })
  })

  it('is not covered by money that arrives while it waits', async () => {
    const { payment } = await paid(1000)
    const all = await world.available('bob')
    await world.operate('withdraw', { withdrawalId: randomUUID(), accountName: 'bob', value: String(all) })
    const { refused } = await world.database.inTransaction(async (query) => {
      await query('select from outgoing_payment where id = $1 for no key update', [payment.slice(-36)])
      const asked = refusalOf(refund(payment, 400))
      await whenLocked(world.database.query)
      await world.operate('deposit', { depositId: randomUUID(), accountName: 'bob', value: '1000000' })
      return { refused: asked }
    })
    expect(await refused).toBe(
      "FAILED_PRECONDITION value: the receiver's account has less than that available"
    )
    await refund(payment, 400)
  })

  it('does not take what another gives back while it waits', async () => {
    const { payment } = await paid(1000)
    const receiver = await world.createReceiver({ walletAddress: ALICE })
    const all = await world.available('bob')
    await world.operate('withdraw', { withdrawalId: randomUUID(), accountName: 'bob', value: String(all) })
    const { refused, failing } = await world.database.inTransaction(async (lock) => {
      const created = await world.database.inTransaction(async (query) => {
        await query('select from incoming_payment where id = $1 for no key update', [receiver.slice(-36)])
        const broke = await world.pay(receiver, 600, { walletAddress: BOB, refundOf: payment })
        await whenLocked(world.database.query)
        await lock('select from outgoing_payment where id = $1 for no key update', [payment.slice(-36)])
        return broke
      })
      await whenLocked(world.database.query)
      await world.operate('deposit', { depositId: randomUUID(), accountName: 'bob', value: '1000000' })
      const asked = refusalOf(refund(payment, 400))
      await whenLocked(world.database.query, 2)
      return { refused: asked, failing: created }
    })
    expect(await refused).toMatch(/^FAILED_PRECONDITION value: no more than 360 is left/)
    expect((await world.whenEnded(failing.textAt('id'))).at('failed')).toBe(true)
    await refund(payment, 400)
  })

  it('of a payment to oneself moves the money within the account', async () => {
    const { payment } = await paid(1000, ALICE)
    const before = await available('alice')
    await refund(payment, 900, { returnsFee: true })
    expect(await available('alice')).toEqual([before[0]! + 100n])
  })
})

it('64 refunds that race never take more than was delivered, nor more than the receiver has', async () => {
  const { payment } = await paid(1000, CAROL)
  const before = await available('alice', 'carol')
  const racing = await Promise.allSettled([
    ...Array.from({ length: 48 }, (_, index) => refund(payment, 30 + (index % 7))),
    ...Array.from({ length: 16 }, (_, index) =>
      refundByPayment(payment, 30 + index, { from: CAROL, amount: eur(30 + index) })
    )
  ])
  const refusals = racing.flatMap((answer) =>
    answer.status === 'rejected' ? [describeRefusal(answer.reason)] : []
  )
  expect(refusals.length).toBeGreaterThan(20)
  for (const refusal of refusals)
    expect(refusal).toMatch(/^FAILED_PRECONDITION value: no more than \d+ is left/)
  for (const answer of racing) {
    if (answer.status === 'fulfilled' && 'status' in answer.value) {
      expect([201, 400]).toContain(answer.value.status)
    }
    if (answer.status === 'fulfilled' && 'status' in answer.value && answer.value.status === 201) {
      await world.whenEnded(answer.value.textAt('id'))
    }
  }
  const left = 810n - BigInt((await read(payment)).textAt('refundedAmount.value'))
  expect(left >= 0n && left < 30n).toBe(true)
  if (left > 0n) await refund(payment, left)
  const all = (await listed(payment)).filter(({ state }) => state === 'completed')
  const sum = (values: string[]): bigint => values.reduce((total, value) => total + BigInt(value), 0n)
  expect(sum(all.map(({ settledValue }) => settledValue))).toBe(810n)
  expect(await available('alice', 'carol')).toEqual([
    before[0]! + sum(all.map(({ returnedValue }) => returnedValue)),
    before[1]! - 810n
  ])
})

it('whatever the parts are, together they give back exactly what the whole would', async () => {
  const database = openDatabase(world.server.pool)
  const amount = fc.bigInt(0n, UINT64_MAX)
  await fc.assert(
    fc.asyncProperty(
      amount,
      fc.bigInt(1n, UINT64_MAX),
      fc.array(fc.bigInt(1n, UINT64_MAX), { minLength: 1, maxLength: 8 }),
      async (whole, delivered, cuts) => {
        const ends = [...new Set([0n, ...cuts.map((cut) => cut % delivered), delivered])].sort((a, b) =>
          a < b ? -1 : 1
        )
        const parts = ends.slice(1).map((to, index) => ({ from: ends[index]!, to }))
        const rows = await database.$queryRaw<{ share: string }[]>(Prisma.sql`
          select (${shareOf(
            Prisma.sql`${whole.toString()}::numeric`,
            { from: Prisma.sql`part."from"`, to: Prisma.sql`part."to"` },
            Prisma.sql`${delivered.toString()}::numeric`
          )})::text as share
            from json_to_recordset(${JSON.stringify(
              parts.map(({ from, to }) => ({ from: from.toString(), to: to.toString() }))
            )}::json) as part("from" numeric, "to" numeric)`)
        const shares = rows.map(({ share }) => BigInt(share))
        expect(shares).toEqual(
          parts.map(({ from, to }) => (to * whole) / delivered - (from * whole) / delivered)
        )
        expect(shares.reduce((total, share) => total + share, 0n)).toBe(whole)
      }
    ),
    { numRuns: 200 }
  )
})

describe('a payment that refunds another', () => {
  it('is a payment in the other direction, which both sides show', async () => {
    const { payment, receiver } = await paid(1000)
    const before = await available('alice', 'bob')
    const created = await refundByPayment(payment, 500)
    expect(created.status).toBe(201)
    expect(created.at('refundOf')).toBe(payment)
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ refundOf: payment, sentAmount: usd(500), failed: false })
    expect(await available('alice', 'bob')).toEqual([before[0]! + 450n, before[1]! - 500n])

    const id = created.textAt('id')
    const shown = {
      id: `urn:uuid:${id.slice(-36)}`,
      refundOf: payment,
      payment: id,
      state: 'completed',
      value: '450',
      refundAmount: usd(450),
      returnedAmount: usd(450)
    }
    for (const url of [payment, receiver]) {
      expect((await read(url)).body).toMatchObject({ refundedAmount: usd(450), refunds: [shown] })
    }
    expect((await read(payment)).body).toMatchObject({ sentAmount: usd(1000) })
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(900) })
    expect((await read(created.textAt('receiver'))).body).toMatchObject({
      refundOf: payment,
      receivedAmount: usd(450)
    })
    const closed = await read(id, { headers: { accept: 'application/json' } })
    expect(closed.at('refundOf')).toBeUndefined()
    expect(await listed(payment)).toMatchObject([
      { refundId: id.slice(-36), payment: id, settledValue: '450' }
    ])
    expect((await eventsOf(`urn:uuid:${id.slice(-36)}`)).map(([type, data]) => [type, data])).toMatchObject([
      ['refund.created', { state: 'pending', refundAmount: usd(450), payment: id }],
      ['refund.completed', shown]
    ])
    // What is left of 900.
    expect(await refusalOf(refund(payment, 451))).toMatch(/no more than 450 is left/)
    await refund(payment, 450)
  })

  it('may be on the terms of a quote, and between assets', async () => {
    const { payment } = await paid(1000, CAROL)
    const receiver = await world.createReceiver({ walletAddress: ALICE })
    const quoteId = await world.createQuote(receiver, { walletAddress: CAROL, debitAmount: eur(800) })
    const created = await world.request('POST', '/outgoing-payments', {
      body: { walletAddress: CAROL, quoteId, refundOf: payment }
    })
    expect(created.status).toBe(201)
    expect((await world.whenEnded(created.textAt('id'))).at('failed')).toBe(false)
    expect((await read(payment)).at('refundedAmount')).toEqual(eur(800))
    expect((await read(payment)).at('refunds.0')).toMatchObject({
      refundAmount: eur(800),
      returnedAmount: usd(880)
    })
  })

  it('gives back what it took of the bound if it fails, all or the part that it did not send', async () => {
    const { payment } = await paid(1000)
    const receiver = await world.createReceiver({ walletAddress: ALICE, incomingAmount: usd(270) })
    const more = { walletAddress: BOB, refundOf: payment }
    const client = await world.server.pool.connect()
    await client.query('begin')
    await client.query('select 1 from incoming_payment where id = $1 for no key update', [
      receiver.slice(-36)
    ])
    const both = [await world.pay(receiver, 200, more)]
    world.clock.advanceSeconds(1)
    both.push(await world.pay(receiver, 300, more))
    expect((await read(payment)).at('refundedAmount')).toEqual(usd(450))
    await client.query('commit')
    client.release()
    for (const created of both) await world.whenEnded(created.textAt('id'))
    expect((await read(payment)).at('refundedAmount')).toEqual(usd(270))
    expect(
      (await listed(payment)).map(({ state, value, settledValue }) => [state, value, settledValue])
    ).toEqual([
      ['completed', '270', '90'],
      ['completed', '180', '180']
    ])

    const all = await world.available('bob')
    await world.operate('withdraw', { withdrawalId: randomUUID(), accountName: 'bob', value: String(all) })
    const broke = await refundByPayment(payment, 500)
    expect((await world.whenEnded(broke.textAt('id'))).body).toMatchObject({
      failed: true,
      failureReason: 'insufficient_funds',
      refundOf: payment
    })
    await world.operate('deposit', { depositId: randomUUID(), accountName: 'bob', value: '1000000' })
    expect((await read(payment)).at('refundedAmount')).toEqual(usd(270))
    const id = broke.textAt('id').slice(-36)
    expect((await eventsOf(`urn:uuid:${id}`)).map(([type]) => type)).toEqual([
      'refund.created',
      'refund.failed'
    ])
    await refund(payment, 630)
  })

  it('with the same signed request, or the same key, is made once', async () => {
    const { payment } = await paid(1000)
    const receiver = await world.createReceiver({ walletAddress: ALICE })
    const headers = { 'idempotency-key': randomUUID() }
    const ask = (refundOf: object): Promise<Answer> =>
      world.pay(receiver, 1000, { walletAddress: BOB, ...refundOf }, { headers })
    const first = await ask({ refundOf: payment })
    const again = await ask({ refundOf: payment })
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body).toEqual(first.body)
    expect((await ask({})).status).toBe(422)
    expect((await ask({ refundOf: (await paid(1000)).payment })).status).toBe(422)
    await world.whenEnded(first.textAt('id'))
    expect((await ask({ refundOf: payment })).body).toEqual(first.body)
    expect((await read(payment)).at('refundedAmount')).toEqual(usd(900))
  })

  it.each<[what: string, ask: (payment: string) => Promise<Answer>]>([
    ['of more than is left', (payment) => refundByPayment(payment, 1002)],
    ['from another wallet address', (payment) => refundByPayment(payment, 10, { from: ALICE })],
    ['to another wallet address', (payment) => refundByPayment(payment, 10, { to: CAROL })],
    ['of an unknown payment', () => refundByPayment(`${PUBLIC_URL}/outgoing-payments/${randomUUID()}`, 10)],
    [
      'of a payment elsewhere',
      () => refundByPayment(`https://other.example/outgoing-payments/${randomUUID()}`, 10)
    ],
    ['of an incoming payment', async () => refundByPayment(await world.createReceiver(), 10)],
    ['of no URL', () => refundByPayment('', 10)],
    [
      'of a payment that failed',
      async () => {
        const failed = await world.pay(await world.createReceiver(), 9_000_000)
        await world.whenEnded(failed.textAt('id'))
        return refundByPayment(failed.textAt('id'), 10)
      }
    ]
  ])('%s is refused with the field, and spends nothing', async (_what, ask) => {
    const { payment } = await paid(1000)
    const spent = world.limits.spent(world.token)
    const answer = await ask(payment)
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.at('error.details') as object)).toEqual(['refundOf'])
    expect((await read(payment)).at('refundedAmount')).toBeUndefined()
    if (_what !== 'of a payment that failed') expect(world.limits.spent(world.token)).toEqual(spent)
  })

  it('is refused as it is persisted, if another took what was left meanwhile', async () => {
    const { payment } = await paid(1000)
    const answers = await Promise.all(Array.from({ length: 12 }, () => refundByPayment(payment, 400)))
    const made = answers.filter(({ status: answered }) => answered === 201)
    expect(made).toHaveLength(2)
    for (const refused of answers.filter(({ status: answered }) => answered !== 201)) {
      expect(refused.at('error.details')).toEqual({
        refundOf: expect.stringMatching(/^no more than (180|540) is left/)
      })
    }
    for (const created of made) await world.whenEnded(created.textAt('id'))
    await world.whenDelivered()
  })

  it('an ended refund is not ended again, and nothing of such a batch is kept', async () => {
    const { payment } = await paid(1000)
    const created = await refundByPayment(payment, 500)
    await world.whenEnded(created.textAt('id'))
    const before = await digest()
    const ending = { id: created.textAt('id').slice(-36), refundOf: payment.slice(-36), value: 450n }
    const again = { refundEndings: [{ ...ending, settledValue: 1n, returnedValue: 1n }] }
    await expect(endRefunds(openDatabase(world.server.pool), again, world.clock.now())).rejects.toThrow(
      'ending refunds must change 1 refunds, and would change 0'
    )
    expect(await digest()).toEqual(before)
  })

  it('may be refunded itself', async () => {
    const { payment } = await paid(1000)
    const created = await refundByPayment(payment, 1000)
    await world.whenEnded(created.textAt('id'))
    await refund(created.textAt('id'), 900)
    expect((await read(created.textAt('id'))).body).toMatchObject({
      refundOf: payment,
      refundedAmount: usd(900)
    })
    // Its money went back, and what it refunded stays refunded.
    expect(await refusalOf(refund(payment, 1))).toMatch(/no more than 0 is left/)
  })
})

describe('the list of refunds', () => {
  it('has pages, newest first, of all payments or of one', async () => {
    const { payment } = await paid(1000)
    const made = [await refund(payment, 1), await refund(payment, 2), await refund(payment, 3)]
    const page = async (refundOf: string, pageToken: string) =>
      world.operate('listRefunds', { refundOf, pageSize: 2, pageToken })
    for (const refundOf of [payment, '']) {
      const first = await page(refundOf, '')
      expect(first.refunds).toEqual([made[2], made[1]])
      expect((await page(refundOf, first.nextPageToken)).refunds[0]).toEqual(made[0])
    }
    expect(await refusalOf(page('nothing', ''))).toMatch(/^NOT_FOUND refund_of/)
    expect(await refusalOf(page('', 'x'))).toMatch(/^INVALID_ARGUMENT page_token/)
  })
})

describe('an audit names', () => {
  it.each<[what: string, damage: (refundId: string) => string, named: RegExp]>([
    [
      'a refund above what was delivered',
      (id) => `
        update refund set value = 1000, settled_value = 1000, returned_value = 1000 where id = '${id}';
        update transfer set amount = 1000, posted_amount = 1000 where id = '${id}';
        update account set debits_posted = debits_posted + 600 where name = 'bob';
        update account set credits_posted = credits_posted + 600 where name = 'alice';
        update outgoing_payment set refunded_value = 1000, provider_refunded_value = 1000 where refunded_value > 0
           and id = (select refund_of from refund where id = '${id}')`,
      /delivered 900 and counts 1000 refunded/
    ],
    [
      'a refund that its payment does not count',
      (id) => `
        update outgoing_payment set refunded_value = 0, provider_refunded_value = 0
         where id = (select refund_of from refund where id = '${id}')`,
      /delivered 900 and counts 0 refunded, 0 of them by the provider; its refunds are of 400 and 400/
    ],
    [
      'a refund without its transfer',
      (id) => `
        delete from transfer where id = '${id}';
        update account set debits_posted = debits_posted - 400 where name = 'bob';
        update account set credits_posted = credits_posted - 400 where name = 'alice'`,
      /refund .* lacks its refund of 400/
    ],
    [
      'a transfer without its refund',
      (id) => `
        update outgoing_payment set refunded_value = 0, provider_refunded_value = 0
         where id = (select refund_of from refund where id = '${id}');
        delete from refund where id = '${id}'`,
      /refund .* of 400 belongs to no refund that demands it/
    ],
    [
      'a refund to someone else',
      (id) => `
        update transfer set credit_account_id = (select id from account where name = 'bob') where id = '${id}';
        update account set credits_posted = credits_posted + 400 where name = 'bob';
        update account set credits_posted = credits_posted - 400 where name = 'alice'`,
      /refund .* of refund .*: 400, from .* to .*; its refund demands 400/
    ],
    [
      'a refund at another rate',
      (id) => `update refund set returned_value = 399 where id = '${id}'`,
      /it took 400 from 0 on and returned 399, and 0 of the fee; its payment demands from 0 on, 400 and 0/
    ],
    [
      'a refund of another payment',
      (id) => `
        update refund set incoming_payment_id = (select id from incoming_payment i where received_value > 0
           and i.id <> refund.incoming_payment_id limit 1) where id = '${id}'`,
      /it is not between the receiver and the payer of its payment/
    ],
    [
      'a payment that refunds nothing',
      (id) => `
        update outgoing_payment set refund_of = (select refund_of from refund where id = '${id}')
         where id = (select max(id::text)::uuid from outgoing_payment where refund_of is null
                       and id <> (select refund_of from refund where id = '${id}'))`,
      /payment .* refunds .*, and there is no such refund/
    ]
  ])('%s', async (_what, damage, named) => {
    const { payment } = await paid(1000)
    await paid(10)
    const { refundId } = await refund(payment, 400)
    await world.whenDelivered()
    const restore = await damageDatabase(world.database, damage(refundId))
    const violations = await world.audit()
    await restore()
    expect(violations.join('\n')).toMatch(named)
  })

  it('a refund by a payment whose amounts differ from that payment', async () => {
    const { payment } = await paid(1000)
    const created = await refundByPayment(payment, 500)
    await world.whenEnded(created.textAt('id'))
    await world.whenDelivered()
    const restore = await damageDatabase(
      world.database,
      `update refund set settled_value = 440 where payment_id is not null and id = '${created.textAt('id').slice(-36)}';
       update outgoing_payment set refunded_value = 440 where id = '${payment.slice(-36)}'`
    )
    const violations = await world.audit()
    await restore()
    expect(violations.join('\n')).toMatch(
      /it is completed with 440 of 450 taken and 450 returned, and its own payment is completed with 450 of 450 and 450/
    )
  })
})
