import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld
let incomingId: string
let outgoingId: string

beforeAll(async () => {
  world = await startPaymentWorld({ settings: { SWEEP_INTERVAL_SECONDS: '3600' } })
  const receiver = await world.createReceiver()
  const created = await world.pay(receiver, 100)
  incomingId = receiver.slice(-36)
  outgoingId = created.textAt('id').slice(-36)
  await world.whenEnded(created.textAt('id'))
  await world.whenDelivered()
})
afterAll(() => world.stop())

describe('an audit', () => {
  it('names what it checked, and finds nothing where all adds up', async () => {
    const { checks } = await world.operate('audit', { openReservationAgeMaxSeconds: 0 })
    expect(checks.map(({ invariant }) => invariant).length).toBe(12)
    expect(checks.flatMap(({ violations }) => violations)).toEqual([])
    expect(checks.find(({ invariant }) => invariant.includes('payment has sent'))?.checkedCount).toBe(1n)
  })

  // Each damages one thing that constraints cannot guard, and mends it.
  it.each<[string, string, string, () => string]>([
    [
      'an account whose total is not what its entries say',
      `update account set credits_posted = credits_posted + 1 where name = 'alice'`,
      `update account set credits_posted = credits_posted - 1 where name = 'alice'`,
      () => 'alice'
    ],
    [
      'a hold that nothing holds',
      `update account set debits_pending = debits_pending + 1 where name = 'alice'`,
      `update account set debits_pending = debits_pending - 1 where name = 'alice'`,
      () => 'alice'
    ],
    [
      'an incoming payment that shows more than it was given',
      `update incoming_payment set received_value = received_value + 1`,
      `update incoming_payment set received_value = received_value - 1`,
      () => incomingId
    ],
    [
      'an outgoing payment that shows less than it sent',
      `update outgoing_payment set state = 'failed', failure_reason = 'x', sent_value = 99, delivered_value = 99`,
      `update outgoing_payment set state = 'completed', failure_reason = null, sent_value = 100, delivered_value = 100`,
      () => outgoingId
    ],
    [
      'money that stayed in clearing',
      `update transfer set amount = amount - 1, posted_amount = posted_amount - 1 where kind = 'delivery'`,
      `update transfer set amount = amount + 1, posted_amount = posted_amount + 1 where kind = 'delivery'`,
      () => 'clearing of USD'
    ],
    [
      "a delivery to an account that is not its receiver's",
      `update transfer set credit_account_id = (select id from account where name = 'alice') where kind = 'delivery'`,
      `update transfer set credit_account_id = (select account_id from wallet_address w join incoming_payment i
         on i.wallet_address_id = w.id where i.id = transfer.incoming_payment_id) where kind = 'delivery'`,
      () => `of payment ${outgoingId}: posted of 100, from`
    ],
    [
      'a delivery after its receiver expired',
      `update incoming_payment set expires_at = expires_at - interval '10 years'`,
      `update incoming_payment set expires_at = expires_at + interval '10 years'`,
      () => 'expires at'
    ],
    [
      'a payment without its place in the outbox',
      `update grant_reservation set payment_id = '00000000-0000-7000-8000-000000000000'`,
      `update grant_reservation set payment_id = (select id from outgoing_payment)`,
      () => outgoingId
    ],
    [
      'a settlement of another amount',
      `update grant_reservation set debited_value = 99`,
      `update grant_reservation set debited_value = 100`,
      () => outgoingId
    ],
    [
      'a hold of a payment that has ended',
      `update transfer set state = 'pending', posted_amount = null, ended_at = null where kind = 'payment'`,
      `update transfer set state = 'posted', posted_amount = 100, ended_at = now() where kind = 'payment'`,
      () => `payment ${outgoingId} of payment ${outgoingId}: pending`
    ]
  ])('finds %s', async (_what, damage, mend, named) => {
    await world.database.query(damage)
    const violations = await world.audit()
    await world.database.query(mend)
    expect(violations.join('\n')).toContain(named())
    expect(await world.audit()).toEqual([])
  })

  it('finds a reservation that the auth server settled with another amount', async () => {
    const reservation = world.limits.reservations.get(outgoingId)!
    reservation.debited += 1n
    expect((await world.audit()).join()).toContain(`settled, 100 for 100 with 101 and 100`)
    reservation.debited -= 1n
  })

  it('finds a payment that the auth server does not know of', async () => {
    const reservation = world.limits.reservations.get(outgoingId)!
    world.limits.reservations.delete(outgoingId)
    expect((await world.audit()).join()).toContain(`${outgoingId}: here a payment of 100 for 100`)
    world.limits.reservations.set(outgoingId, reservation)
  })

  it('finds a reservation that is open for too long, and leaves one that is being persisted alone', async () => {
    const paymentId = randomUUID()
    const open = {
      paymentId,
      content: '',
      accessToken: '',
      walletAddress: '',
      receiver: '',
      state: 'open' as const,
      debitAmount: usd(1),
      receiveAmount: usd(1),
      debited: 1n,
      received: 1n,
      createdAt: new Date()
    }
    world.limits.reservations.set(paymentId, open)
    expect(await world.audit(60)).toEqual([])
    open.createdAt = new Date(Date.now() - 120_000)
    const violations = await world.audit(60)
    expect(violations).toEqual([
      expect.stringContaining(`${paymentId}: here nothing`),
      expect.stringContaining(`${paymentId} is open since`)
    ])
    expect(await world.audit(600)).toEqual([])
    world.limits.reservations.delete(paymentId)
  })

  it('passes on what the auth server finds of itself', async () => {
    world.limits.auditViolations = ['window 1 counts 5 and has 4']
    expect(await world.audit()).toEqual(['window 1 counts 5 and has 4'])
    world.limits.auditViolations = []
  })

  it('finds nothing while payments go on', async () => {
    const receiver = await world.createReceiver()
    const paying = Promise.all(Array.from({ length: 40 }, () => world.pay(receiver, 1)))
    for (let audits = 0; audits < 3; audits += 1) expect(await world.audit(60)).toEqual([])
    for (const answer of await paying) await world.whenEnded(answer.textAt('id'))
  })
})
