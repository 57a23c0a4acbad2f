import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { inTransaction } from '@open-payments-server/database'
import { status } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { type Answer, damageDatabase } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Queries } from '../src/modules/database.js'
import {
  beginSendingAtOnce,
  leaseDue,
  type LeasedSending,
  payerKey
} from '../src/modules/outgoing-payments/index.js'
import type { OtherProvider } from './support/other-provider.js'
import { openDatabase } from './support/open-database.js'
import type { TestPeers } from './support/paying-peer.js'
import { eur, PUBLIC_URL, usd } from './support/payment-world.js'
import { type RateSource, startRateSource } from './support/rate-source.js'
import { type ReceivingPeer, startReceivingPeer } from './support/receiving-peer.js'
import { type SendingWorld, startSendingWorld, TICK_MS, USD } from './support/sending-world.js'

/** How many payments of a provider are read at a time to which nothing was ever delivered. */
const STRANGER_REQUESTS_MAX = 16
/** For how long a quote stands. */
const QUOTE_LIFETIME_SECONDS = 300

let world: SendingWorld
let peers: TestPeers
let peer: ReceivingPeer
let provider: OtherProvider
let name: string
let rates: RateSource
/** Euros for a dollar; `null` when the provider has no such rate, and undefined while its rates cannot be had. */
let rateToEuros: string | null | undefined

beforeAll(async () => {
  rates = await startRateSource((query) => (query === '?source=USD&target=EUR' ? rateToEuros : null))
  const settings = { EXCHANGE_RATES_URL: rates.url, EXCHANGE_RATES_CACHE_SECONDS: '0' }
  world = await startSendingWorld({ settings })
  ;({ peers, peer, provider, name } = world)
})
afterAll(async () => {
  expect(await world.audit()).toEqual([])
  await world.stop()
  await rates.stop()
})

/** Quotes and pays what the world asks for, and reads the payment when it has ended. */
async function payWhole(more: object = {}): Promise<Answer> {
  const quoted = await world.quote(more)
  expect(quoted.text).toContain('"debitAmount"')
  const created = await world.payQuote(quoted.textAt('id'))
  expect(created.status).toBe(201)
  return world.whenEnded(created.textAt('id'))
}
const reasonOf = async ({ id }: { readonly id: string }) => {
  const [row] = await world.database.query<{ failure_reason: string | null; settled_receive_value: string }>(
    'select failure_reason, settled_receive_value::text from outgoing_payment where id = $1',
    [id]
  )
  return row
}
const idOf = (answer: Answer) => ({ id: answer.textAt('id').slice(-36) })
const reservationOf = (answer: Answer) => world.limits.reservations.get(idOf(answer).id)
/** Decides about the one packet of a payment of which nothing is known. */
const decide = async (created: Answer, arrived: boolean) => {
  const [row] = await world.database.query<{ condition: Buffer }>(
    `select condition from sent_packet where payment_id = $1 order by outcome = 'unknown' desc`,
    [idOf(created).id]
  )
  const condition = row?.condition.toString('base64url') ?? ''
  return peers.operate('decidePacket', { name, condition, arrived, arrivedValue: '' })
}
/** What was told of a payment: each event with what had been paid then. */
const toldOf = async (created: Answer) => {
  const rows = await world.database.query<{
    type: string
    change: { settled_debit_value: string } | null
  }>('select type, change from event where subject_id = $1 order by number', [idOf(created).id])
  return rows.map(({ type, change }) => [type, change?.settled_debit_value])
}
const sendingOf = async (url: string) => {
  const [row] = await world.database.query<{
    due_at: Date | null
    leased_by: string | null
    attempts: number
  }>('select due_at, leased_by, attempts from sending where payment_id = $1', [url.slice(-36)])
  return row
}

/** How many packets of a payment had an outcome, of those whose answers are written down. */
async function packetCountOf(url: string, outcome: 'fulfilled' | 'rejected'): Promise<number> {
  const [row] = await world.database.query<{ count: number }>(
    'select count(*)::integer as count from sent_packet where payment_id = $1 and outcome::text = $2',
    [url.slice(-36), outcome]
  )
  return row?.count ?? 0
}

/** The peer fulfills one packet, and rejects others for now; another one as soon as `isTaken` is false again. */
function takeOne(): { isTaken: boolean } {
  const taking = { isTaken: false }
  peer.handle = async (_prepare, answer) => {
    const later = { code: 'T00', triggeredBy: peer.ilpAddress, message: '', data: Buffer.alloc(0) }
    if (taking.isTaken) return { type: 'reject', ...later }
    const reply = await answer()
    if (reply.type === 'fulfill') taking.isTaken = true
    return reply
  }
  return taking
}

/** Lets so much time pass that what was read of receivers is read again. */
async function forgetReceivers(): Promise<void> {
  world.aheadMs += 10_000
  await world.whenAhead()
}

/** Sets how much more may be owed to the peer, with all that may still be sent to it. */
async function leaveRoom(value: bigint): Promise<void> {
  const [held] = await world.database.query<{ value: string }>(
    'select coalesce(sum(held_value), 0)::text as value from sending'
  )
  await world.limit(String((await world.owed()) + BigInt(held?.value ?? '') + value))
}

/** Pays it, while the provider wants to see whatever goes elsewhere. */
async function awaitingApproval(): Promise<{ created: Answer; approve: () => Promise<unknown> }> {
  const rule = { aboveValue: '', walletAddress: '', firstPayee: false, method: 'ilp', client: '' }
  const made = await world.operate('createApprovalRule', rule)
  const created = await world.payQuote((await world.quote()).textAt('id'))
  await world.operate('deleteApprovalRule', { ruleId: String(made.rule?.id) })
  const outgoingPayment = created.textAt('id')
  return { created, approve: () => world.operate('approvePayment', { outgoingPayment, reason: '' }) }
}

/** Makes the payment at the other provider another one, which takes any amount of euros. Answers its id at the peer. */
function askForEuros(): string {
  const id = world.ask()
  const methods = [peer.methodOf(id, { code: 'EUR', scale: 2 })]
  provider.payment = { ...provider.payment, receivedAmount: eur(0), methods }
  return id
}

/** Nothing is sent by a process. */
const nothingSent = { sentTo: new Map<string, number>(), sentFrom: new Map<string, number>() }

/** Has a payment of alice's be one of another wallet address of hers. */
async function payFromAnother(transaction: Queries, paymentId: string): Promise<void> {
  await transaction.$executeRawUnsafe(
    `with another as (
       insert into wallet_address (id, path, account_id)
       select gen_random_uuid(), '/' || gen_random_uuid(), w.account_id
         from outgoing_payment p join wallet_address w on w.id = p.wallet_address_id where p.id = $1::uuid
       returning id)
     update outgoing_payment set wallet_address_id = (select id from another) where id = $1::uuid`,
    paymentId
  )
}

