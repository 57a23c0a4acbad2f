import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, isRpcError, status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { composeResourceServer, loadConfig } from '@open-payments-server/resource-server'
import { createLogger } from '@open-payments-server/runtime'
import type { Answer } from '@open-payments-server/testing'
import { type Asset, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { digestOf } from '../src/database-digest.js'
import { allSettled } from '../src/payments.js'
import { planSystem } from '../src/plan-system.js'
import { startSystem, type System } from '../src/system.js'
import { amountOf, balanceOf, Correspondence, openWallet, type Wallet } from '../src/wallets.js'

const HALF = 2n ** 63n
const BEYOND = UINT64_MAX + 1n
const USD: Asset = { code: 'USD', scale: 2 }

/** Not useful here: no test moves a clock, so tokens outlive all tests. */
const LONG_LIVED = { ACCESS_TOKEN_LIFETIME_SECONDS: '86400' }

/** A digest of both databases, once nothing is in progress. */
async function stateOf(system: System): Promise<string[]> {
  await allSettled(system)
  return Promise.all([digestOf(system.authDatabase), digestOf(system.resourceDatabase)])
}

/** Expects a request to be refused clearly and without effect. Returns the answer. */
async function expectRefused(
  system: System,
  request: () => Promise<Answer>,
  expected: { readonly status: number; readonly naming?: string }
): Promise<Answer> {
  const before = await stateOf(system)
  const answer = await request()
  expect({ status: answer.status, body: answer.body }).toMatchObject({
    status: expected.status,
    body: { error: { code: expect.any(String), description: expect.any(String) } }
  })
  if (expected.naming !== undefined) {
    const named = [answer.textAt('error.description'), ...Object.keys(answer.at('error.details') ?? {})]
    expect(named.join(' ')).toContain(expected.naming)
  }
  expect(await stateOf(system)).toEqual(before)
  return answer
}

/** The amounts of an outgoing payment that has ended. */
async function endOf(payer: Correspondence, system: System, created: Answer): Promise<unknown[]> {
  expect({ status: created.status, body: created.body }).toMatchObject({ status: 201 })
  await allSettled(system)
  const ended = await payer.read('outgoing', created.textAt('id'))
  return [ended.at('failed'), ended.at('sentAmount.value')]
}

async function receivedBy(payer: Correspondence, receiver: string): Promise<bigint> {
  return BigInt((await payer.read('incoming', receiver)).textAt('receivedAmount.value'))
}

describe('amounts at the edges of 64 bits', () => {
  let system: System
  let rich: Wallet
  let shop: Wallet
  let payer: Correspondence
  let receiver: string

  beforeAll(async () => {
    system = await startSystem({ auth: LONG_LIVED })
    rich = await openWallet(system, 'rich', USD, 3n * UINT64_MAX)
    shop = await openWallet(system, 'shelf', USD)
    payer = await Correspondence.open(system, system.shop, { from: rich, to: shop })
    receiver = await payer.createReceiver()
  })
  afterEach(async () => {
    await allSettled(system)
    expect(await system.audit()).toEqual([])
  })
  afterAll(() => system.stop())

  it.each([1n, HALF, UINT64_MAX])('an incoming payment may be for %s', async (value) => {
    const created = await payer.requestReceiver({ incomingAmount: amountOf(shop, value) })
    expect(created.status).toBe(201)
    const found = await payer.read('incoming', created.textAt('id'))
    expect(found.at('incomingAmount')).toEqual(amountOf(shop, value))
  })

  it.each([0n, BEYOND])('an incoming payment cannot be for %s', async (value) => {
    await expectRefused(system, () => payer.requestReceiver({ incomingAmount: amountOf(shop, value) }), {
      status: 400,
      naming: 'incomingAmount.value'
    })
  })

  it.each([1n, HALF, UINT64_MAX])('a quote of %s takes and gives exactly that', async (value) => {
    const amount = amountOf(rich, value)
    for (const fixed of [{ debitAmount: amount }, { receiveAmount: amount }]) {
      const quote = await payer.quote(receiver, fixed)
      expect([quote.status, quote.at('debitAmount'), quote.at('receiveAmount')]).toEqual([
        201,
        amount,
        amount
      ])
    }
  })

  it('a quote of zero is refused with the minimum, one beyond 64 bits by its field', async () => {
    for (const side of ['debitAmount', 'receiveAmount']) {
      const quote = (value: bigint) => (): Promise<Answer> =>
        payer.quote(receiver, { [side]: amountOf(rich, value) } as { debitAmount: object })
      const nothing = await expectRefused(system, quote(0n), {
        status: 400,
        naming: 'non-positive receive amount'
      })
      expect(nothing.at('error.details.minSendAmount')).toEqual(amountOf(rich, 1n))
      await expectRefused(system, quote(BEYOND), { status: 400, naming: `${side}.value` })
    }
  })

  it('a payment of nothing or beyond 64 bits is refused', async () => {
    await expectRefused(system, () => payer.pay(receiver, amountOf(rich, 0n)), {
      status: 400,
      naming: 'non-positive receive amount'
    })
    await expectRefused(system, () => payer.pay(receiver, amountOf(rich, BEYOND)), {
      status: 400,
      naming: 'debitAmount.value'
    })
  })

  it('payments of one unit and of half the range arrive; more than an incoming payment can receive does not', async () => {
    const before = await balanceOf(system, 'rich')
    const target = await payer.createReceiver()
    expect(await endOf(payer, system, await payer.pay(target, amountOf(rich, 1n)))).toEqual([false, '1'])
    expect(await endOf(payer, system, await payer.pay(target, amountOf(rich, HALF)))).toEqual([
      false,
      String(HALF)
    ])
    // The receiver has room for 2^63 − 2.
    await expectRefused(system, () => payer.quote(target, { debitAmount: amountOf(rich, HALF - 1n) }), {
      status: 400,
      naming: 'invalid receiver'
    })
    await expectRefused(system, () => payer.pay(target, amountOf(rich, HALF - 1n)), {
      status: 400,
      naming: 'invalid receiver'
    })
    expect(await endOf(payer, system, await payer.pay(target, amountOf(rich, HALF - 2n)))).toEqual([
      false,
      String(HALF - 2n)
    ])
    expect(await receivedBy(payer, target)).toBe(UINT64_MAX)
    expect((await payer.readSpent()).body).toEqual({
      spentDebitAmount: amountOf(rich, UINT64_MAX),
      spentReceiveAmount: amountOf(rich, UINT64_MAX)
    })
    expect(before - (await balanceOf(system, 'rich'))).toBe(UINT64_MAX)
    expect((await payer.pay(await payer.createReceiver(), amountOf(rich, 1n))).status).toBe(403)
  })

  it('a payment of the maximum amount works between larger balances', async () => {
    const other = await Correspondence.open(system, system.shop, { from: rich, to: shop })
    const before = { rich: await balanceOf(system, 'rich'), shelf: await balanceOf(system, 'shelf') }
    const target = await other.createReceiver({ incomingAmount: amountOf(shop, UINT64_MAX) })
    expect(await endOf(other, system, await other.pay(target, amountOf(rich, UINT64_MAX)))).toEqual([
      false,
      String(UINT64_MAX)
    ])
    expect((await other.read('incoming', target)).at('completed')).toBe(true)
    expect(before.rich - (await balanceOf(system, 'rich'))).toBe(UINT64_MAX)
    expect((await balanceOf(system, 'shelf')) - before.shelf).toBe(UINT64_MAX)
  })

  it('a payment over the balance fails, and changes neither account, receiver nor grant', async () => {
    const poor = await openWallet(system, 'poor', USD, 5n)
    const other = await Correspondence.open(system, system.shop, { from: poor, to: shop })
    const target = await other.createReceiver()
    for (const value of [6n, HALF, UINT64_MAX]) {
      expect(await endOf(other, system, await other.pay(target, amountOf(poor, value)))).toEqual([true, '0'])
    }
    expect(await balanceOf(system, 'poor')).toBe(5n)
    expect(await receivedBy(other, target)).toBe(0n)
    expect((await other.readSpent()).at('spentDebitAmount')).toEqual(amountOf(poor, 0n))
  })

  it.each(['debitAmount', 'receiveAmount'])(
    'a limit on the %s holds to the unit at every edge',
    async (limit) => {
      const saver = await openWallet(system, `saver-${limit.toLowerCase()}`, USD, 3n * UINT64_MAX)
      for (const value of [0n, 1n, HALF, UINT64_MAX]) {
        const other = await Correspondence.open(
          system,
          system.shop,
          { from: saver, to: shop },
          { [limit]: amountOf(saver, value) }
        )
        const pay = async (debit: bigint): Promise<Answer> =>
          other.pay(await other.createReceiver(), amountOf(saver, debit))
        if (value < UINT64_MAX) expect((await pay(value + 1n)).status).toBe(403)
        if (value > 0n) {
          expect(await endOf(other, system, await pay(value))).toEqual([false, String(value)])
        }
        expect((await pay(1n)).status).toBe(403)
      }
    }
  )

  it('a limit beyond 64 bits is refused', async () => {
    for (const limit of ['debitAmount', 'receiveAmount']) {
      const access = [outgoingAccess(system, { [limit]: amountOf(rich, BEYOND) }, rich.walletAddress)]
      const body = {
        client: system.shop.walletAddress,
        access_token: { access },
        interact: { start: ['redirect'] }
      }
      await expectRefused(system, () => system.shop.request('POST', system.authServerUrl, { body }), {
        status: 400,
        naming: `limits.${limit}.value`
      })
    }
  })
})

/** The result of one of several: its case, or the code and field of its failure. */
function resultOf(result: auth.ReservationResult['result'] | auth.EndResult['result'] | undefined): string {
  if (result?.$case !== 'failure') return String(result?.$case)
  const { code, field } = result.value
  return `${String(status[code])} ${field}`
}

/** The result of an operator's call: `OK`, or the code and field of its refusal. */
async function answerOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'OK'
  } catch (error) {
    if (!isRpcError(error)) throw error
    return [status[error.code], error.field].filter((part) => part !== undefined).join(' ')
  }
}

