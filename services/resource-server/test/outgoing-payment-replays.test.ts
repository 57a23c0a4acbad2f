import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { recordStatements } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  ALICE,
  CAROL,
  PUBLIC_URL,
  type PaymentWorld,
  startPaymentWorld,
  usd
} from './support/payment-world.js'
import type { FakeReservation } from './support/fake-grant-limits.js'

let world: PaymentWorld
let rate = '0.5'

beforeAll(async () => {
  const rates = {
    getRate: async (source: { code: string }, target: { code: string }) =>
      source.code === target.code
        ? { numerator: 1n, denominator: 1n }
        : { numerator: BigInt(Number(rate) * 100), denominator: 100n }
  }
  world = await startPaymentWorld({ overrides: { rates } })
})
beforeEach(() => {
  // Every test signs in a second of its own: the same request in the same second is the same request.
  world.clock.advanceSeconds(1)
})
afterEach(async () => {
  world.limits.before = undefined
  world.limits.after = undefined
  world.limits.debitLimits.clear()
  world.limits.inactive.clear()
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(() => world.stop())

const payments = async (): Promise<number> =>
  (await world.database.query('select 1 from outgoing_payment')).length

/** The same request again: without a nonce, Ed25519 signs equal requests of one second with equal bytes. */
const send = (body: object, headers: Record<string, string> = {}) =>
  world.request('POST', '/outgoing-payments', { body, headers })

describe('the very same signed request', () => {
  it('gets the same answer again, and pays and reserves nothing more', async () => {
    const receiver = await world.createReceiver()
    const body = {
      walletAddress: ALICE,
      incomingPayment: receiver,
      debitAmount: usd(300),
      metadata: { b: 1, a: { d: [1.5, null], c: 'é' } }
    }
    const before = await payments()
    const first = await send(body)
    expect(first).toMatchObject({ status: 201 })
    const again = await Promise.all([send(body), send(body), send(body)])
    await world.whenEnded(first.textAt('id'))
    await world.whenDelivered()
    again.push(await send(body))
    for (const answer of again) {
      expect(answer).toMatchObject({ status: 201, text: first.text })
      expect(answer.headers.get('location')).toBe(first.headers.get('location'))
    }
    expect(await payments()).toBe(before + 1)
    expect((await world.request('GET', receiver.slice(PUBLIC_URL.length))).at('receivedAmount')).toEqual(
      usd(300)
    )
  })

  it('is one payment however many arrive at once', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(10) }
    const spent = world.limits.spent(world.token).debited
    const before = await payments()
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(body)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await payments()).toBe(before + 1)
    expect(world.limits.spent(world.token).debited).toBe(spent + 10n)
  })

  it('is one payment from a quote too', async () => {
    const quoteId = await world.createQuote(await world.createReceiver({ incomingAmount: usd(40) }))
    const body = { walletAddress: ALICE, quoteId }
    const answers = await Promise.all([send(body), send(body), send(body)])
    answers.push(await send(body))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  it('gets the same answer when the payment has failed and its room was given back', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(100_000_000) }
    const first = await send(body)
    expect(first).toMatchObject({ status: 201 })
    expect((await world.whenEnded(first.textAt('id'))).at('failed')).toBe(true)
    await world.whenDelivered()
    expect(await send(body)).toMatchObject({ status: 201, text: first.text })
  })

  it('gets the same answer when the exchange rate has moved', async () => {
    const receiver = await world.createReceiver({ walletAddress: CAROL })
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(100) }
    rate = '0.5'
    const first = await send(body)
    rate = '0.6'
    expect(await send(body)).toMatchObject({ status: 201, text: first.text })
  })

  it('is still the same when a header that no signature covers makes it look like another', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(50) }
    const before = await payments()
    const first = await send(body)
    const injected = await send(body, { 'idempotency-key': 'injected' })
    const other = await send(body, { 'idempotency-key': 'another' })
    expect([injected.text, other.text]).toEqual([first.text, first.text])

    world.clock.advanceSeconds(1)
    const keyed = await send(body, { 'idempotency-key': randomUUID() })
    expect(keyed.at('id')).not.toBe(first.at('id'))
    const stripped = await send(body)
    expect(stripped.text).toBe(keyed.text)
    expect(await payments()).toBe(before + 2)
    await world.whenDelivered()
    expect(world.limits.spent(world.token).debited).toBe(await sentInAll())
  })
})

const sentInAll = async (): Promise<bigint> => {
  const [row] = await world.database.query<{ sum: string }>(
    'select sum(settled_debit_value) from outgoing_payment'
  )
  return BigInt(row?.sum ?? 0)
}