/** Pays the payment at the other provider so many times, and then another one, and undoes what is done before any process takes these. */
async function whileNobodyTakes(
  count: number,
  lastUrl: string,
  act: (
    transaction: Queries,
    given: {
      readonly claim: Omit<Parameters<typeof beginSendingAtOnce>[1], 'room' | 'leaseId' | 'leasedUntilMs'>
      readonly lease: { readonly leaseId: string; readonly leasedUntilMs: number }
      readonly due: Omit<Parameters<typeof leaseDue>[1], 'room'>
      /** URLs of the payments. */
      readonly created: readonly string[]
    }
  ) => Promise<void>
): Promise<void> {
  // Held by a freeze, so that nobody else takes them.
  const rule = { aboveValue: '', walletAddress: '', firstPayee: false, method: 'ilp', client: '' }
  const made = await world.operate('createApprovalRule', rule)
  const created: string[] = []
  for (const url of [...Array.from({ length: count }, () => provider.url), lastUrl]) {
    created.push((await world.pay(url, 1)).textAt('id'))
  }
  await world.operate('deleteApprovalRule', { ruleId: String(made.rule?.id) })
  await world.operate('freezeAccount', { accountName: 'alice', reason: '' })
  for (const outgoingPayment of created)
    await world.operate('approvePayment', { outgoingPayment, reason: '' })
  const undo = new Error('undone')
  const nowMs = world.clock.now()
  const claim = { limit: 100, holdsFrozen: false, mostTo: new Map<string, bigint>(), nowMs }
  const lease = { leaseId: randomUUID(), leasedUntilMs: nowMs + 1_000 }
  const due = { ...lease, limit: 100, except: [], holdsFrozen: false, nowMs: nowMs + 2_000 }
  const taken = inTransaction(openDatabase(world.server.pool), async (transaction) => {
    await act(transaction, { claim, lease, due: { ...due, heldDueBeforeMs: nowMs }, created })
    throw undo
  })
  await expect(taken).rejects.toBe(undo)
  await world.operate('unfreezeAccount', { accountName: 'alice', reason: '' })
  await Promise.all(created.map((url) => world.whenEnded(url)))
}

beforeEach(() => {
  rateToEuros = '0.9'
  Object.assign(peer, {
    rateThousandths: 1_000n,
    packetLimitValue: undefined,
    probeLimitValue: undefined,
    handle: undefined,
    credit: undefined
  })
  for (const part of ['public', 'payment', 'grant', 'rotation'] as const) provider.answer(part)
})