const ONCE = { idempotent: false }

describe('operators', () => {
  let system: System
  beforeAll(async () => {
    system = await startSystem()
  })
  afterAll(() => system.stop())

  it('move every valid amount exactly, and no other', async () => {
    await openWallet(system, 'vault', USD)
    const move = (direction: 'deposit' | 'withdraw', value: bigint): Promise<string> => {
      const movement = { accountName: 'vault', value: String(value) }
      return answerOf(
        direction === 'deposit'
          ? callUnary(system.operator, 'deposit', { depositId: randomUUID(), ...movement }, ONCE)
          : callUnary(system.operator, 'withdraw', { withdrawalId: randomUUID(), ...movement }, ONCE)
      )
    }
    let balance = 0n
    for (const value of [1n, HALF, UINT64_MAX, UINT64_MAX]) {
      expect(await move('deposit', value)).toBe('OK')
      balance += value
      expect(await balanceOf(system, 'vault')).toBe(balance)
    }
    const before = await stateOf(system)
    for (const value of [0n, BEYOND, -1n]) {
      expect(await move('deposit', value)).toBe('INVALID_ARGUMENT value')
      expect(await move('withdraw', value)).toBe('INVALID_ARGUMENT value')
    }
    expect(await stateOf(system)).toEqual(before)
    for (const value of [UINT64_MAX, HALF, UINT64_MAX]) {
      expect(await move('withdraw', value)).toBe('OK')
      balance -= value
      expect(await balanceOf(system, 'vault')).toBe(balance)
    }
    for (const value of [2n, HALF, UINT64_MAX]) {
      expect(await move('withdraw', value)).toBe('FAILED_PRECONDITION value')
    }
    expect(await move('withdraw', 1n)).toBe('OK')
    expect(await system.audit()).toEqual([])
  })

  it('create assets of scale 0 to 255 only', async () => {
    const create = (scale: number): Promise<string> =>
      answerOf(callUnary(system.operator, 'createAsset', { asset: { code: 'EVERY', scale } }, ONCE))
    const scales = Array.from({ length: 256 }, (_, scale) => scale)
    for (const scale of scales) expect(await create(scale)).toBe('OK')
    const before = await stateOf(system)
    for (const scale of [256, 257, 65_536, 2 ** 31, 2 ** 32 - 1]) {
      expect(await create(scale)).toBe('INVALID_ARGUMENT asset.scale')
    }
    for (const scale of [0, 255]) expect(await create(scale)).toBe('ALREADY_EXISTS asset')
    expect(await stateOf(system)).toEqual(before)
    const { assets } = await callUnary(system.operator, 'listAssets', {}, { idempotent: true })
    expect(assets.filter(({ code }) => code === 'EVERY').map(({ scale }) => scale)).toEqual(scales)
  })

  it('get a clear answer when a service reserves or settles amounts at the edges', async () => {
    const rich = await openWallet(system, 'reserving', USD)
    const { token } = await consentedToken(system, system.shop, [
      outgoingAccess(system, undefined, rich.walletAddress)
    ])
    const amount = (value: bigint) => ({ value: String(value), assetCode: 'USD', assetScale: 2 })
    const reserve = async (paymentId: string, debit: bigint, receive: bigint): Promise<string> => {
      const reservation = {
        paymentId,
        accessToken: token,
        walletAddress: rich.walletAddress,
        receiver: `${system.resourceServerUrl}/incoming-payments/${randomUUID()}`,
        requestHash: randomBytes(32),
        debitAmount: amount(debit),
        receiveAmount: amount(receive)
      }
      const { results } = await callUnary(system.limits, 'reserve', { reservations: [reservation] }, ONCE)
      return resultOf(results[0]?.result)
    }
    const settle = async (paymentId: string, debited: bigint, received: bigint): Promise<string> => {
      const value = { settledDebitValue: String(debited), settledReceiveValue: String(received) }
      const ends = [{ paymentId, end: { $case: 'settlement' as const, value } }]
      const { results } = await callUnary(system.limits, 'end', { ends }, ONCE)
      return resultOf(results[0]?.result)
    }
    const paymentId = randomUUID()
    const empty = await stateOf(system)
    expect(await reserve(paymentId, BEYOND, 1n)).toBe('INVALID_ARGUMENT debit_amount.value')
    expect(await reserve(paymentId, 1n, BEYOND)).toBe('INVALID_ARGUMENT receive_amount.value')
    expect(await stateOf(system)).toEqual(empty)
    expect(await reserve(paymentId, UINT64_MAX, UINT64_MAX)).toBe('reserved')
    const reserved = await stateOf(system)
    expect(await settle(paymentId, BEYOND, 1n)).toBe('INVALID_ARGUMENT settled_debit_value')
    expect(await settle(paymentId, 1n, BEYOND)).toBe('INVALID_ARGUMENT settled_receive_value')
    expect(await stateOf(system)).toEqual(reserved)
    expect(await settle(paymentId, HALF, 0n)).toBe('ended')
    expect(await reserve(randomUUID(), 0n, 0n)).toBe('reserved')
    const { violations } = await callUnary(system.grantOperator, 'auditLimits', {}, { idempotent: true })
    expect(violations).toEqual([])
  })
})

