import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { recordFormerIncarnation } from './support/former-incarnation.js'
import { type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

const AGE_SECONDS = 300

let world: PaymentWorld

beforeAll(async () => {
  // The sweeper recorded the timeline when the service started, and does not run again.
  world = await startPaymentWorld({
    settings: { SWEEP_INTERVAL_SECONDS: '3600', ORPHAN_AGE_SECONDS: String(AGE_SECONDS) }
  })
})
afterAll(() => world.stop())

/** Adds a reservation to the auth server. Returns its id. */
function reserve(ageSeconds: number, state: 'open' | 'settled' | 'released' = 'open'): string {
  const paymentId = randomUUID()
  world.limits.reservations.set(paymentId, {
    paymentId,
    content: '',
    accessToken: world.token,
    walletAddress: 'http://wallet.test/alice',
    receiver: 'http://wallet.test/incoming-payments/1',
    state,
    debitAmount: usd(7),
    receiveAmount: usd(6),
    debited: 5n,
    received: 4n,
    createdAt: new Date(world.clock.now() - ageSeconds * 1_000)
  })
  return paymentId
}

/** The timeline changed so long ago, by the clock of the tests, which stands still. */
async function change(secondsAgo: number): Promise<void> {
  await recordFormerIncarnation(world.database)
  await world.database.query('update database_incarnation set first_seen_at = $1 where timeline_id <> 0', [
    new Date(world.clock.now() - secondsAgo * 1_000)
  ])
}

const list = (pageSize = 0, pageToken = '') => world.operate('listLostPayments', { pageSize, pageToken })
const giveUp = (...paymentIds: string[]) => world.operate('giveUpLostPayments', { paymentIds })

describe('lost payments', () => {
  it('are none on a database that was met on one timeline alone', async () => {
    reserve(AGE_SECONDS + 60)
    reserve(AGE_SECONDS + 60, 'settled')
    expect((await list()).payments).toEqual([])
    world.limits.reservations.clear()
  })

  it('are what was reserved before the timeline changed, is open or settled, and is unknown here', async () => {
    await change(AGE_SECONDS + 30)
    const [open, settled] = [reserve(AGE_SECONDS + 40), reserve(AGE_SECONDS + 40, 'settled')]
    reserve(AGE_SECONDS + 40, 'released')
    reserve(AGE_SECONDS + 20)
    const { payments, nextPageToken } = await list()
    expect(nextPageToken).toBe('')
    const common = {
      grantId: '0190a5f0-0000-7000-8000-000000000001',
      client: world.shop.client,
      walletAddress: 'http://wallet.test/alice',
      receiver: 'http://wallet.test/incoming-payments/1',
      debitAsset: { code: 'USD', scale: 2 },
      receiveAsset: { code: 'USD', scale: 2 },
      createTime: new Date(world.clock.now() - (AGE_SECONDS + 40) * 1_000)
    }
    expect(payments).toEqual(
      [
        { ...common, paymentId: open, state: 'open', debitValue: '7', receiveValue: '6' },
        { ...common, paymentId: settled, state: 'settled', debitValue: '5', receiveValue: '4' }
      ].sort((left, right) => (left.paymentId < right.paymentId ? -1 : 1))
    )
    const first = await list(1)
    const second = await list(1, first.nextPageToken)
    expect([...first.payments, ...second.payments]).toEqual(payments)
    expect(second.nextPageToken).toBe('')
    await expect(list(1, 'made-up')).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      field: 'page_token'
    })
    world.limits.reservations.clear()
  })

  it('are not what was released before the change: the audit has nothing to name there', async () => {
    await change(AGE_SECONDS + 30)
    const [before, since] = [reserve(AGE_SECONDS + 40, 'released'), reserve(AGE_SECONDS + 20, 'released')]
    expect((await list()).payments).toEqual([])
    const named = await world.audit()
    expect(named.some((violation) => violation.includes(before))).toBe(false)
    expect(named.some((violation) => violation.includes(since))).toBe(true)
    world.limits.reservations.clear()
  })

  describe('giving them up', () => {
    it('is refused for what was reserved since, and for what is known', async () => {
      await change(AGE_SECONDS + 30)
      const lost = reserve(AGE_SECONDS + 40)
      const since = reserve(AGE_SECONDS + 20)
      const paid = (await world.pay(await world.createReceiver(), 7)).textAt('id').slice(-36)
      const reservation = world.limits.reservations.get(paid)!
      reservation.createdAt = new Date(world.clock.now() - (AGE_SECONDS + 40) * 1_000)
      for (const other of [since, paid]) {
        await expect(giveUp(lost, other)).rejects.toMatchObject({
          code: status.FAILED_PRECONDITION,
          field: 'payment_ids',
          message: `the payment ${other} is not lost`
        })
      }
      expect((await list()).payments.map(({ paymentId }) => paymentId)).toEqual([lost])
      world.limits.reservations.delete(lost)
      world.limits.reservations.delete(since)
    })

    it('is refused for more than a hundred, for none, and for what is no id', async () => {
      for (const ids of [[], ['7'], Array.from({ length: 101 }, () => randomUUID())]) {
        await expect(giveUp(...ids)).rejects.toMatchObject({
          code: status.INVALID_ARGUMENT,
          field: 'payment_ids'
        })
      }
    })

    it('releases what is open, leaves what is settled, and has its effect once', async () => {
      await change(AGE_SECONDS + 30)
      const [open, settled] = [reserve(AGE_SECONDS + 40), reserve(AGE_SECONDS + 40, 'settled')]
      expect((await giveUp(open, settled, open)).paymentIds.sort()).toEqual([open, settled].sort())
      expect((await giveUp(open, settled)).paymentIds).toEqual([])
      await world.whenDelivered()
      expect(world.limits.reservations.get(open)?.state).toBe('released')
      expect(world.limits.reservations.get(settled)?.state).toBe('settled')
      expect(world.limits.asked.release).toBe(1)
      expect((await list()).payments).toEqual([])
    })
  })

  /** Pays, and loses the payment as a failover does; answers its id, and the same request once more. */
  async function lose(
    state: 'open' | 'settled'
  ): Promise<{ paymentId: string; receiver: string; repeat: () => Promise<number> }> {
    const receiver = await world.createReceiver()
    const headers = { 'idempotency-key': randomUUID() }
    const pay = () => world.pay(receiver, 7, {}, { headers, signature: { nonce: randomUUID() } })
    const url = (await pay()).textAt('id')
    const paymentId = url.slice(-36)
    await world.whenEnded(url)
    await world.whenDelivered()
    for (const [table, column] of [
      ['transfer', 'payment_id'],
      ['grant_reservation', 'payment_id'],
      ['outgoing_payment', 'id']
    ]) {
      await world.database.query(`delete from ${String(table)} where ${String(column)} = $1`, [paymentId])
    }
    const reservation = world.limits.reservations.get(paymentId)!
    reservation.state = state
    reservation.createdAt = new Date(world.clock.now() - (AGE_SECONDS + 40) * 1_000)
    return { paymentId, receiver, repeat: async () => (await pay()).status }
  }

  it.each([
    ['open', 'released'],
    ['settled', 'settled']
  ] as const)(
    'are left to an operator where their request is repeated while the auth server is away: %s',
    async (state, ended) => {
      await change(AGE_SECONDS + 30)
      const { paymentId, repeat } = await lose(state)
      const { release } = world.limits.asked
      world.limits.before = (call) => {
        if (call === 'reserve') throw new RpcError({ code: status.UNAVAILABLE, message: 'down' })
      }
      expect(await repeat()).toBe(503)
      world.limits.before = undefined
      await world.whenDelivered()
      expect(world.limits.reservations.get(paymentId)?.state).toBe(state)
      expect(world.limits.asked.release).toBe(release)
      expect((await list()).payments.map((lost) => lost.paymentId)).toEqual([paymentId])
      const named = async () => (await world.audit()).filter((violation) => violation.includes(paymentId))
      expect(await named()).toEqual([expect.stringContaining('is lost here')])

      expect((await giveUp(paymentId)).paymentIds).toEqual([paymentId])
      expect((await giveUp(paymentId)).paymentIds).toEqual([])
      await world.whenDelivered()
      expect(world.limits.reservations.get(paymentId)?.state).toBe(ended)
      expect((await list()).payments).toEqual([])
      expect(await named()).toEqual([])
    }
  )

  it('are not those whose request was given up after the change: these are released', async () => {
    await change(AGE_SECONDS + 30)
    const receiver = await world.createReceiver()
    let paymentId = ''
    world.limits.after = (call) => {
      if (call !== 'reserve') return
      paymentId = [...world.limits.reservations.keys()].at(-1) ?? ''
      throw new RpcError({ code: status.UNAVAILABLE, message: 'down' })
    }
    expect((await world.pay(receiver, 7)).status).toBe(503)
    world.limits.after = undefined
    await world.whenDelivered()
    expect(world.limits.reservations.get(paymentId)?.state).toBe('released')
    expect((await list()).payments).toEqual([])
  })

  it.each([
    ['that made its reservation itself', 'persist_failed', 'released'],
    ['that found the reservation of an earlier attempt', 'reservation_repeated', 'open'],
    ['that does not know whether it made one', 'reservation_unknown', 'open']
  ])('are told from what a request gave up around the change, here one %s', async (_what, cause, state) => {
    await change(0)
    const paymentId = reserve(AGE_SECONDS + 60)
    await world.database.query(
      `insert into grant_reservation (payment_id, outcome, given_up_cause) values ($1, 'release', $2)`,
      [paymentId, cause]
    )
    await world.whenDelivered()
    expect(world.limits.reservations.get(paymentId)?.state).toBe(state)
    world.limits.reservations.delete(paymentId)
  })

  it('stay with an operator where their request is repeated and its receiver takes no more', async () => {
    await change(AGE_SECONDS + 30)
    const { paymentId, repeat, receiver } = await lose('open')
    await world.database.query('update incoming_payment set completed = true where id = $1', [
      receiver.slice(-36)
    ])
    expect(await repeat()).toBe(400)
    await world.whenDelivered()
    expect(world.limits.reservations.get(paymentId)?.state).toBe('open')
    expect((await list()).payments.map((lost) => lost.paymentId)).toContain(paymentId)
    await giveUp(paymentId)
    await world.whenDelivered()
    expect(world.limits.reservations.get(paymentId)?.state).toBe('released')
  })

  it('are not kept from an operator who decides while their release is delivered', async () => {
    await change(AGE_SECONDS + 30)
    const { paymentId, repeat } = await lose('open')
    let looked = (): void => undefined
    const lookedUp = new Promise<void>((resolve) => (looked = resolve))
    let goOn = (): void => undefined
    const decided = new Promise<void>((resolve) => (goOn = resolve))
    world.limits.before = (call) => {
      if (call === 'reserve') throw new RpcError({ code: status.UNAVAILABLE, message: 'down' })
    }
    world.limits.beforeList = async () => {
      world.limits.beforeList = undefined
      looked()
      await decided
    }
    expect(await repeat()).toBe(503)
    world.limits.before = undefined
    await lookedUp
    expect((await giveUp(paymentId)).paymentIds).toEqual([paymentId])
    goOn()
    await world.whenDelivered()
    expect(world.limits.reservations.get(paymentId)?.state).toBe('released')
  })
})