describe('a payment to another provider', () => {
  it('is quoted firmly and arrives to the unit', async () => {
    const id = world.ask(2_500n)
    const [before, owedBefore] = [await world.available('alice'), await world.owed()]
    const quoted = await world.quote()
    expect(quoted.body).toMatchObject({ debitAmount: usd(2_500), receiveAmount: usd(2_500) })
    const created = await world.payQuote(quoted.textAt('id'))
    expect(created.status).toBe(201)
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(2_500) })
    expect(peer.payment(id)).toMatchObject({ receivedValue: 2_500n })
    expect(await world.available('alice')).toBe(before - 2_500n)
    expect(await world.owed()).toBe(owedBefore + 2_500n)
    await world.whenDelivered()
    expect(reservationOf(created)).toMatchObject({ state: 'settled', debited: 2_500n, received: 2_500n })
  })

  it('delivers what a fixed debit or a fixed receipt brings, and nothing more to a receiver that takes any amount', async () => {
    for (const [more, value] of [
      [{ debitAmount: usd(1_000) }, 1_000n],
      [{ receiveAmount: usd(321) }, 321n]
    ] as const) {
      const id = world.ask()
      expect((await payWhole(more)).body).toMatchObject({ failed: false, sentAmount: usd(value) })
      expect(peer.payment(id).receivedValue).toBe(value)
    }
  })

  it('needs no quote', async () => {
    const id = world.ask()
    const created = await world.pay(provider.url, 777)
    expect(created.body).toMatchObject({ debitAmount: usd(777), receiveAmount: usd(777), sentAmount: usd(0) })
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(777))
    expect(peer.payment(id).receivedValue).toBe(777n)
  })

  it('makes its provider no stranger: as many of the payments there are read at a time as arrive', async () => {
    world.ask(100n)
    expect((await payWhole()).body).toMatchObject({ failed: false })
    world.ask()
    const waiting: ServerResponse[] = []
    let haveArrived = false
    provider.answer('payment', (response) => {
      waiting.push(response)
      haveArrived ||= waiting.length === STRANGER_REQUESTS_MAX * 2
      if (!haveArrived) return
      for (const one of waiting.splice(0))
        one.setHeader('content-type', 'application/json').end(JSON.stringify(provider.payment))
    })
    const quotes = Array.from({ length: STRANGER_REQUESTS_MAX * 2 }, () =>
      world.quote({ debitAmount: usd(100) })
    )
    expect((await Promise.all(quotes)).map(({ status }) => status)).toEqual(quotes.map(() => 201))
  })

  it('goes in many packets where the way takes only small ones', async () => {
    const id = world.ask(5_000n)
    peer.packetLimitValue = 300n
    expect((await payWhole()).body).toMatchObject({ failed: false, sentAmount: usd(5_000) })
    expect(peer.payment(id).receivedValue).toBe(5_000n)
  })

  it("costs a reserve where its rate may change, which is the provider's if it does not", async () => {
    const id = world.ask()
    peer.rateThousandths = 980n
    const quoted = await world.quote({ debitAmount: usd(10_000) })
    // 2 % are lost on the way, and of the rest 0.5 % is reserved.
    expect(quoted.at('receiveAmount')).toEqual(usd(9_751))
    const owedBefore = await world.owed()
    const created = await world.payQuote(quoted.textAt('id'))
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: false,
      sentAmount: usd(10_000)
    })
    expect(peer.payment(id).receivedValue).toBe(9_751n)
    const sent = (await world.owed()) - owedBefore
    expect(sent).toBeGreaterThan(9_900n)
    expect(sent).toBeLessThan(10_000n)
  })

  it('is given up where the rate gets worse than the quote allows', async () => {
    world.ask()
    const quoted = await world.quote({ debitAmount: usd(10_000) })
    peer.rateThousandths = 990n
    const before = await world.available('alice')
    const created = await world.payQuote(quoted.textAt('id'))
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: true,
      sentAmount: usd(0)
    })
    expect(await reasonOf(idOf(created))).toMatchObject({ failure_reason: 'rate_changed' })
    expect(await world.available('alice')).toBe(before)
    await world.whenDelivered()
    expect(reservationOf(created)?.state).toBe('released')
  })

  it('is not quoted at a rate that is much worse than ours', async () => {
    world.ask()
    peer.rateThousandths = 900n
    const refused = await world.quote({ debitAmount: usd(10_000) })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('no exchange rate')])
  })

  it.each([
    ['a connector shows', 2n, 500n],
    ['its receiver rounds', 9n, 900n]
  ])(
    'is not quoted at a rate that is much worse than ours because of a small packet, the only one that %s',
    async (_who, probeLimitValue, thousandths) => {
      world.ask()
      peer.probeLimitValue = probeLimitValue
      peer.rateThousandths = thousandths
      const quoted = await world.quote({ receiveAmount: usd(10_000) })
      expect(quoted.status).toBe(201)
      const { value } = quoted.at('debitAmount') as { value: string }
      expect(Number(value)).toBeGreaterThan(10_000)
      // 5 % worse than ours, and the reserve.
      expect(Number(value)).toBeLessThanOrEqual(10_580)

      const url = (await world.payQuote(quoted.textAt('id'))).textAt('id')
      while ((await packetCountOf(url, 'rejected')) < 5) await delay(TICK_MS)
      // Nothing is delivered for so long that the attempt ends.
      world.aheadMs += 30_000
      const ended = await world.whenEnded(url)
      // The way is worse than that: it ends with what one packet showed.
      const { value: sentValue } = ended.at('sentAmount') as { value: string }
      expect(BigInt(sentValue)).toBeLessThanOrEqual(probeLimitValue)
    }
  )

  it.each([
    ['while our own rate cannot be had', undefined, 503, 'exchange rates are temporarily unavailable'],
    ['where we have no rate', null, 400, 'no exchange rate from USD to EUR']
  ])(
    'is not made in another asset %s: its receiver alone would say what it costs',
    async (_when, rate, status, description) => {
      askForEuros()
      rateToEuros = rate
      peer.rateThousandths = 1n
      const count = 'select (select count(*) from quote) + (select count(*) from outgoing_payment) as count'
      const [[before], reserved] = [await world.database.query(count), world.limits.reservations.size]
      const refused = [
        await world.quote({ receiveAmount: eur(100) }),
        await world.quote({ debitAmount: usd(100_000) }),
        await world.pay(provider.url, 100_000)
      ]
      for (const answer of refused)
        expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(description)])
      expect(await world.database.query(count)).toEqual([before])
      expect(world.limits.reservations.size).toBe(reserved)
    }
  )

  it('is sent at the rate of its quote, also while our own cannot be had', async () => {
    const id = askForEuros()
    peer.rateThousandths = 900n
    const quoted = await world.quote({ receiveAmount: eur(900) })
    expect(quoted.at('debitAmount')).toEqual(usd(1_006))
    rateToEuros = undefined
    const created = await world.payQuote(quoted.textAt('id'))
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: false,
      sentAmount: usd(1_006)
    })
    expect(peer.payment(id).receivedValue).toBe(900n)
  })

  it('costs what was delivered, if its receiver is completed midway', async () => {
    const id = world.ask()
    peer.packetLimitValue = 1_000n
    peer.handle = async (_prepare, answer) => {
      const reply = await answer()
      if (reply.type === 'fulfill') peer.payment(id).isOver = true
      return reply
    }
    const before = await world.available('alice')
    const ended = await payWhole({ receiveAmount: usd(5_000) })
    expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(1_000) })
    expect(peer.payment(id).receivedValue).toBe(1_000n)
    expect(await reasonOf(idOf(ended))).toEqual({
      failure_reason: 'partially_delivered',
      settled_receive_value: '1000'
    })
    expect(await world.available('alice')).toBe(before - 1_000n)
    await world.whenDelivered()
    expect(reservationOf(ended)).toMatchObject({ state: 'settled', debited: 1_000n, received: 1_000n })
  })

  it('costs all of it, and is completed, where what was delivered costs that, rounded up', async () => {
    const nano = { code: 'USD', scale: 9 }
    await world.operate('createAsset', { asset: nano })
    const fine = await startReceivingPeer(world.clock, 'test.fine')
    const order = { endpoint: fine.endpoint, ilpAddress: fine.ilpAddress, asset: nano }
    const { name: fineName } = await peers.create(order)
    const id = world.ask()
    const receivedAmount = { value: '0', assetCode: nano.code, assetScale: nano.scale }
    provider.payment = { ...provider.payment, receivedAmount, methods: [fine.methodOf(id, nano)] }
    fine.packetLimitValue = 9_999_999n
    fine.handle = async (_prepare, answer) => {
      const reply = await answer()
      if (reply.type === 'fulfill') fine.payment(id).isOver = true
      return reply
    }
    const before = await world.available('alice')
    const ended = await payWhole({ debitAmount: usd(1) })
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(1) })
    expect(fine.payment(id).receivedValue).toBe(9_999_999n)
    const { peer: owed } = await peers.operate('getPeer', { name: fineName })
    expect(owed?.payableValue).toBe('9999999')
    expect(await world.available('alice')).toBe(before - 1n)
    await world.whenDelivered()
    expect(reservationOf(ended)).toMatchObject({ state: 'settled', debited: 1n })
    await fine.stop()
  })

  it.each<[string, object, string, boolean]>([
    ['completed', { completed: true, methods: undefined }, 'receiver_completed', false],
    ['expired', { expiresAt: '2020-01-01T00:00:00Z' }, 'receiver_expired', true]
  ])(
    'fails as its receiver is %s, though its packets tell something else',
    async (_what, change, reason, isClosed) => {
      const id = world.ask(100n)
      peer.handle = async (_prepare, answer) => {
        provider.payment = { ...provider.payment, ...change }
        peer.payment(id).isOver = isClosed
        if (isClosed) return answer()
        // As a connector says it that no longer has the address.
        return { type: 'reject', code: 'F02', triggeredBy: '', message: '', data: Buffer.alloc(0) }
      }
      const ended = await payWhole()
      expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(0) })
      expect(await reasonOf(idOf(ended))).toMatchObject({ failure_reason: reason })
    }
  )

  it.each([
    ['completed', { completed: true, methods: undefined }, 'receiver_completed'],
    ['expired', { expiresAt: '2020-01-01T00:00:00Z' }, 'receiver_expired']
  ])('sends nothing to a receiver that is %s since the quote', async (_what, change, reason) => {
    world.ask(100n)
    const quoted = await world.quote()
    provider.payment = { ...provider.payment, ...change }
    await forgetReceivers()
    const created = await world.payQuote(quoted.textAt('id'))
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: true,
      sentAmount: usd(0)
    })
    expect(await reasonOf(idOf(created))).toMatchObject({ failure_reason: reason })
  })

  it('waits for the approval of the provider, and is sent then', async () => {
    const id = world.ask(700n)
    const { created, approve } = await awaitingApproval()
    const read = await world.whenEnded(created.textAt('id'))
    expect(read.body).toMatchObject({ state: 'awaiting_approval' })
    expect(peer.payment(id).receivedValue).toBe(0n)
    await approve()
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(700))
    expect(peer.payment(id).receivedValue).toBe(700n)
  })

  it('fails for want of money before anything is sent', async () => {
    const id = world.ask()
    const created = await world.pay(provider.url, 999_999_999)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: true,
      sentAmount: usd(0)
    })
    expect(await reasonOf(idOf(created))).toMatchObject({ failure_reason: 'insufficient_funds' })
    expect(peer.payment(id).receivedValue).toBe(0n)
  })
})