describe('payments between assets of any scale', () => {
  const ONE = 10n ** 19n
  let system: System
  const wallets = new Map<number, Wallet>()

  beforeAll(async () => {
    system = await startSystem({ auth: LONG_LIVED })
    for (const scale of [0, 19, 254, 255]) {
      const name = `scale-${String(scale)}`
      wallets.set(scale, await openWallet(system, name, { code: 'TOK', scale }, UINT64_MAX))
    }
  })
  afterAll(() => system.stop())

  const between = (from: number, to: number): Promise<Correspondence> =>
    Correspondence.open(system, system.shop, {
      from: wallets.get(from) as Wallet, // opened above
      to: wallets.get(to) as Wallet
    })

  it.each([
    [0, 19, 1n, ONE],
    [19, 0, ONE, 1n],
    [19, 0, ONE + ONE / 2n, 1n],
    [254, 255, 5n, 50n],
    [255, 254, 50n, 5n],
    [255, 254, 59n, 5n]
  ])(
    'from scale %s to scale %s, %s are worth %s, and not a unit is lost or made',
    async (from, to, debit, receive) => {
      const payer = await between(from, to)
      const [sender, target] = [payer.from, payer.to]
      const before = [await balanceOf(system, sender.name), await balanceOf(system, target.name)]
      const receiver = await payer.createReceiver()
      const quote = await payer.quote(receiver, { debitAmount: amountOf(sender, debit) })
      expect(quote.at('receiveAmount')).toEqual(amountOf(target, receive))
      expect(await endOf(payer, system, await payer.payQuote(quote))).toEqual([false, String(debit)])
      expect(await receivedBy(payer, receiver)).toBe(receive)
      const after = [await balanceOf(system, sender.name), await balanceOf(system, target.name)]
      expect(after.map((balance, index) => balance - (before[index] ?? 0n))).toEqual([-debit, receive])
      expect(await system.audit()).toEqual([])
    }
  )

  it.each([
    [0, 19, ONE, 1n],
    [19, 0, 1n, ONE],
    [255, 254, 5n, 50n],
    [254, 255, 51n, 6n]
  ])('from scale %s to scale %s, %s are received for no less than %s', async (from, to, receive, debit) => {
    const payer = await between(from, to)
    const quote = await payer.quote(await payer.createReceiver(), {
      receiveAmount: amountOf(payer.to, receive)
    })
    expect([quote.at('debitAmount'), quote.at('receiveAmount')]).toEqual([
      amountOf(payer.from, debit),
      amountOf(payer.to, receive)
    ])
  })

  it('an amount below one unit is refused with the minimum', async () => {
    const payer = await between(19, 0)
    const receiver = await payer.createReceiver()
    for (const pay of [
      () => payer.pay(receiver, amountOf(payer.from, ONE - 1n)),
      () => payer.quote(receiver, { debitAmount: amountOf(payer.from, ONE - 1n) })
    ]) {
      const answer = await expectRefused(system, pay, { status: 400, naming: 'non-positive receive amount' })
      expect(answer.at('error.details.minSendAmount')).toEqual(amountOf(payer.from, ONE))
    }
  })

  it.each([
    [0, 19, 'debitAmount', 2n],
    [0, 255, 'debitAmount', 1n],
    [255, 0, 'debitAmount', UINT64_MAX],
    [255, 0, 'receiveAmount', 1n]
  ] as const)(
    'from scale %s to scale %s, a %s of %s needs what no amount can say',
    async (from, to, side, value) => {
      const payer = await between(from, to)
      const receiver = await payer.createReceiver()
      const fixed = amountOf(side === 'debitAmount' ? payer.from : payer.to, value)
      const refusal = { status: 400, naming: side }
      await expectRefused(
        system,
        () => payer.quote(receiver, { [side]: fixed } as { debitAmount: object }),
        refusal
      )
      if (side === 'debitAmount') await expectRefused(system, () => payer.pay(receiver, fixed), refusal)
    }
  )
})