describe('an Idempotency-Key', () => {
  it('gives the same answer to the same body, signed anew', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(70) }
    const key = { 'idempotency-key': randomUUID() }
    const before = await payments()
    const first = await send(body, key)
    world.clock.advanceSeconds(5)
    const second = await send(body, key)
    expect(second).toMatchObject({ status: 201, text: first.text })
    expect(await payments()).toBe(before + 1)
  })

  it.each<[string, (receiver: string) => object]>([
    [
      'another amount',
      (incomingPayment) => ({ walletAddress: ALICE, incomingPayment, debitAmount: usd(71) })
    ],
    [
      'other metadata',
      (incomingPayment) => ({
        walletAddress: ALICE,
        incomingPayment,
        debitAmount: usd(70),
        metadata: { n: 1 }
      })
    ]
  ])('with %s answers 422, and pays nothing', async (_what, other) => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(70) }
    const key = { 'idempotency-key': randomUUID() }
    await send(body, key)
    const before = await payments()
    world.clock.advanceSeconds(1)
    expect(await send(other(receiver), key)).toMatchObject({ status: 422 })
    expect(await payments()).toBe(before)
  })

  it('belongs to one client: another one pays its own payment', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(5) }
    const headers = { 'idempotency-key': 'order-1' }
    const first = await send(body, headers)
    const market = world.createClient('market')
    const access = [{ type: 'outgoing-payment' as const, actions: ['create'] }]
    const other = await market.request(access, 'POST', '/outgoing-payments', { body, headers })
    expect(other).toMatchObject({ status: 201 })
    expect(other.at('id')).not.toBe(first.at('id'))
  })

  it.each(['', 'two words', 'é', 'x'.repeat(256)])('%j is refused with 400', async (key) => {
    const body = { walletAddress: ALICE, incomingPayment: await world.createReceiver(), debitAmount: usd(5) }
    const answer = await send(body, { 'idempotency-key': Buffer.from(key).toString('latin1') })
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.at('error.details')).toHaveProperty('Idempotency-Key')
  })

  it('can be used again after 503: the payment is then made, once', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(25) }
    const key = { 'idempotency-key': randomUUID() }
    const spent = world.limits.spent(world.token).debited
    world.limits.after = (call) => {
      if (call === 'reserve') throw new RpcError({ code: status.INTERNAL, message: 'lost' })
    }
    const uncertain = await send(body, key)
    expect(uncertain).toMatchObject({ status: 503 })
    expect(uncertain.headers.get('retry-after')).toBe('1')
    world.limits.after = undefined
    await world.whenDelivered()
    expect(world.limits.spent(world.token).debited).toBe(spent)

    world.clock.advanceSeconds(1)
    const paid = await send(body, key)
    expect(paid).toMatchObject({ status: 201 })
    world.clock.advanceSeconds(1)
    expect(await send(body, key)).toMatchObject({ status: 201, text: paid.text })
    expect(world.limits.spent(world.token).debited).toBe(spent + 25n)
  })

  it('stays bound to its body after 503: another is 422, before and after the release, and the first still pays', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(25) }
    const other = { ...body, debitAmount: usd(26) }
    const key = { 'idempotency-key': randomUUID() }
    const before = await payments()
    world.limits.after = (call) => {
      if (call === 'reserve') throw new RpcError({ code: status.INTERNAL, message: 'lost' })
    }
    world.limits.before = (call) => {
      if (call === 'release') throw new RpcError({ code: status.INTERNAL, message: 'later' })
    }
    expect(await send(body, key)).toMatchObject({ status: 503 })
    world.limits.after = undefined
    expect(await send(other, key)).toMatchObject({ status: 422 })
    world.limits.before = undefined
    await world.whenDelivered()
    world.clock.advanceSeconds(1)
    expect(await send(other, key)).toMatchObject({ status: 422 })
    expect(await payments()).toBe(before)
    const paid = await send(body, key)
    expect(paid).toMatchObject({ status: 201 })
    world.clock.advanceSeconds(1)
    expect(await send(body, key)).toMatchObject({ status: 201, text: paid.text })
    expect(await send(other, key)).toMatchObject({ status: 422 })
    expect(await payments()).toBe(before + 1)
  })

  it('whose first request was refused is refused again, and 422 with another body', async () => {
    const receiver = await world.createReceiver()
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(25) }
    const key = { 'idempotency-key': randomUUID() }
    world.limits.debitLimits.set(world.token, 0n)
    expect(await send(body, key)).toMatchObject({ status: 403 })
    world.limits.debitLimits.clear()
    world.clock.advanceSeconds(1)
    expect(await send(body, key)).toMatchObject({ status: 403 })
    const other = { ...body, debitAmount: usd(26) }
    expect(await send(other, key)).toMatchObject({ status: 422 })
  })
})