describe('what is owed to a peer', () => {
  it('is told of once it is more than the peer alerts at, and again only after it was settled', async () => {
    const alert = (highAlertValue: string) =>
      peers.operate('updatePeer', { name, highAlertValue, routes: undefined })
    const before = await world.owed()
    await alert(String(before + 500n))
    const told = async () =>
      (
        await world.database.query<{ change: { payable_value: string } }>(
          `select change from event where type = 'liquidity.high' order by number`
        )
      ).map(({ change }) => BigInt(change.payable_value) - before)
    const payHundreds = async (hundreds: bigint): Promise<void> => {
      world.ask(hundreds * 100n)
      expect((await payWhole()).body).toMatchObject({ failed: false })
    }
    await payHundreds(5n)
    await payHundreds(1n)
    await payHundreds(1n)
    while ((await told()).length < 1) await delay(10)
    const settlement = { name, reference: 'bank 4712', key: 'high', value: '300' }
    await peers.operate('settlePeer', {
      ...settlement,
      direction: wallet.SettlementDirection.SETTLEMENT_DIRECTION_SENT
    })
    await payHundreds(2n)
    while ((await told()).length < 2) await delay(10)
    expect(await told()).toEqual([600n, 600n])
    await alert('')
  })
})

describe('a refund to another provider', () => {
  it('is an ordinary payment that names what it refunds in its metadata', async () => {
    const id = world.ask(300n)
    const refundOf = new URL('/outgoing-payments/6c9f0d1e-8a51-5b7e-b0c4-2f6f1f9a7c33', provider.url).href
    const metadata = { because: 'wrong size' }
    const created = await world.pay(provider.url, 300, { refundOf, metadata })
    expect([created.status, created.at('metadata')]).toEqual([201, { because: 'wrong size', refundOf }])
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(300), metadata: { refundOf } })
    expect(peer.payment(id).receivedValue).toBe(300n)
  })

  it.each([
    ['a third provider', 'https://third.example/outgoing-payments/6c9f0d1e-8a51-5b7e-b0c4-2f6f1f9a7c33'],
    ['this provider', `${PUBLIC_URL}/outgoing-payments/6c9f0d1e-8a51-5b7e-b0c4-2f6f1f9a7c33`]
  ])('refunds no payment of %s', async (_whose, refundOf) => {
    world.ask()
    const refused = await world.pay(provider.url, 300, { refundOf })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('invalid refund')])
  })

  it('cannot be made by the provider of who paid, for the receiver has the money elsewhere', async () => {
    world.ask(300n)
    const paid = await payWhole()
    const refund = world.operate('createRefund', {
      refundOf: paid.textAt('id'),
      value: '100',
      idempotencyKey: '',
      returnsFee: false
    })
    await expect(refund).rejects.toThrow('it was delivered to another provider')
  })
})

