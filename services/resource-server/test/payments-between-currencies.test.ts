import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { wallet } from '@open-payments-server/proto'

import {
  ALICE,
  CAROL,
  eur,
  type PaymentWorld,
  PUBLIC_URL,
  startPaymentWorld,
  usd
} from './support/payment-world.js'
import { type RateSource, startRateSource } from './support/rate-source.js'

const QUOTE_LIFETIME_SECONDS = 300
/** How long after its terms ended a payment may still be settled that waits for nobody. */
const DELAYED_MAX_SECONDS = 600
const APPROVAL_TIMEOUT_SECONDS = 86_400

let world: PaymentWorld
let rates: RateSource
let rate: string
beforeAll(async () => {
  rates = await startRateSource((query) => (query === '?source=USD&target=EUR' ? rate : '1'))
  world = await startPaymentWorld({
    settings: {
      EXCHANGE_RATES_URL: rates.url,
      EXCHANGE_RATES_CACHE_SECONDS: '0',
      QUOTE_LIFETIME_SECONDS: String(QUOTE_LIFETIME_SECONDS),
      APPROVAL_TIMEOUT_SECONDS: String(APPROVAL_TIMEOUT_SECONDS)
    }
  })
  world.limits.chargeTime = () => new Date(world.clock.now())
})
afterAll(async () => {
  await world.stop()
  await rates.stop()
})
afterEach(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})

const ANY = { aboveValue: '0', walletAddress: '', client: '', firstPayee: false, method: '' }

const idOf = (url: string): string => url.slice(-36)

/** Creates payments that await approval; answers their URLs. */
async function awaiting(...create: (() => Promise<{ textAt(name: string): string }>)[]): Promise<string[]> {
  const { rule } = await world.operate('createApprovalRule', ANY)
  const urls: string[] = []
  for (const one of create) urls.push((await one()).textAt('id'))
  await world.operate('deleteApprovalRule', { ruleId: String(rule?.id) })
  return urls
}

/** Creates an incoming payment of carol's, in euros; answers its URL. */
function euroReceiver(): Promise<string> {
  rate = '0.9'
  return world.createReceiver({
    walletAddress: CAROL,
    expiresAt: new Date(world.clock.now() + 86_400_000 * 2).toISOString()
  })
}

/** Creates a payment of 100.00 USD for 90.00 EUR that awaits approval; answers its URL. */
async function awaitingEuros(receiver?: string): Promise<string> {
  const paid = receiver ?? (await euroReceiver())
  const [url = ''] = await awaiting(() => world.pay(paid, 10_000))
  return url
}

async function show(url: string): Promise<wallet.OutgoingPayment> {
  const { payment } = await world.operate('getOutgoingPayment', { outgoingPayment: url })
  if (payment === undefined) throw new Error('answered without a payment')
  return payment
}

/** For how many seconds a payment can be approved that was just created. */
async function secondsToApprove(url: string): Promise<number> {
  const { approval } = await show(url)
  return Math.round((Number(approval?.expireTime) - Number(approval?.requestTime)) / 1_000)
}

const approve = (url: string) => world.operate('approvePayment', { outgoingPayment: url, reason: '' })
const complete = (receiver: string) => world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)

/** Waits until a statement waits for a lock. */
async function whenWaiting(statement: string): Promise<void> {
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like $1`
  while ((await world.database.query(waiting, [`%${statement}%`])).length === 0) await delay(5)
}

/**
 * Keeps payments to a receiver from being settled, as if this provider's workers were down.
 *
 * @param makePending creates or approves one
 * @param then what happens before it is settled
 */
async function delayed(
  receiver: string,
  makePending: () => Promise<unknown>,
  then: () => unknown
): Promise<void> {
  const client = await world.server.pool.connect()
  try {
    await client.query('begin')
    await client.query('select from incoming_payment where id = $1 for no key update', [idOf(receiver)])
    await makePending()
    await whenWaiting('claim-outgoing-payments')
    await then()
    await world.database.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query like '%claim-outgoing-payments%'`
    )
    await client.query('commit')
  } finally {
    client.release()
  }
}