/** `value` × `rate` in the smallest units of the target, rounded down; the rate is a decimal. */
function convert(value: bigint, rate: string, from: Asset, to: Asset): bigint {
  const [whole = '', decimals = ''] = rate.split('.')
  return (
    (value * BigInt(whole + decimals) * 10n ** BigInt(to.scale)) / 10n ** BigInt(from.scale + decimals.length)
  )
}

describe('exchange rates and fees at their extremes', () => {
  const RATES = {
    FINE: '0.123456789012345678901234567890',
    HUGE: '123456789012345678901234567890',
    TINY: '0.000000000000000000000000000001',
    LONG: '1234567890123456.78901234567890'
  }
  let system: System
  let source: Wallet

  beforeAll(async () => {
    const rates = Object.entries(RATES).map(([code, rate]) => `SRC/${code}=${rate}`)
    system = await startSystem({
      auth: LONG_LIVED,
      resource: {
        EXCHANGE_RATES: rates.join(','),
        FEES: `FIX=${String(UINT64_MAX)}+0,SHARE=0+9999,ALL=${String(UINT64_MAX)}+9999`
      }
    })
    source = await openWallet(system, 'source', { code: 'SRC', scale: 19 }, UINT64_MAX)
  })
  afterEach(async () => {
    await allSettled(system)
    expect(await system.audit()).toEqual([])
  })
  afterAll(() => system.stop())

  it.each([
    ['FINE', 19, 10n ** 18n + 7n],
    ['FINE', 2, 987_654_321n * 10n ** 10n],
    ['HUGE', 0, 3n],
    ['HUGE', 9, 1n],
    ['TINY', 49, 5n],
    ['LONG', 6, 10n ** 15n - 1n]
  ] as const)('the rate %s is applied exactly, to scale %s', async (code, scale, debit) => {
    const target = await openWallet(system, `${code.toLowerCase()}-${String(scale)}`, { code, scale })
    const payer = await Correspondence.open(system, system.shop, { from: source, to: target })
    const receiver = await payer.createReceiver()
    const receive = convert(debit, RATES[code], source.asset, target.asset)
    const quote = await payer.quote(receiver, { debitAmount: amountOf(source, debit) })
    expect(quote.at('receiveAmount')).toEqual(amountOf(target, receive))
    const paid = await payer.pay(receiver, amountOf(source, debit))
    expect(await endOf(payer, system, paid)).toEqual([false, String(debit)])
    expect(await balanceOf(system, target.name)).toBe(receive)
  })

  it('a payment that a rate makes too small or too large is refused', async () => {
    const tiny = await openWallet(system, 'tiny-0', { code: 'TINY', scale: 0 })
    const huge = await openWallet(system, 'huge-19', { code: 'HUGE', scale: 19 })
    for (const [target, debit] of [
      [tiny, UINT64_MAX],
      [huge, 1n]
    ] as const) {
      const payer = await Correspondence.open(system, system.shop, { from: source, to: target })
      const receiver = await payer.createReceiver()
      const debitAmount = amountOf(source, debit)
      await expectRefused(system, () => payer.quote(receiver, { debitAmount }), {
        status: 400,
        naming: 'debitAmount'
      })
      await expectRefused(system, () => payer.pay(receiver, debitAmount), {
        status: 400,
        naming: 'debitAmount'
      })
    }
  })

  it('a fee of nearly everything leaves exactly the rest, or the payment is refused', async () => {
    const payer = await feePayer('SHARE')
    const receiver = await payer.createReceiver()
    const refused = await expectRefused(system, () => payer.pay(receiver, amountOf(payer.from, 9_999n)), {
      status: 400,
      naming: 'non-positive receive amount'
    })
    expect(refused.at('error.details.minSendAmount')).toEqual(amountOf(payer.from, 10_000n))
    for (const [debit, receive] of [
      [10_000n, 1n],
      [19_999n, 1n],
      [20_000n, 2n]
    ] as const) {
      const target = await payer.createReceiver()
      const paid = await payer.pay(target, amountOf(payer.from, debit))
      expect(await endOf(payer, system, paid)).toEqual([false, String(debit)])
      expect(await receivedBy(payer, target)).toBe(receive)
    }
  })

  it.each(['FIX', 'ALL'])('fees of more than can be paid refuse every payment: %s', async (code) => {
    const payer = await feePayer(code)
    const receiver = await payer.createReceiver()
    for (const value of [1n, UINT64_MAX]) {
      const amount = amountOf(payer.from, value)
      const refusal = { status: 400, naming: 'Amount' }
      await expectRefused(system, () => payer.pay(receiver, amount), refusal)
      await expectRefused(system, () => payer.quote(receiver, { debitAmount: amount }), refusal)
      await expectRefused(system, () => payer.quote(receiver, { receiveAmount: amount }), refusal)
    }
  })

  async function feePayer(code: string): Promise<Correspondence> {
    const asset = { code, scale: 2 }
    const name = `fees-${code.toLowerCase()}`
    return Correspondence.open(system, system.shop, {
      from: await openWallet(system, name, asset, UINT64_MAX),
      to: await openWallet(system, `${name}-to`, asset)
    })
  }
})