describe('a payment that is under way', () => {
  it('shows what is known to have arrived', async () => {
    world.ask(3_000n)
    peer.packetLimitValue = 1_000n
    let fulfilled = 0
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    peer.handle = async (_prepare, answer) => {
      const reply = await answer()
      if (reply.type === 'fulfill' && ++fulfilled > 1) await held
      return reply
    }
    const created = await world.payQuote((await world.quote()).textAt('id'))
    const path = created.textAt('id').slice(PUBLIC_URL.length)
    const sentAmount = async () => (await world.request('GET', path)).at('sentAmount') as { value: string }
    while ((await sentAmount()).value !== '1000') await delay(20)
    release()
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: false,
      sentAmount: usd(3_000)
    })
  })

  it('is told of when a part is delivered and the rest must wait', async () => {
    world.ask(3_000n)
    peer.packetLimitValue = 1_000n
    const taking = takeOne()
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while (!taking.isTaken) await delay(TICK_MS)
    // Nothing more is delivered for so long that the attempt ends.
    while ((await toldOf(created)).length < 2) {
      world.aheadMs += 1_000
      await delay(TICK_MS)
    }
    peer.handle = undefined
    await world.whenEnded(created.textAt('id'))
    while ((await toldOf(created)).length < 3) await delay(TICK_MS)
    expect(await toldOf(created)).toEqual([
      ['outgoing_payment.created', undefined],
      ['outgoing_payment.partially_sent', '1000'],
      ['outgoing_payment.completed', '3000']
    ])
  })

  it('goes on elsewhere when the process that sends it is gone', async () => {
    const id = world.ask(2_000n)
    const quoted = await world.quote()
    // This process cannot take it, and one that never comes back has.
    const other = randomUUID()
    await world.database.query(
      `alter table sending add constraint nobody_here check (leased_by = '${other}') not valid`
    )
    const created = await world.payQuote(quoted.textAt('id'))
    await world.database.query(
      `insert into sending (payment_id, peer_id, held_value, due_at, leased_by, leased_until)
       select id, peer_id, send_max_value, now(), $1, now() + interval '1 second' from outgoing_payment where id = $2`,
      [other, idOf(created).id]
    )
    await world.database.query('alter table sending drop constraint nobody_here')
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(2_000))
    expect(peer.payment(id).receivedValue).toBe(2_000n)
  })

  it('is sent no further by a process that another one has taken it from', async () => {
    const id = world.ask(3_000n)
    peer.packetLimitValue = 1_000n
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const came: bigint[] = []
    peer.handle = async ({ amount }, answer) => {
      const reply = await answer()
      if (reply.type !== 'fulfill') return reply
      came.push(amount)
      await held
      return reply
    }
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while (came.length === 0) await delay(10)
    const other = randomUUID()
    const take = 'update sending set leased_by = $1, leased_until = $2 where payment_id = $3'
    const inAnHour = new Date(Date.now() + 3_600_000)
    await world.database.query(take, [other, inAnHour, idOf(created).id])
    release()
    // Whatever is paid now begins after the attempt has ended.
    peer.handle = undefined
    const document = provider.payment
    world.ask()
    expect((await payWhole({ debitAmount: usd(10) })).at('failed')).toBe(false)
    provider.payment = document
    expect([came, await sendingOf(created.textAt('id'))]).toMatchObject([[1_000n], { leased_by: other }])
    expect(peer.payment(id).receivedValue).toBe(1_000n)
    await world.database.query(take, [other, new Date(Date.now() - 1), idOf(created).id])
    // Its answer got lost with the attempt.
    while ((await sendingOf(created.textAt('id')))?.due_at !== null) await delay(20)
    await world.database.query(`update sent_packet set expires_at = expires_at - interval '5 minutes'`)
    await decide(created, true)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(3_000))
    expect(peer.payment(id).receivedValue).toBe(3_000n)
  })

  it('is not ended by an attempt that another one has taken it from', async () => {
    world.ask(900n)
    const quoted = await world.quote()
    await forgetReceivers()
    const waiting: ServerResponse[] = []
    provider.answer('payment', (response) => {
      waiting.push(response)
    })
    const created = await world.payQuote(quoted.textAt('id'))
    while (waiting.length === 0) await delay(TICK_MS)
    const { id: paymentId } = idOf(created)
    const take = 'update sending set leased_by = $1, leased_until = $2 where payment_id = $3'
    const other = randomUUID()
    await world.database.query(take, [other, new Date(Date.now() + world.aheadMs + 60_000), paymentId])
    // As the attempt sees it, nothing was delivered, and nothing can be.
    const completed = JSON.stringify({ ...provider.payment, completed: true, methods: undefined })
    for (const one of waiting) one.setHeader('content-type', 'application/json').end(completed)
    provider.answer('payment')
    // Whatever is paid now begins after the attempt has ended.
    const document = provider.payment
    world.ask()
    expect((await payWhole({ debitAmount: usd(10) })).at('failed')).toBe(false)
    provider.payment = document
    expect(await sendingOf(created.textAt('id'))).toMatchObject({ leased_by: other })
    await world.database.query(take, [other, new Date(0), paymentId])
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(900))
  })

  it('is held by a freeze, and goes on afterwards', async () => {
    const id = world.ask(400n)
    const { created, approve } = await awaitingApproval()
    await world.operate('freezeAccount', { accountName: 'alice', reason: '' })
    await approve()
    // Whatever of bob is sent was looked for after that.
    const other = await world.pay(provider.url, 10, { walletAddress: `${PUBLIC_URL}/bob` })
    await world.whenEnded(other.textAt('id'))
    expect(await sendingOf(created.textAt('id'))).toBeUndefined()
    await world.operate('unfreezeAccount', { accountName: 'alice', reason: '' })
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({ failed: true })
    expect(peer.payment(id).receivedValue).toBe(400n)
    expect(await reasonOf(idOf(created))).toMatchObject({ failure_reason: 'partially_delivered' })
  })

  it('is sent no further once a freeze holds it, and goes on afterwards', async () => {
    const id = world.ask(3_000n)
    peer.packetLimitValue = 10n
    // Slow enough to be frozen long before it is over.
    peer.handle = async (_prepare, answer) => {
      await delay(500)
      return answer()
    }
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while (peer.payment(id).receivedValue === 0n) await delay(TICK_MS)
    await world.operate('freezeAccount', { accountName: 'alice', reason: '' })
    while ((await sendingOf(created.textAt('id')))?.leased_by !== null) await delay(TICK_MS)
    const { receivedValue } = peer.payment(id)
    expect(receivedValue).toBeLessThan(3_000n)
    expect(reservationOf(created)?.state).toBe('open')
    // Whatever of bob is sent was looked for after that.
    const other = await world.pay(provider.url, 10, { walletAddress: `${PUBLIC_URL}/bob` })
    await world.whenEnded(other.textAt('id'))
    expect(peer.payment(id).receivedValue).toBe(receivedValue + 10n)
    peer.handle = undefined
    await world.operate('unfreezeAccount', { accountName: 'alice', reason: '' })
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.at('sentAmount')).toEqual(usd(2_990))
    expect(peer.payment(id).receivedValue).toBe(3_000n)
  })

  it('ends with what was delivered if a freeze holds it and its receiver expires', async () => {
    const id = world.ask(3_000n)
    peer.packetLimitValue = 1_000n
    const taking = takeOne()
    const before = await world.available('alice')
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while (!taking.isTaken) await delay(TICK_MS)
    await world.operate('freezeAccount', { accountName: 'alice', reason: '' })
    while ((await sendingOf(created.textAt('id')))?.leased_by !== null) await delay(TICK_MS)
    const read = await world.request('GET', created.textAt('id').slice(PUBLIC_URL.length))
    expect(read.body).toMatchObject({ failed: false })
    provider.payment = { ...provider.payment, expiresAt: '2020-01-01T00:00:00Z' }
    world.aheadMs += 60_000
    const ended = await world.whenEnded(created.textAt('id'))
    await world.operate('unfreezeAccount', { accountName: 'alice', reason: '' })
    expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(1_000) })
    expect(await reasonOf(idOf(created))).toEqual({
      failure_reason: 'partially_delivered',
      settled_receive_value: '1000'
    })
    expect(peer.payment(id).receivedValue).toBe(1_000n)
    expect(await world.available('alice')).toBe(before - 1_000n)
    await world.whenDelivered()
    expect(reservationOf(created)).toMatchObject({ state: 'settled', debited: 1_000n, received: 1_000n })
  })

  it('ends after ten attempts that deliver less than a hundredth of it each', async () => {
    const id = world.ask(3_000n)
    peer.packetLimitValue = 1n
    const taking = takeOne()
    const created = await world.payQuote((await world.quote()).textAt('id'))
    const url = created.textAt('id')
    for (let attempt = 1; attempt < 10; attempt += 1) {
      // The clock stands until the answer is read: nothing is late.
      while ((await packetCountOf(url, 'fulfilled')) < attempt) await delay(TICK_MS)
      world.aheadMs += 30_000
      while ((await sendingOf(url))?.attempts !== attempt) await delay(TICK_MS)
      taking.isTaken = false
      const dueMs = (await sendingOf(url))?.due_at?.getTime() ?? NaN
      world.aheadMs = Math.max(world.aheadMs, dueMs - Date.now())
    }
    while ((await packetCountOf(url, 'fulfilled')) < 10) await delay(TICK_MS)
    world.aheadMs += 30_000
    await world.whenEnded(url)
    expect(peer.payment(id).receivedValue).toBe(10n)
    expect(await reasonOf(idOf(created))).toEqual({
      failure_reason: 'partially_delivered',
      settled_receive_value: '10'
    })
  })

  it('costs no less than was taken, if its receiver says that it has hardly any room', async () => {
    world.ask()
    peer.packetLimitValue = 200n
    let takenValue = 0n
    peer.credit = ({ value }) => {
      if (takenValue === 0n) {
        takenValue = -1n
        return { outcome: 'no-room', receiveMaxValue: 1n, receivedValue: 0n }
      }
      takenValue = value + (takenValue < 0n ? 0n : takenValue)
      return { outcome: 'credited', value: 1n }
    }
    const before = { available: await world.available('alice'), owed: await world.owed() }
    const ended = await payWhole({ receiveAmount: usd(600) })
    expect(takenValue).toBeGreaterThan(0n)
    expect((await world.owed()) - before.owed).toBe(takenValue)
    expect(before.available - (await world.available('alice'))).toBe(takenValue)
    expect(ended.at('sentAmount')).toEqual(usd(Number(takenValue)))
    await world.whenDelivered()
    expect(reservationOf(ended)).toMatchObject({ debited: takenValue })
  })

  it('goes on when its packets are answered late, and within their time', async () => {
    const id = world.ask(400n)
    peer.handle = async (_prepare, answer) => {
      const reply = await answer()
      // Longer than a packet may take to leave.
      await delay(11_000)
      return reply
    }
    const ended = await payWhole()
    expect(ended.body).toMatchObject({ sentAmount: usd(400) })
    expect(peer.payment(id).receivedValue).toBe(400n)
  })

  it('ends with what was delivered when its terms have long not stood', async () => {
    const id = world.ask(3_000n)
    peer.packetLimitValue = 1_000n
    const taking = takeOne()
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while (!taking.isTaken) await delay(TICK_MS)
    await world.operate('freezeAccount', { accountName: 'alice', reason: '' })
    while ((await sendingOf(created.textAt('id')))?.leased_by !== null) await delay(TICK_MS)
    await world.database.query(
      `update outgoing_payment set begin_until = $2::timestamptz - interval '11 minutes' where id = $1`,
      [idOf(created).id, new Date(world.clock.now()).toISOString()]
    )
    peer.handle = undefined
    await world.operate('unfreezeAccount', { accountName: 'alice', reason: '' })
    world.aheadMs += 60_000
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(1_000) })
    expect(peer.payment(id).receivedValue).toBe(1_000n)
  })

  it('leaves room for those to others, however many there are to one peer', async () => {
    const other = await startReceivingPeer(world.clock, 'test.another')
    await peers.create({ endpoint: other.endpoint, ilpAddress: other.ilpAddress })
    world.ask()
    const otherId = randomUUID()
    const otherUrl = provider.add(otherId, {
      incomingAmount: undefined,
      methods: [other.methodOf(otherId, USD)]
    })
    await whileNobodyTakes(6, otherUrl, async (transaction, { claim, lease, due, created }) => {
      // Each from a wallet address of its own.
      for (const url of created) await payFromAnother(transaction, url.slice(-36))
      const kindsOf = (payments: readonly LeasedSending[]): string[] =>
        payments.map(({ paymentId }) => (created.at(-1)?.endsWith(paymentId) ? 'other' : 'one'))
      const free = { free: 4, ...nothingSent }
      const { begun } = await beginSendingAtOnce(transaction, { ...claim, ...lease, room: free })
      expect(kindsOf(begun)).toEqual(['one', 'one', 'other'])
      const to = begun[0]?.sending.peerId ?? ''
      const busy = { ...free, sentTo: new Map([[to, 4]]) }
      const rest = await beginSendingAtOnce(transaction, { ...claim, ...lease, room: busy })
      expect(rest.begun).toEqual([])
      const more = { ...free, free: 10, sentTo: new Map([[to, 5]]) }
      const next = await beginSendingAtOnce(transaction, { ...claim, ...lease, room: more })
      expect(kindsOf(next.begun)).toEqual(['one', 'one', 'one'])
      const again = await leaseDue(transaction, { ...due, room: free })
      expect([again.found, kindsOf(again.leased).toSorted()]).toEqual([6, ['one', 'one', 'other']])
    })
    await other.stop()
  })

  it('leaves room for those from others over the same peer, however many one wallet address pays', async () => {
    world.ask()
    await whileNobodyTakes(4, provider.url, async (transaction, { claim, lease, due, created }) => {
      const othersId = created.at(-1)?.slice(-36) ?? ''
      await payFromAnother(transaction, othersId)
      const kindsOf = (payments: readonly LeasedSending[]): string[] =>
        payments.map(({ paymentId }) => (paymentId === othersId ? 'other' : 'one'))
      // The peer could get eight, a wallet address two of these.
      const free = { free: 15, ...nothingSent }
      const few = { ...claim, limit: 3 }
      const { begun } = await beginSendingAtOnce(transaction, { ...few, ...lease, room: free })
      expect(kindsOf(begun)).toEqual(['one', 'one'])
      const [first] = begun
      if (first === undefined) throw new Error('nothing was begun')
      const payer = { peerId: first.sending.peerId, walletAddressId: first.walletAddressId }
      const busy = {
        free: 13,
        sentTo: new Map([[payer.peerId, 2]]),
        sentFrom: new Map([[payerKey(payer), 2]])
      }
      // Those of the first are not even looked at, or they would hide what comes after them.
      const next = await beginSendingAtOnce(transaction, { ...claim, limit: 1, ...lease, room: busy })
      expect(kindsOf(next.begun)).toEqual(['other'])
      const other = { free: 15, sentTo: new Map<string, number>(), sentFrom: new Map([[payerKey(payer), 1]]) }
      const last = await beginSendingAtOnce(transaction, { ...claim, ...lease, room: other })
      expect(kindsOf(last.begun)).toEqual(['one'])
      const again = await leaseDue(transaction, { ...due, room: free })
      expect([again.found, kindsOf(again.leased).toSorted()]).toEqual([4, ['one', 'one', 'other']])
      const later = { ...due, nowMs: due.nowMs + 2_000, limit: 1 }
      const others = await leaseDue(transaction, { ...later, room: busy })
      expect(kindsOf(others.leased)).toEqual(['other'])
    })
  })

  it('waits while too much is owed to the peer already', async () => {
    const id = world.ask()
    await leaveRoom(150n)
    const [first, second] = [await world.pay(provider.url, 100), await world.pay(provider.url, 100)]
    await world.whenEnded(first.textAt('id'))
    expect([peer.payment(id).receivedValue, await sendingOf(second.textAt('id'))]).toEqual([100n, undefined])
    await world.limit('')
    expect((await world.whenEnded(second.textAt('id'))).at('sentAmount')).toEqual(usd(100))
  })

  it('begins though more than two hundred wait that are more than may still be owed to the peer', async () => {
    const id = world.ask()
    // So much is owed that it may be as much as each of them.
    await world.whenEnded((await world.pay(provider.url, 200)).textAt('id'))
    await leaveRoom(150n)
    const waiting: string[] = []
    while (waiting.length < 201) {
      const created = await Promise.all(Array.from({ length: 8 }, () => world.pay(provider.url, 200)))
      waiting.push(...created.map((answer) => idOf(answer).id))
    }
    const small = await world.pay(provider.url, 100)
    expect((await world.whenEnded(small.textAt('id'))).at('sentAmount')).toEqual(usd(100))
    expect(peer.payment(id).receivedValue).toBe(300n)
    await world.database.query(
      `update outgoing_payment set begin_until = now() - interval '1 second' where id = any($1)`,
      [waiting]
    )
    const left = `select 1 from outgoing_payment where id = any($1) and state = 'pending'`
    while ((await world.database.query(left, [waiting])).length > 0) await delay(20)
    await world.limit('')
  })

  it('fails as unreachable when its terms no longer stand and too much is still owed to the peer', async () => {
    world.ask()
    await world.whenEnded((await world.pay(provider.url, 100)).textAt('id'))
    await leaveRoom(0n)
    const created = await world.pay(provider.url, 100)
    // Longer than the peer is left alone for.
    await delay(1_500)
    await world.database.query(
      `update outgoing_payment set begin_until = now() - interval '1 second' where id = $1`,
      [idOf(created).id]
    )
    await world.whenEnded(created.textAt('id'))
    await world.limit('')
    expect(await reasonOf(idOf(created))).toMatchObject({ failure_reason: 'receiver_unreachable' })
  })

  it('is declined when its quote ends before anybody has approved it, and gives back its money and its room', async () => {
    world.ask(500n)
    const before = await world.available('alice')
    const [forgotten, late] = [await awaitingApproval(), await awaitingApproval()]
    expect(await world.available('alice')).toBe(before - 1_000n)
    world.aheadMs += QUOTE_LIFETIME_SECONDS * 1_000
    await world.whenAhead()
    // Whether a worker has declined it by then or not.
    await expect(late.approve()).rejects.toThrow(/because nobody decided in time$/)
    for (const { created } of [forgotten, late]) {
      const outgoingPayment = created.textAt('id')
      let shown
      do {
        await delay(TICK_MS)
        shown = (await world.operate('getOutgoingPayment', { outgoingPayment })).payment
      } while (shown?.approval?.decision === '')
      expect(shown).toMatchObject({
        payment: { state: 'failed', failureReason: 'declined_by_provider', movedValue: '0' },
        approval: { decision: 'timed_out' }
      })
      while ((await toldOf(created)).length < 3) await delay(TICK_MS)
      expect((await toldOf(created)).map(([type]) => type)).toEqual([
        'outgoing_payment.created',
        'outgoing_payment.awaiting_approval',
        'outgoing_payment.failed'
      ])
    }
    expect(await world.available('alice')).toBe(before)
    await world.whenDelivered()
    for (const { created } of [forgotten, late])
      expect(reservationOf(created)).toMatchObject({ state: 'released' })
  })

  it('can be approved until its quote ends', async () => {
    world.ask(500n)
    const { created, approve } = await awaitingApproval()
    world.aheadMs += (QUOTE_LIFETIME_SECONDS - 30) * 1_000
    await world.whenAhead()
    await approve()
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(500))
  })

  it('is not begun any more when its terms no longer stand', async () => {
    world.ask(500n)
    const { created, approve } = await awaitingApproval()
    await world.database.query(
      `update outgoing_payment set begin_until = now() - interval '1 second' where id = $1`,
      [idOf(created).id]
    )
    await approve()
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: true,
      sentAmount: usd(0)
    })
    expect(await reasonOf(idOf(created))).toMatchObject({ failure_reason: 'rate_changed' })
  })
})