/** The types of the events of a payment. */
async function toldOf(url: string): Promise<string[]> {
  while ((await world.database.query('select from event_outbox')).length > 0) await delay(10)
  const rows = await world.database.query<{ type: string }>(
    'select type from event where subject_id = $1 order by number',
    [idOf(url)]
  )
  return rows.map(({ type }) => type)
}

describe('a payment here between two currencies that awaits approval', () => {
  it('is declined when its rate ends before anybody has approved it, and gives back its money and its room', async () => {
    const before = await world.available('alice')
    const [forgotten, late] = [await awaitingEuros(), await awaitingEuros()]
    expect(await secondsToApprove(late)).toBe(QUOTE_LIFETIME_SECONDS)
    expect(await world.available('alice')).toBe(before - 20_000n)
    world.clock.advanceSeconds(QUOTE_LIFETIME_SECONDS)
    await expect(approve(late)).rejects.toThrow(/because nobody decided in time$/)
    while ((await show(forgotten)).approval?.decision === '') await delay(10)
    for (const url of [forgotten, late])
      expect(await show(url)).toMatchObject({
        payment: { state: 'failed', failureReason: 'declined_by_provider', movedValue: '0' },
        approval: { decision: 'timed_out' }
      })
    expect(await world.available('alice')).toBe(before)
    await world.whenDelivered()
    for (const url of [forgotten, late])
      expect(world.limits.reservations.get(idOf(url))).toMatchObject({ state: 'released' })
  })

  it('cannot be kept until the rate is known, and given up by its payee if that is bad', async () => {
    const [kept, lost] = [await euroReceiver(), await euroReceiver()]
    const [winning = '', losing = ''] = await awaiting(
      () => world.pay(kept, 10_000),
      () => world.pay(lost, 10_000)
    )
    world.clock.advanceSeconds(20 * 3_600)
    rate = '0.5'
    expect(await complete(lost)).toMatchObject({ status: 200 })
    for (const url of [winning, losing])
      await expect(approve(url)).rejects.toThrow(/because nobody decided in time$/)
    expect(await show(winning)).toMatchObject({ payment: { state: 'failed', movedValue: '0' } })
  })

  it('is paid at its rate if it is approved before', async () => {
    const url = await awaitingEuros()
    world.clock.advanceSeconds(QUOTE_LIFETIME_SECONDS - 1)
    rate = '0.5'
    await approve(url)
    expect((await world.whenEnded(url)).body).toMatchObject({
      failed: false,
      sentAmount: usd(10_000),
      receiveAmount: eur(9_000)
    })
  })

  it('fails if its rate ends between the approval and its settlement, as elsewhere', async () => {
    const before = await world.available('alice')
    const receiver = await euroReceiver()
    const url = await awaitingEuros(receiver)
    world.clock.advanceSeconds(QUOTE_LIFETIME_SECONDS - 1)
    await delayed(
      receiver,
      () => approve(url),
      () => {
        world.clock.advanceSeconds(1)
      }
    )
    expect((await world.whenEnded(url)).body).toMatchObject({
      failed: true,
      failureReason: 'rate_changed',
      sentAmount: usd(0)
    })
    expect(await show(url)).toMatchObject({ approval: { decision: 'approved' } })
    expect(await toldOf(url)).toEqual([
      'outgoing_payment.created',
      'outgoing_payment.awaiting_approval',
      'outgoing_payment.processing',
      'outgoing_payment.failed'
    ])
    expect(await world.available('alice')).toBe(before)
    await world.whenDelivered()
    expect(world.limits.reservations.get(idOf(url))).toMatchObject({ state: 'released' })
  })

  it.each([
    ['as long as its quote stands', 100, QUOTE_LIFETIME_SECONDS - 100],
    ['half a minute if it used its quote at the last moment', QUOTE_LIFETIME_SECONDS - 1, 30]
  ])('can be approved %s', async (_, ageSeconds, seconds) => {
    const quoteId = await world.createQuote(await euroReceiver(), { debitAmount: usd(1_000) })
    world.clock.advanceSeconds(ageSeconds)
    const [url = ''] = await awaiting(() =>
      world.request('POST', '/outgoing-payments', { body: { walletAddress: ALICE, quoteId } })
    )
    expect(await secondsToApprove(url)).toBe(seconds)
    await world.operate('declinePayment', { outgoingPayment: url, reason: '' })
  })

  it('is declined, too, if its rate ended while it was created', async () => {
    world.limits.after = (call) => {
      if (call === 'reserve') world.clock.advanceSeconds(QUOTE_LIFETIME_SECONDS)
    }
    const url = await awaitingEuros().finally(() => (world.limits.after = undefined))
    world.clock.advanceSeconds(1)
    await expect(approve(url)).rejects.toThrow(/because nobody decided in time$/)
  })

  it('can be approved as long as any other where no rate is needed, also between scales of one currency', async () => {
    const asset = { code: 'USD', scale: 4 }
    await world.operate('createAsset', { asset })
    await world.operate('createAccount', { name: 'dana', asset })
    await world.operate('createWalletAddress', { path: '/dana', publicName: '', accountName: 'dana' })
    const expiresAt = new Date(world.clock.now() + 86_400_000 * 2).toISOString()
    const [bobs, danas] = [
      await world.createReceiver({ expiresAt }),
      await world.createReceiver({ walletAddress: `${PUBLIC_URL}/dana`, expiresAt })
    ]
    const urls = await awaiting(
      () => world.pay(bobs, 100),
      () => world.pay(danas, 100)
    )
    world.clock.advanceSeconds(APPROVAL_TIMEOUT_SECONDS - 1)
    for (const url of urls) {
      expect(await secondsToApprove(url)).toBe(APPROVAL_TIMEOUT_SECONDS)
      await approve(url)
      expect((await world.whenEnded(url)).body).toMatchObject({ failed: false, sentAmount: usd(100) })
    }
  })
})