describe('a resource server with an invalid table', () => {
  it('does not start, and names the setting and position', async () => {
    const plan = await planSystem()
    const logger = createLogger({ service: 'acceptance', level: 'silent' })
    const start = async (settings: Record<string, string>): Promise<void> => {
      const config = loadConfig({ ...plan.resourceServers[0]?.settings, ...settings })
      const service = await composeResourceServer(config, { logger })
      await service.stop()
    }
    try {
      for (const rate of [
        '0',
        '0.0',
        '-1',
        '+1',
        '1e3',
        '.5',
        '1.',
        '01',
        '1,5',
        'NaN',
        '½',
        '9'.repeat(41)
      ]) {
        await expect(start({ EXCHANGE_RATES: `USD/EUR=${rate}` })).rejects.toThrow(/EXCHANGE_RATES: .*USD/)
      }
      for (const entry of ['USD', 'USD/EUR', 'USD/EUR=', '/EUR=1', 'USD/USD=1', 'USD/EUR=1,USD/EUR=1']) {
        await expect(start({ EXCHANGE_RATES: entry })).rejects.toThrow(/EXCHANGE_RATES: /)
      }
      for (const fees of ['-1+0', '0+-1', '0+10000', `${String(BEYOND)}+0`, '1', '1+1+1', '0.5+0', '1e3+0']) {
        await expect(start({ FEES: `USD=${fees}` })).rejects.toThrow(/FEES: .*USD/)
      }
    } finally {
      await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    }
  })
})