describe('a packet whose fate is unknown', () => {
  it('is never sent again, and its payment waits', async () => {
    const id = world.ask(1_000n)
    const paidBefore = peer.packets.filter(({ amount }) => amount === 1_000n).length
    peer.handle = async (_prepare, answer, response) => {
      await answer()
      response.destroy()
      return undefined
    }
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while ((await sendingOf(created.textAt('id')))?.due_at !== null) await delay(20)
    // However often it is gone on with.
    await world.database.query('update sending set due_at = now() where payment_id = $1', [idOf(created).id])
    while ((await sendingOf(created.textAt('id')))?.due_at !== null) await delay(20)
    const paid = peer.packets.filter(({ amount }) => amount === 1_000n).length - paidBefore
    expect([paid, peer.payment(id).receivedValue]).toEqual([1, 1_000n])
    const read = await world.request('GET', created.textAt('id').slice(PUBLIC_URL.length))
    expect(read.body).toMatchObject({ failed: false, sentAmount: usd(0) })
    expect(reservationOf(created)?.state).toBe('open')
    await expect(decide(created, true)).rejects.toMatchObject({ code: status.NOT_FOUND })
    expect(await peers.operate('countUnknownPackets', {})).toEqual({ count: 0 })
    // Nobody would answer it any more.
    await world.database.query(`update sent_packet set expires_at = expires_at - interval '5 minutes'`)
    const { packets } = await peers.operate('listUnknownPackets', { name, pageSize: 0, pageToken: '' })
    expect(packets).toMatchObject([{ value: '1000', payment: created.textAt('id') }])
    const [unknown] = await world.database.query<{ count: number }>(
      `select count(*)::integer as count from sent_packet where outcome = 'unknown'`
    )
    expect(await peers.operate('countUnknownPackets', {})).toEqual(unknown)
    peer.handle = undefined
    await decide(created, true)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: false,
      sentAmount: usd(1_000)
    })
    await expect(decide(created, false)).rejects.toMatchObject({ code: status.NOT_FOUND })
  })

  it('counts as arrived as soon as that is decided, while nothing is known of another', async () => {
    const id = world.ask(2_000n)
    peer.packetLimitValue = 1_000n
    peer.handle = async (_prepare, answer, response) => {
      const reply = await answer()
      if (reply.type === 'reject') return reply
      response.destroy()
      return undefined
    }
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while ((await sendingOf(created.textAt('id')))?.due_at !== null) await delay(20)
    expect(peer.payment(id).receivedValue).toBe(2_000n)
    await world.database.query(`update sent_packet set expires_at = expires_at - interval '5 minutes'`)
    // Nobody decides while it is being sent.
    const lease = 'update sending set leased_by = $1, leased_until = $2 where payment_id = $3'
    const { id: paymentId } = idOf(created)
    await world.database.query(lease, [
      randomUUID(),
      new Date(Date.now() + world.aheadMs + 60_000),
      paymentId
    ])
    await expect(decide(created, true)).rejects.toMatchObject({ code: status.FAILED_PRECONDITION })
    await world.database.query(lease, [null, null, paymentId])
    await decide(created, true)
    const path = created.textAt('id').slice(PUBLIC_URL.length)
    expect((await world.request('GET', path)).at('sentAmount')).toEqual(usd(1_000))
    while ((await toldOf(created)).length < 2) await delay(TICK_MS)
    expect((await toldOf(created)).at(-1)).toEqual(['outgoing_payment.partially_sent', '1000'])
    while ((await sendingOf(created.textAt('id')))?.due_at !== null) await delay(20)
    peer.handle = undefined
    await decide(created, true)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(2_000))
  })

  it('is all that counts of its payment against what may be owed to the peer, once no more may be sent of it', async () => {
    const id = world.ask(2_000n)
    peer.packetLimitValue = 1_000n
    let count = 0
    peer.handle = async (_prepare, answer, response) => {
      const final = { code: 'F02', triggeredBy: peer.ilpAddress, message: '', data: Buffer.alloc(0) }
      if (count > 0) return { type: 'reject', ...final }
      const reply = await answer()
      if (reply.type === 'reject') return reply
      count += 1
      response.destroy()
      return undefined
    }
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while ((await sendingOf(created.textAt('id')))?.due_at !== null) await delay(20)
    peer.handle = undefined
    peer.packetLimitValue = undefined
    // One packet is unknown, and as much may be sent once more.
    await leaveRoom(-500n)
    const otherId = world.ask()
    const waiting = await world.pay(provider.url, 400)
    await delay(1_500)
    expect(await sendingOf(waiting.textAt('id'))).toBeUndefined()
    expect(peer.payment(otherId).receivedValue).toBe(0n)
    const move = `update outgoing_payment set begin_until = begin_until + $2 * interval '1 minute' where id = $1`
    const minutes = 20
    await world.database.query(move, [idOf(created).id, -minutes])
    expect((await world.whenEnded(waiting.textAt('id'))).at('sentAmount')).toEqual(usd(400))
    // The packet itself still counts.
    const more = await world.pay(provider.url, 400)
    await delay(1_500)
    expect(await sendingOf(more.textAt('id'))).toBeUndefined()
    await world.limit('')
    await world.whenEnded(more.textAt('id'))
    await world.database.query(`update sent_packet set expires_at = expires_at - interval '5 minutes'`)
    await decide(created, true)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
    await world.database.query(move, [idOf(created).id, minutes])
    expect(peer.payment(id).receivedValue).toBe(1_000n)
  })

  it('is sent again once it is known that it was lost', async () => {
    const id = world.ask(900n)
    peer.handle = (_prepare, _answer, response) => {
      response.destroy()
      return undefined
    }
    const created = await world.payQuote((await world.quote()).textAt('id'))
    while ((await sendingOf(created.textAt('id')))?.due_at !== null) await delay(20)
    await world.database.query(`update sent_packet set expires_at = expires_at - interval '5 minutes'`)
    peer.handle = undefined
    await decide(created, false)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(900))
    expect(peer.payment(id).receivedValue).toBe(900n)
  })
})