describe('a payment here between two currencies that waits for nobody', () => {
  const freeze = { accountName: 'alice', reason: 'stolen phone' }

  /** Creates a payment of 100.00 USD for 90.00 EUR to which something happens before it is settled; answers its URL. */
  async function delayedEuros(then: () => unknown): Promise<string> {
    const receiver = await euroReceiver()
    let url = ''
    const pay = async (): Promise<void> => {
      url = (await world.pay(receiver, 10_000)).textAt('id')
    }
    await delayed(receiver, pay, then)
    return url
  }
  const delayedBy = (seconds: number): Promise<string> =>
    delayedEuros(() => {
      world.clock.advanceSeconds(seconds)
    })

  it('is paid although this provider delayed it for minutes', async () => {
    const url = await delayedBy(QUOTE_LIFETIME_SECONDS + DELAYED_MAX_SECONDS - 1)
    expect((await world.whenEnded(url)).body).toMatchObject({ failed: false, sentAmount: usd(10_000) })
  })

  it('is not paid at a rate that ended long ago', async () => {
    const before = await world.available('alice')
    const url = await delayedBy(QUOTE_LIFETIME_SECONDS + DELAYED_MAX_SECONDS)
    expect((await world.whenEnded(url)).body).toMatchObject({
      failed: true,
      failureReason: 'rate_changed',
      sentAmount: usd(0)
    })
    expect(await world.available('alice')).toBe(before)
  })

  it('is held by a freeze until its rate ends, and no longer', async () => {
    const before = await world.available('alice')
    const url = await delayedEuros(() => world.operate('freezeAccount', freeze))
    // Longer than the poll of the worker.
    const polled = (): Promise<unknown> => delay(1_200)
    try {
      world.clock.advanceSeconds(QUOTE_LIFETIME_SECONDS - 1)
      await polled()
      expect(await show(url)).toMatchObject({ payment: { state: 'pending' } })
      world.clock.advanceSeconds(1)
      for (let polls = 0; polls < 5 && (await show(url)).payment?.state === 'pending'; polls += 1)
        await polled()
      expect(await show(url)).toMatchObject({
        payment: { state: 'failed', failureReason: 'account_frozen', movedValue: '0' }
      })
    } finally {
      await world.operate('unfreezeAccount', freeze)
    }
    expect(await world.available('alice')).toBe(before)
  })

  it('goes on at its rate when a freeze that held it ends in time', async () => {
    const url = await delayedEuros(() => world.operate('freezeAccount', freeze))
    world.clock.advanceSeconds(QUOTE_LIFETIME_SECONDS - 1)
    await world.operate('unfreezeAccount', freeze)
    expect((await world.whenEnded(url)).body).toMatchObject({ failed: false, sentAmount: usd(10_000) })
  })
})