/** Another token of the shop with the same access: of the same grant, as after a rotation, or of another. */
const anotherToken = (grantId?: string): string =>
  world.auth.issueToken({
    client: world.shop.client,
    keys: [world.shop.key],
    access: [{ type: 'outgoing-payment', actions: ['create', 'read'] }],
    ...(grantId !== undefined && { grantId })
  }).accessToken

const sendWith = (accessToken: string, body: object, key: string) =>
  world.request('POST', '/outgoing-payments', { body, headers: { 'idempotency-key': key }, accessToken })

describe('an Idempotency-Key whose token is rotated', () => {
  let oldToken: string
  let newToken: string
  let body: object

  beforeEach(async () => {
    const grantId = randomUUID()
    oldToken = anotherToken(grantId)
    newToken = anotherToken(grantId)
    body = {
      walletAddress: ALICE,
      incomingPayment: await world.createReceiver({ walletAddress: CAROL }),
      debitAmount: usd(60)
    }
    rate = '0.5'
  })

  it('pays with the new token what was refused because the old one was inactive', async () => {
    const before = await payments()
    const key = randomUUID()
    world.limits.inactive.add(oldToken)
    const refused = await sendWith(oldToken, body, key)
    expect(refused).toMatchObject({ status: 403 })
    expect(refused.at('error.description')).toBe('Inactive Token')
    const paid = await sendWith(newToken, body, key)
    expect(paid).toMatchObject({ status: 201 })
    world.clock.advanceSeconds(1)
    expect(await sendWith(newToken, body, key)).toMatchObject({ status: 201, text: paid.text })
    expect(await payments()).toBe(before + 1)
  })

  it('is one payment for requests with either token that arrive together', async () => {
    const before = await payments()
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => sendWith(index % 2 === 0 ? oldToken : newToken, body, key))
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await payments()).toBe(before + 1)
  })

  /** Ends the request of a process that died, so that nothing of it happens in a later test. */
  let bury: () => Promise<unknown> = () => Promise.resolve()
  afterEach(() => bury())

  /** The process dies after it reserved: only the reservation remains, which is returned. */
  async function crashWith(key: string): Promise<FakeReservation> {
    let crashed = false
    let fail: (error: Error) => void = () => undefined
    const crash = new Promise<never>((_resolve, reject) => (fail = reject))
    world.limits.after = (call) => {
      if (call !== 'reserve' || crashed) return
      crashed = true
      return crash
    }
    const known = new Set(world.limits.reservations.keys())
    const dying = sendWith(oldToken, body, key)
    bury = async () => {
      fail(new RpcError({ code: status.INTERNAL, message: 'dead' }))
      await dying
    }
    while (!crashed) await delay(5)
    world.limits.after = undefined
    const left = [...world.limits.reservations.values()].find(({ paymentId }) => !known.has(paymentId))
    if (left === undefined) throw new Error('the crash left no reservation')
    return left
  }

  it('goes on from the reservation that a crash left, with the new token', async () => {
    const key = randomUUID()
    await crashWith(key)
    const paid = await sendWith(newToken, body, key)
    expect(paid).toMatchObject({ status: 201 })
    expect(await sendWith(newToken, body, key)).toMatchObject({ status: 201, text: paid.text })
  })

  it('is charged anew where a long outage left its reservation behind', async () => {
    const key = randomUUID()
    const left = await crashWith(key)
    left.chargedAt = new Date(world.clock.now() - 24 * 3_600_000)
    expect(await sendWith(newToken, body, key)).toMatchObject({ status: 503 })
    await world.whenDelivered()
    expect(world.limits.reservations.get(left.paymentId)?.state).toBe('released')
    const paid = await sendWith(newToken, body, key)
    expect(paid).toMatchObject({ status: 201 })
    expect(paid.text).not.toContain(left.paymentId)
    expect(await sendWith(newToken, body, key)).toMatchObject({ status: 201, text: paid.text })
  })

  it('is 409 at another rate while the first request is running, and then its payment', async () => {
    const key = randomUUID()
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    let reserved = false
    world.limits.after = async (call) => {
      if (call !== 'reserve' || reserved) return
      reserved = true
      await released
    }
    const first = sendWith(oldToken, body, key)
    while (!reserved) await delay(5)
    rate = '0.6'
    expect(await sendWith(newToken, body, key)).toMatchObject({ status: 409 })
    release()
    const paid = await first
    expect(paid).toMatchObject({ status: 201 })
    expect(await sendWith(newToken, body, key)).toMatchObject({ status: 201, text: paid.text })
  })

  it('is 422 under another grant of the same client, before and after it was paid', async () => {
    const other = anotherToken()
    const key = randomUUID()
    expect(await sendWith(oldToken, body, key)).toMatchObject({ status: 201 })
    expect(await sendWith(other, body, key)).toMatchObject({ status: 422 })
    const refused = randomUUID()
    world.clock.advanceSeconds(1)
    world.limits.debitLimits.set(oldToken, 0n)
    expect(await sendWith(oldToken, body, refused)).toMatchObject({ status: 403 })
    expect(await sendWith(other, body, refused)).toMatchObject({ status: 422 })
  })
})

