import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ALICE, PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { AUTH_GRPC_DEADLINE_MS: '2000', SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '1' }
  })
})
beforeEach(() => {
  world.clock.advanceSeconds(1)
})
afterEach(async () => {
  world.limits.before = undefined
  world.limits.after = undefined
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(() => world.stop())

const unavailable = (): never => {
  throw new RpcError({ code: status.UNAVAILABLE, message: 'down' })
}
const stateOf = (paymentId: string) => world.limits.reservations.get(paymentId)?.state
const outcomeOf = async (paymentId: string) =>
  (
    await world.database.query<{ outcome: string | null; attempts: number; delivered_at: Date | null }>(
      'select outcome, attempts, delivered_at from grant_reservation where payment_id = $1',
      [paymentId]
    )
  )[0]
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await delay(10)
}
const newest = () => [...world.limits.reservations.values()].at(-1)!

describe('a reservation whose answer was lost', () => {
  it.each<[string, (refused: Promise<void>) => Promise<void> | void]>([
    ['because the connection broke', unavailable],
    ['because it came too late', (refused) => refused]
  ])('%s: 503 with Retry-After, no payment, and the room is given back', async (_why, lose) => {
    const receiver = await world.createReceiver()
    const spent = world.limits.spent(world.token)
    let come: () => void = () => undefined
    const refused = new Promise<void>((resolve) => (come = resolve))
    world.limits.after = (call) => (call === 'reserve' ? lose(refused) : undefined)
    const answer = await world.pay(receiver, 100)
    come()
    expect(answer).toMatchObject({ status: 503 })
    expect(answer.headers.get('retry-after')).toBe('1')
    world.limits.after = undefined
    const { paymentId } = newest()
    await until(() => stateOf(paymentId) === 'released')
    await world.whenDelivered()
    expect(await world.database.query('select 1 from outgoing_payment where id = $1', [paymentId])).toEqual(
      []
    )
    expect(world.limits.spent(world.token)).toEqual(spent)
  })

  it('is asked for again within the deadline, so that a short interruption is not noticed', async () => {
    const receiver = await world.createReceiver()
    let failures = 1
    world.limits.after = (call) => {
      if (call === 'reserve' && failures-- > 0) unavailable()
    }
    expect(await world.pay(receiver, 100)).toMatchObject({ status: 201 })
  })

  it('never reached the auth server: 503, and it never will be reserved', async () => {
    const receiver = await world.createReceiver()
    const before = await world.database.query('select payment_id from grant_reservation')
    world.limits.before = (call) => (call === 'reserve' ? unavailable() : undefined)
    expect(await world.pay(receiver, 100)).toMatchObject({ status: 503 })
    world.limits.before = undefined
    const after = await world.database.query<{ payment_id: string; outcome: string }>(
      'select payment_id, outcome from grant_reservation order by created_at desc'
    )
    expect(after).toHaveLength(before.length + 1)
    expect(after[0]).toMatchObject({ outcome: 'release' })
    await until(() => stateOf(after[0]!.payment_id) === 'released')
  })
})

describe('a reservation without a payment', () => {
  it('left behind by a process that died is swept and released', async () => {
    const paymentId = randomUUID()
    world.limits.reservations.set(paymentId, {
      paymentId,
      content: 'of a process that died',
      accessToken: world.token,
      walletAddress: '',
      receiver: '',
      state: 'open',
      debitAmount: usd(100),
      receiveAmount: usd(100),
      debited: 100n,
      received: 100n,
      createdAt: new Date(Date.now() - 60_000)
    })
    await until(() => stateOf(paymentId) === 'released')
    await world.whenDelivered()
    expect(await outcomeOf(paymentId)).toMatchObject({ outcome: 'release' })
  })

  it('whose request was only slow: the tombstone wins, 503, and nothing is paid', async () => {
    const receiver = await world.createReceiver()
    const spent = world.limits.spent(world.token)
    let paymentId = ''
    world.limits.after = async (call) => {
      if (call !== 'reserve') return
      paymentId = newest().paymentId
      await world.database.query(
        `insert into grant_reservation (payment_id, outcome, given_up_cause) values ($1, 'release', 'swept')`,
        [paymentId]
      )
    }
    const answer = await world.pay(receiver, 100)
    expect(answer).toMatchObject({ status: 503 })
    expect(await world.database.query('select 1 from outgoing_payment where id = $1', [paymentId])).toEqual(
      []
    )
    await until(() => stateOf(paymentId) === 'released')
    await world.whenDelivered()
    expect(world.limits.spent(world.token)).toEqual(spent)
    expect((await world.request('GET', receiver.slice(PUBLIC_URL.length))).at('receivedAmount')).toEqual(
      usd(0)
    )
  })

  it('of a payment that is just being processed is left alone', async () => {
    const receiver = await world.createReceiver()
    const client = await world.server.pool.connect()
    try {
      await client.query('begin')
      await client.query('select 1 from incoming_payment where id = $1 for update', [receiver.slice(-36)])
      const created = await world.pay(receiver, 100)
      const paymentId = created.textAt('id').slice(-36)
      world.limits.reservations.get(paymentId)!.createdAt = new Date(Date.now() - 3_600_000)
      await delay(1_500)
      expect(stateOf(paymentId)).toBe('open')
      expect(await world.audit(60)).toEqual([expect.stringContaining(`${paymentId} is open since`)])
      await client.query('rollback')
      expect((await world.whenEnded(created.textAt('id'))).at('failed')).toBe(false)
      await until(() => stateOf(paymentId) === 'settled')
    } finally {
      client.release()
    }
  })
})

describe('what became of a payment', () => {
  it('is told to the auth server until it is acknowledged', async () => {
    const receiver = await world.createReceiver()
    world.limits.before = (call) => (call === 'settle' ? unavailable() : undefined)
    const created = await world.pay(receiver, 100)
    const paymentId = created.textAt('id').slice(-36)
    expect((await world.whenEnded(created.textAt('id'))).at('failed')).toBe(false)
    await until(async () => (await outcomeOf(paymentId))!.attempts >= 2)
    expect(stateOf(paymentId)).toBe('open')
    expect(await outcomeOf(paymentId)).toMatchObject({ outcome: 'settle', delivered_at: null })
    world.limits.before = undefined
    await until(() => stateOf(paymentId) === 'settled')
  })

  it('has one effect though the acknowledgement was lost', async () => {
    const receiver = await world.createReceiver()
    let failures = 5
    world.limits.after = (call) => {
      if (call === 'settle' && failures-- > 0) unavailable()
    }
    const spent = world.limits.spent(world.token).debited
    const created = await world.pay(receiver, 100)
    const paymentId = created.textAt('id').slice(-36)
    await world.whenDelivered()
    expect(stateOf(paymentId)).toBe('settled')
    expect(world.limits.spent(world.token).debited).toBe(spent + 100n)
  })

  it('is kept, and tried again much later, when the auth server refuses it', async () => {
    const receiver = await world.createReceiver()
    world.limits.before = (call) => {
      if (call === 'settle') throw new RpcError({ code: status.FAILED_PRECONDITION, message: 'no' })
    }
    const created = await world.pay(receiver, 100)
    const paymentId = created.textAt('id').slice(-36)
    // The attempt is counted when it begins; how long the next one waits, when it has ended.
    await until(async () => {
      const [row] = await world.database.query<{ attempts: number; seconds: number }>(
        `select attempts, extract(epoch from next_attempt_at - now())::int as seconds
           from grant_reservation where payment_id = $1`,
        [paymentId]
      )
      return row?.attempts === 1 && row.seconds > 60
    })
    world.limits.before = undefined
    await world.database.query('update grant_reservation set next_attempt_at = now() where payment_id = $1', [
      paymentId
    ])
    await until(() => stateOf(paymentId) === 'settled')
  })
})

describe('a database that does not answer while a payment is persisted', () => {
  it('answers an error, and neither payment nor reservation stays', async () => {
    const receiver = await world.createReceiver()
    const spent = world.limits.spent(world.token)
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(100) }
    await world.whenEnded((await world.pay(receiver, 1)).textAt('id'))
    const client = await world.server.pool.connect()
    let answer
    try {
      // Persisting waits for the sender's account until the server cancels the statement.
      await client.query('begin')
      await client.query(`set local idle_in_transaction_session_timeout = 0`)
      await client.query(`select 1 from account where name = 'alice' for update`)
      answer = await world.request('POST', '/outgoing-payments', { body })
    } finally {
      await client.query('rollback')
      client.release()
    }
    expect(answer).toMatchObject({ status: 503 })
    const { paymentId } = newest()
    await until(() => stateOf(paymentId) === 'released')
    expect(world.limits.spent(world.token).debited).toBe(spent.debited + 1n)
  })
})
