import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { createLogger } from '@open-payments-server/runtime'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type Disturbance, type Disturbed, disturb } from './support/failing-statements.js'
import {
  ALICE,
  CAROL,
  type PaymentWorld,
  PUBLIC_URL,
  startPaymentWorld,
  usd
} from './support/payment-world.js'

/** The statement that persists a payment. */
const PERSISTING = /insert into outgoing_payment/
/** The statement that gives a payment's id up. */
const GIVING_UP = /^\/\* give-up-payment-id \*\//
/** The statement that finds the payment of a request. */
const LOOKING = /p\.signature_id = \$2/

const logger = createLogger({ service: 'resource-server', level: 'silent' })
const errors = jest.spyOn(logger, 'error')
let world: PaymentWorld
let rate = 1n
let disturbances: Disturbed[] = []

beforeAll(async () => {
  const getRate = (source: { code: string }, target: { code: string }) =>
    Promise.resolve({ numerator: source.code === target.code ? 1n : rate, denominator: 1n })
  world = await startPaymentWorld({ overrides: { logger, rates: { getRate } } })
})
beforeEach(() => {
  // Every test signs in a second of its own: the same request in the same second is the same request.
  world.clock.advanceSeconds(1)
  errors.mockClear()
})
afterEach(async () => {
  for (const disturbed of disturbances.toReversed()) disturbed.stop()
  disturbances = []
  world.limits.before = undefined
  world.limits.after = undefined
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(() => world.stop())

const disturbing = (disturbance: Disturbance): Disturbed => {
  const disturbed = disturb(world.server.pool, disturbance)
  disturbances.push(disturbed)
  return disturbed
}

/** The same request again: without a nonce, Ed25519 signs equal requests of one second with equal bytes. */
const send = (body: object, headers: Record<string, string> = {}) =>
  world.request('POST', '/outgoing-payments', { body, headers })

const order = async (more: object = {}): Promise<object> => ({
  walletAddress: ALICE,
  incomingPayment: await world.createReceiver(),
  debitAmount: usd(100),
  metadata: { order: randomUUID() },
  ...more
})

/** Ids of the payments of an order. */
const paymentsOf = async (body: object): Promise<string[]> => {
  const rows = await world.database.query<{ id: string }>(
    'select id from outgoing_payment where metadata = $1::jsonb',
    [JSON.stringify('metadata' in body ? body.metadata : null)]
  )
  return rows.map(({ id }) => id)
}

const idIn = (url: string): string => url.slice(-36)

describe('a payment whose persisting ended in uncertainty', () => {
  it('is answered with 201 when it was persisted, as soon as the database tells, and is processed', async () => {
    const body = await order()
    disturbing({ statements: PERSISTING, moment: 'after', times: 1 })
    disturbing({ statements: GIVING_UP, moment: 'before', times: 3 })
    disturbing({ statements: LOOKING, moment: 'before', times: 2 })
    const answer = await send(body)
    expect(answer).toMatchObject({ status: 201 })
    expect(await paymentsOf(body)).toEqual([idIn(answer.textAt('id'))])
    expect((await world.whenEnded(answer.textAt('id'))).at('sentAmount')).toEqual(usd(100))
    expect(await send(body)).toMatchObject({ status: 201, text: answer.text })
  })

  it('is answered with 503 when it was not, and can be paid with the same request afterwards', async () => {
    const body = await order()
    disturbing({ statements: PERSISTING, moment: 'before', times: 1 })
    disturbing({ statements: GIVING_UP, moment: 'before', times: 3 })
    const answer = await send(body)
    expect(answer).toMatchObject({ status: 503 })
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await paymentsOf(body)).toEqual([])
    await world.whenDelivered()
    const again = await send(body)
    expect(again).toMatchObject({ status: 201 })
    expect(await paymentsOf(body)).toEqual([idIn(again.textAt('id'))])
  })

  it.each(Array.from({ length: 6 }, (_, index) => 4 ** index))(
    'is answered as it comes out when its statement still runs, for %i ms more',
    async (runsMs) => {
      const body = await order()
      const lock = await world.server.pool.connect()
      let committed: Promise<unknown> | undefined
      try {
        await lock.query('begin')
        await lock.query(`select 1 from account where name = 'alice' for update`)
        const persisting = disturbing({ statements: PERSISTING, moment: 'during', times: 1 })
        const answering = send(body)
        committed = delay(runsMs).then(() => lock.query('commit'))
        const answer = await answering
        await Promise.allSettled(persisting.results)
        expect(await paymentsOf(body)).toHaveLength(answer.status === 201 ? 1 : 0)
        expect([201, 503]).toContain(answer.status)
      } finally {
        await committed
        lock.release()
      }
    }
  )

  it('is not answered at all when the database tells nothing; who repeats the request learns the truth', async () => {
    const [persisted, lost] = [await order(), await order()]
    const silent = [
      disturbing({ statements: PERSISTING, moment: 'after', times: 1 }),
      disturbing({ statements: GIVING_UP, moment: 'before' }),
      disturbing({ statements: LOOKING, moment: 'before' })
    ]
    const first = send(persisted)
    while (silent[0]?.count === 0) await new Promise(setImmediate)
    silent.push(disturbing({ statements: PERSISTING, moment: 'before', times: 1 }))
    const answers = await Promise.allSettled([first, send(lost)])
    expect(answers.map(({ status: result }) => result)).toEqual(['rejected', 'rejected'])
    const told = errors.mock.calls.map(([fields]) => fields as { paymentId: string })
    expect(told).toHaveLength(2)
    expect(told.map(({ paymentId }) => paymentId)).toContain((await paymentsOf(persisted))[0])
    for (const disturbed of silent.toReversed()) disturbed.stop()
    disturbances = []

    const paid = await send(persisted)
    expect(paid).toMatchObject({ status: 201 })
    expect(await paymentsOf(persisted)).toEqual([idIn(paid.textAt('id'))])
    expect(await send(lost)).toMatchObject({ status: 201 })
    expect(await paymentsOf(lost)).toHaveLength(1)
  })
})

describe('an error', () => {
  it('is not told before the database says that the very same request had not paid', async () => {
    const body = await order()
    const first = await send(body)
    await world.whenEnded(first.textAt('id'))
    world.limits.after = () => {
      throw new RpcError({ code: status.INTERNAL, message: 'lost' })
    }
    disturbing({ statements: LOOKING, moment: 'before', times: 4 })
    expect(await send(body)).toMatchObject({ status: 201, text: first.text })
  })

  it('is not told because the wallet address could not be looked up at once', async () => {
    await world.operate('createAccount', { name: 'dora', asset: { code: 'USD', scale: 2 } })
    await world.operate('createWalletAddress', { path: '/dora', publicName: 'Dora', accountName: 'dora' })
    const lookup = disturbing({ statements: /where w\.path/, moment: 'before', times: 2 })
    const answer = await send(await order({ walletAddress: `${PUBLIC_URL}/dora` }))
    expect(lookup.count).toBe(2)
    expect(answer).toMatchObject({ status: 201 })
  })

  it('of an uncertain reservation is told once the id is given up, however long the database is away', async () => {
    const body = await order()
    world.limits.after = (call) => {
      if (call === 'reserve') throw new RpcError({ code: status.INTERNAL, message: 'lost' })
    }
    const tombstones = async () =>
      (await world.database.query(`select 1 from grant_reservation where outcome = 'release'`)).length
    const before = await tombstones()
    const away = disturbing({ statements: GIVING_UP, moment: 'before', times: 5 })
    expect(await send(body)).toMatchObject({ status: 503 })
    expect(away.count).toBe(5)
    expect(await tombstones()).toBe(before + 1)
    expect(await paymentsOf(body)).toEqual([])
  })

  it('gives way to the payment that the same request made meanwhile under its next id', async () => {
    const body = await order()
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    let calls = 0
    world.limits.after = async (call) => {
      if (call !== 'reserve') return
      calls += 1
      if (calls > 2) return
      if (calls === 1) await released
      throw new RpcError({ code: status.INTERNAL, message: 'lost' })
    }
    const slow = send(body)
    while (calls === 0) await new Promise(setImmediate)
    expect(await send(body)).toMatchObject({ status: 503 })
    await world.whenDelivered()
    const paid = await send(body)
    expect(paid).toMatchObject({ status: 201 })
    release()
    expect(await slow).toMatchObject({ status: 201, text: paid.text })
    expect(await paymentsOf(body)).toHaveLength(1)
  })

  it('does not blame the client when the rate moved while the first attempt was given back', async () => {
    const body = await order({ incomingPayment: await world.createReceiver({ walletAddress: CAROL }) })
    rate = 1n
    world.limits.after = (call) => {
      if (call === 'reserve') throw new RpcError({ code: status.INTERNAL, message: 'lost' })
    }
    world.limits.before = (call) => {
      if (call === 'release') throw new RpcError({ code: status.UNAVAILABLE, message: 'not now' })
    }
    expect(await send(body)).toMatchObject({ status: 503 })
    rate = 2n
    world.limits.after = undefined
    expect(await send(body)).toMatchObject({ status: 503 })
    world.limits.before = undefined
    await world.whenDelivered()
    expect(await send(body)).toMatchObject({ status: 201 })
    expect(await paymentsOf(body)).toHaveLength(1)
  })
})