describe('what is refused', () => {
  it.each<[string, () => void, number, string]>([
    [
      'a receiver that is nowhere',
      () => provider.answer('payment', { status: 404, body: {} }),
      400,
      'invalid receiver'
    ],
    [
      'a provider that does not answer',
      () => provider.answer('payment', { status: 503, body: {} }),
      503,
      'temporarily'
    ],
    [
      'a provider that lies',
      () => provider.answer('payment', { body: { id: 'x' } }),
      400,
      'invalid receiver'
    ],
    [
      'a receiver that nobody leads to',
      () => {
        provider.payment.methods = [{ ...peer.methodOf(randomUUID(), USD), ilpAddress: 'g.nowhere.at.all' }]
      },
      400,
      'invalid receiver'
    ],
    [
      'one that receives another asset than it says',
      () => {
        provider.payment.methods = [peer.methodOf(randomUUID(), { code: 'EUR', scale: 2 })]
      },
      400,
      'invalid receiver'
    ],
    [
      'one that no packet brings anything',
      () => {
        peer.probeLimitValue = 50n
        peer.rateThousandths = 10n
      },
      400,
      'invalid receiver'
    ]
  ])('%s gets no quote', async (_what, change, status, description) => {
    world.ask(100n)
    change()
    const refused = await world.quote()
    expect([refused.status, refused.text]).toEqual([status, expect.stringContaining(description)])
  })

  it.each(['/bob', '/incoming-payments/1', '/incoming-payments/6C9F0D1E-8A51-5B7E-B0C4-2F6F1F9A7C33?a=b'])(
    'what is here, and no incoming payment, is not asked for: %s',
    async (path) => {
      const receiver = `${PUBLIC_URL.toUpperCase().replace('HTTP', 'http')}${path}`
      const refused = [await world.quote({ receiver }), await world.pay(receiver, 100)]
      for (const answer of refused)
        expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('invalid receiver')])
    }
  )

  it('more than a receiver takes gets no quote', async () => {
    world.ask(100n)
    expect((await world.quote({ receiveAmount: usd(101) })).status).toBe(400)
  })

  it('an amount in another asset names both', async () => {
    world.ask(100n)
    const refused = await world.quote({ receiveAmount: eur(1) })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('EUR')])
  })

  it('a provider that lets us read nothing gets no quote', async () => {
    world.ask(100n)
    provider.revokeTokens()
    provider.answer('grant', { status: 403, body: {} })
    const refused = await world.quote()
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('invalid receiver')])
  })
})