describe('a rate service with arbitrary answers', () => {
  let system: System
  let answer: RequestListener
  let payer: Correspondence
  let receiver: string
  const server = createServer((request, response) => answer(request, response))

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    system = await startSystem({
      auth: LONG_LIVED,
      resource: {
        EXCHANGE_RATES_URL: `http://127.0.0.1:${String(port)}/rate`,
        EXCHANGE_RATES_CACHE_SECONDS: '0'
      }
    })
    payer = await Correspondence.open(system, system.shop, {
      from: await openWallet(system, 'dollars', USD, 10n ** 18n),
      to: await openWallet(system, 'euros', { code: 'EUR', scale: 2 })
    })
    receiver = await payer.createReceiver()
  })
  afterAll(async () => {
    await system.stop()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const json =
    (body: string, code = 200, headers: Record<string, string> = {}): RequestListener =>
    (_request, response) => {
      response.writeHead(code, { 'content-type': 'application/json', ...headers })
      response.end(body)
    }
  const rateOf = (rate: unknown): RequestListener => json(JSON.stringify({ rate }))

  const badAnswers: readonly [what: string, answer: RequestListener][] = [
    ...['0', '-1', '-0.5', '1e3', 'NaN', 'Infinity', '', '0x10', '1,5', '.5', '9'.repeat(41)].map(
      (rate): [string, RequestListener] => [`the rate ${JSON.stringify(rate.slice(0, 12))}`, rateOf(rate)]
    ),
    ['a rate that is a number', rateOf(0.9)],
    ['a rate that is null', rateOf(null)],
    ['no rate', json('{}')],
    ['a list', json('[]')],
    ['half an object', json('{"rate":"0.9"')],
    ['nothing at all', json('')],
    ['more than any rate needs', json(JSON.stringify({ rate: '0.9', note: 'x'.repeat(5_000) }))],
    ['another type', json('{"rate":"0.9"}', 200, { 'content-type': 'text/html' })],
    ['a redirect', json('', 302, { location: '/elsewhere' })],
    ['a failure of its own', json('{"rate":"0.9"}', 500)],
    ['that it is too busy', json('', 429)],
    ['a closed connection', (request) => request.socket.destroy()],
    ['never', () => undefined]
  ]
  it.each(badAnswers)(
    'and answers %s: nothing is quoted or paid, and it is worth trying later',
    async (_what, bad) => {
      answer = bad
      const debitAmount = amountOf(payer.from, 1_000n)
      for (const request of [
        () => payer.quote(receiver, { debitAmount }),
        () => payer.pay(receiver, debitAmount)
      ]) {
        const refused = await expectRefused(system, request, { status: 503, naming: 'exchange rates' })
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      }
    }
  )

  it('and has no rate: the payment cannot be made', async () => {
    answer = json('{}', 404)
    await expectRefused(system, () => payer.pay(receiver, amountOf(payer.from, 1_000n)), {
      status: 400,
      naming: 'no exchange rate from USD to EUR'
    })
  })

  it('and answers 30 digits: they are applied exactly, and the quote is paid at its rate whatever is answered by then', async () => {
    const rate = '0.987654321098765432109876543210'
    answer = rateOf(rate)
    const debit = 10n ** 17n + 1n
    const quote = await payer.quote(receiver, { debitAmount: amountOf(payer.from, debit) })
    answer = rateOf('0')
    expect(await endOf(payer, system, await payer.payQuote(quote))).toEqual([false, String(debit)])
    expect(await receivedBy(payer, receiver)).toBe(convert(debit, rate, USD, USD))
    expect(await system.audit()).toEqual([])
  })
})