describe('one signed request under several keys', () => {
  const keyed = (body: object, key: string) => send(body, { 'idempotency-key': key })
  const order = async (more: object = {}) => ({
    walletAddress: ALICE,
    incomingPayment: await world.createReceiver(more),
    debitAmount: usd(35)
  })

  it('is one payment for all of them, also when a later one is signed anew', async () => {
    const [body, one, two] = [await order(), randomUUID(), randomUUID()]
    const before = await payments()
    const first = await keyed(body, one)
    expect(await keyed(body, two)).toMatchObject({ status: 201, text: first.text })
    for (let repeats = 0; repeats < 3; repeats += 1) {
      world.clock.advanceSeconds(1)
      expect(await keyed(body, two)).toMatchObject({ status: 201, text: first.text })
      expect(await keyed(body, one)).toMatchObject({ status: 201, text: first.text })
      await world.whenDelivered()
    }
    expect(await keyed({ ...body, debitAmount: usd(36) }, two)).toMatchObject({ status: 422 })
    expect(await payments()).toBe(before + 1)
  })

  it('is one payment when the second key was told of it although it could not have paid', async () => {
    const [body, one, two] = [await order({ incomingAmount: usd(35) }), randomUUID(), randomUUID()]
    const before = await payments()
    const first = await keyed(body, one)
    await world.whenEnded(first.textAt('id'))
    world.limits.inactive.add(world.token)
    expect(await keyed(body, two)).toMatchObject({ status: 201, text: first.text })
    world.limits.inactive.clear()
    world.clock.advanceSeconds(1)
    expect(await keyed(body, two)).toMatchObject({ status: 201, text: first.text })
    expect(await payments()).toBe(before + 1)
  })

  it('is one payment when the second key was refused room before it was told', async () => {
    const [body, one, two] = [await order(), randomUUID(), randomUUID()]
    const before = await payments()
    const first = await keyed(body, one)
    world.limits.debitLimits.set(world.token, 0n)
    expect(await keyed(body, two)).toMatchObject({ status: 201, text: first.text })
    world.limits.debitLimits.clear()
    world.clock.advanceSeconds(1)
    expect(await keyed(body, two)).toMatchObject({ status: 201, text: first.text })
    expect(await payments()).toBe(before + 1)
  })

  it('gives no key two payments when keys and signatures race', async () => {
    const keys = Array.from({ length: 5 }, () => randomUUID())
    const body = await order()
    const before = await payments()
    const paymentOf = new Map<string, string>()
    const note = (key: string, answer: Awaited<ReturnType<typeof keyed>>): void => {
      // A key whose first id is just being released is refused with that reason.
      if (answer.status === 503) return
      expect(answer).toMatchObject({ status: 201 })
      expect(answer.text).toBe(paymentOf.get(key) ?? answer.text)
      paymentOf.set(key, answer.text)
    }
    const racing: Promise<unknown>[] = []
    for (let second = 0; second < 4; second += 1) {
      world.clock.advanceSeconds(1)
      racing.push(...keys.map(async (key) => note(key, await keyed(body, key))))
    }
    await Promise.all(racing)
    for (const key of keys) {
      await world.whenDelivered()
      world.clock.advanceSeconds(1)
      note(key, await keyed(body, key))
      expect(paymentOf.has(key)).toBe(true)
    }
    expect(await payments()).toBe(before + new Set(paymentOf.values()).size)
  })
})

describe('round trips', () => {
  it('creating a payment to a known receiver asks the auth server once, and the database once', async () => {
    const receiver = await world.createReceiver()
    await world.whenEnded((await world.pay(receiver, 1)).textAt('id'))
    await world.whenDelivered()
    const asked = world.limits.asked.reserve
    const record = recordStatements(world.server.pool)
    const created = await world.pay(receiver, 1)
    record.stop()
    expect(created).toMatchObject({ status: 201 })
    expect(world.limits.asked.reserve).toBe(asked + 1)
    expect(record.statements).toEqual([expect.stringContaining('insert into outgoing_payment')])
  })
})