describe('the audit', () => {
  it.each<[string, string, string, RegExp]>([
    [
      'a fulfilled packet that is not what was booked for it',
      'update sent_packet set send_value = send_value + 1 where payment_id = $1',
      'update sent_packet set send_value = send_value - 1 where payment_id = $1',
      /^packet \S+ of 601: its dispatch is of 600/
    ],
    [
      'a packet that was sent of more than the terms allow, and of which nothing is known',
      `insert into sent_packet (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, sent_at, expires_at)
       select gen_random_uuid(), payment_id, 99, peer_id, sha256('another'), 1, 1, now(), now()
         from sent_packet where payment_id = $1`,
      'delete from sent_packet where payment_id = $1 and sequence = 99',
      /^payment \S+: completed with 600 received; 601 of 600 was or may have been sent, 600 of 600 was delivered/
    ],
    [
      'a payment of which less was delivered than it says',
      'update sent_packet set delivered_value = delivered_value - 1 where payment_id = $1',
      'update sent_packet set delivered_value = delivered_value + 1 where payment_id = $1',
      /^payment \S+: completed with 600 received; 600 of 600 was or may have been sent, 599 of 600 was delivered/
    ],
    [
      'a payment that is being sent, and has ended',
      'insert into sending (payment_id, peer_id, held_value) select id, peer_id, 0 from outgoing_payment where id = $1',
      'delete from sending where payment_id = $1',
      /^payment \S+ is completed, holds 0, and has sent 600 of 600/
    ],
    [
      'a packet that was sent after its payment could be paid',
      `update outgoing_payment set begin_until = begin_until - interval '1 hour' where id = $1`,
      `update outgoing_payment set begin_until = begin_until + interval '1 hour' where id = $1`,
      /^packet \S+ of payment \S+ was sent at .*; approved at no time, and its terms stood until/
    ],
    [
      'a packet that was sent before its payment was approved',
      `insert into payment_approval (payment_id, rule_id, requested_at, expires_at, decision, decided_at)
       select p.id, p.id, p.created_at, p.created_at + interval '1 hour', 'approved', k.sent_at + interval '61 seconds'
         from outgoing_payment p join sent_packet k on k.payment_id = p.id where p.id = $1`,
      'delete from payment_approval where payment_id = $1',
      /^packet \S+ of payment \S+ was sent at .*; approved at \d/
    ]
  ])('finds %s', async (_what, spoil, mend, found) => {
    world.ask(600n)
    const paid = await payWhole()
    await world.database.query(spoil, [idOf(paid).id])
    const violations = await world.audit()
    await world.database.query(mend, [idOf(paid).id])
    expect(violations).toContainEqual(expect.stringMatching(found))
    expect(await world.audit()).toEqual([])
  })

  it.each(['null', "'olga'"])(
    'finds a packet with the fulfillment of another one, decided by %s',
    async (by) => {
      world.ask(600n)
      const { id } = idOf(await payWhole())
      const restore = await damageDatabase(
        world.database,
        `update sent_packet set fulfillment = sha256(fulfillment), decided_by = ${by} where payment_id = '${id}'`
      )
      const violations = await world.audit().finally(restore)
      expect(violations).toEqual([expect.stringMatching(/^packet \S+ has the fulfillment of another one/)])
    }
  )
})