describe('intervals of grants', () => {
  let system: System
  beforeAll(async () => {
    system = await startSystem({ auth: LONG_LIVED })
  })
  afterAll(() => system.stop())

  const malformed: readonly unknown[] = [
    ...['', ' ', '/', '//', 'R', 'R/', 'R//', 'P1M', 'R5/P1M', 'R5/P1M/P1M', 'R5/2026-01-01T00:00:00Z'],
    ...['R5/2026-01-01T00:00:00Z/P1M/', '2026-01-01T00:00:00Z/P1M', 'R5 /2026-01-01T00:00:00Z/P1M'],
    ...['R5/2026-01-01T00:00:00Z/2026-01-01T00:00:00Z', 'R5/2026-01-02T00:00:00Z/2026-01-01T00:00:00Z'],
    ...['R5/2026-01-01T00:00:00Z--P1M', 'R5/2026-01-01T00:00:00Z/P1M\n', 'R5\u0000/2026-01-01T00:00:00Z/P1M'],
    `R5/2026-01-01T00:00:00Z/P${'0'.repeat(200)}1M`,
    ...['R0', 'R00', 'R-0', 'R-2', 'R+1', 'R1.5', 'R1e3', 'RR', 'r5', '5', 'R9007199254740992', 'R١'].map(
      (repetitions) => `${repetitions}/2026-01-01T00:00:00Z/P1M`
    ),
    ...['PT0S', 'P0D', 'P', 'PT', 'P1', 'P1DT', '1M', 'P-1M', '-P1M', 'P1M1Y', 'P1H', 'P1.5M', 'P1Y0.5M'].map(
      (duration) => `R/2026-01-01T00:00:00Z/${duration}`
    ),
    ...['PT0.0001S', 'P10001Y', 'P99999999999999999999D', 'P1M ', 'p1m', 'PT1,5,5S', 'P1W1W'].map(
      (duration) => `R/2026-01-01T00:00:00Z/${duration}`
    ),
    ...['2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-04-31T00:00:00Z', '2026-01-01T24:00:00Z'].map(
      (start) => `R/${start}/P1M`
    ),
    ...['2026-01-01T00:00:00', '2026-01-01', '20260101T000000Z', '2026-W01-1T00:00:00Z', 'today'].map(
      (start) => `R/${start}/P1M`
    ),
    ...[
      '1969-12-31T23:59:59Z',
      '0000-01-01T00:00:00Z',
      '+12026-01-01T00:00:00Z',
      '10000-01-01T00:00:00Z'
    ].map((start) => `R/${start}/P1M`),
    ...['2026-01-01T00:00:60Z', '2026-01-01T00:00:00+24:00', '2026-01-01T00:00:00z'].map(
      (start) => `R/${start}/P1M`
    ),
    ...['R1/9999-12-31T00:00:00Z/P1D', 'R/P1D/1970-01-01T12:00:00Z', 'R/2026-01-01T00:00:00Z/P9000Y'],
    ...[5, true, null, {}, [], ['R/2026-01-01T00:00:00Z/P1M']]
  ]

  it('are refused in every malformed shape, by their field, and nothing is recorded', async () => {
    const before = await stateOf(system)
    for (const interval of malformed) {
      const access = [outgoingAccess(system, { interval })]
      const answer = await system.shop.request('POST', system.authServerUrl, {
        body: {
          client: system.shop.walletAddress,
          access_token: { access },
          interact: { start: ['redirect'] }
        }
      })
      const { code, details } = answer.at('error') as { code: string; details: Record<string, string> }
      expect([interval, answer.status, code, Object.keys(details).join()]).toEqual([
        interval,
        400,
        'invalid_request',
        expect.stringContaining('limits.interval')
      ])
    }
    expect(await stateOf(system)).toEqual(before)
  })

  it('apply, however long, short, many or distant they are', async () => {
    const now = new Date(system.clock.now())
    const payer = await openWallet(system, 'regular', USD, 1_000n)
    const shop = await openWallet(system, 'regular-shop', USD)
    const cases: readonly [interval: string, statuses: readonly number[]][] = [
      // The second payment does not fit into the interval of the first.
      ['R9007199254740991/1970-01-01T00:00:00Z/P1M', [201, 403]],
      ['R9007199254740991/P1M/9999-12-31T23:59:59Z', [201, 403]],
      ['R-1/P1M/9999-12-31T23:59:59Z', [201, 403]],
      ['R1/1970-01-01T00:00:00Z/9999-12-31T23:59:59Z', [201, 403]],
      ['R/1970-01-01T00:00:00Z/P7000Y', [201, 403]],
      ['R/2024-02-29T00:00:00Z/P1Y', [201, 403]],
      [`R1/${now.toISOString()}/PT1S`, [201, 403]],
      ['R/1970-01-01T00:00:00Z/PT0.001S', [201, 403]],
      // In the future.
      ['R5/9998-01-01T00:00:00Z/P1D', [403, 403]],
      // Over.
      ['R5/1970-01-01T00:00:00Z/P1D', [403, 403]],
      [`R3/PT1S/${now.toISOString()}`, [403, 403]]
    ]
    for (const [interval, statuses] of cases) {
      const limits = { interval, debitAmount: amountOf(payer, 1n) }
      const grant = await Correspondence.open(system, system.shop, { from: payer, to: shop }, limits)
      system.clock.set(now.getTime())
      const pay = async (): Promise<number> =>
        (await grant.pay(await grant.createReceiver(), amountOf(payer, 1n))).status
      expect([interval, await pay(), await pay()]).toEqual([interval, ...statuses])
    }
    await allSettled(system)
    expect(await system.audit()).toEqual([])
  })
})
