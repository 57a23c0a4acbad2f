import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { wallet } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { damageDatabase } from '@open-payments-server/testing'
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

/** A posted transfer of one unit; what follows selects its kind, payment, accounts and asset. */
const MOVE = `insert into transfer (amount, posted_amount, state, ended_at, id, kind, payment_id, debit_account_id,
    debit_account_kind, credit_account_id, credit_account_kind, asset_id)
  select 1, 1, 'posted', now(), gen_random_uuid(),`
const ALICE_AND_BOB = `(select * from account where name = 'alice') a, (select * from account where name = 'bob') b`
describe('an audit', () => {
  it('names what it checked, and finds nothing where all adds up', async () => {
    const { checks } = await world.operate('audit', { openReservationAgeMaxSeconds: 0 })
    expect(checks.map(({ invariant }) => invariant).length).toBe(27)
    expect(checks.flatMap(({ violations }) => violations)).toEqual([])
    expect(checks.find(({ invariant }) => invariant.includes('payment has sent'))?.checkedCount).toBe(1n)
  })

  // Each damages and repairs one thing that constraints cannot guard.
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
      `update outgoing_payment set state = 'failed', failure_reason = 'partially_delivered', settled_debit_value = 99, settled_receive_value = 99`,
      `update outgoing_payment set state = 'completed', failure_reason = null, settled_debit_value = 100, settled_receive_value = 100`,
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
      'a payment without its entry among the outcomes',
      `update grant_reservation set payment_id = '00000000-0000-7000-8000-000000000000'`,
      `update grant_reservation set payment_id = (select id from outgoing_payment)`,
      () => outgoingId
    ],
    [
      'a settlement of another amount',
      `update grant_reservation set settled_debit_value = 99`,
      `update grant_reservation set settled_debit_value = 100`,
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

  // Damage that constraints prevent is done without them, as an owner of the tables could. It is repaired from a copy.
  it.each<[what: string, damage: string, named: string]>([
    [
      'a fee from wallet to wallet without a payment',
      `${MOVE} 'fee', null, a.id, 'wallet', b.id, 'wallet', a.asset_id from ${ALICE_AND_BOB}`,
      'goes from a wallet account to a wallet account'
    ],
    [
      'a conversion from wallet to wallet of an invented payment',
      `${MOVE} 'conversion', gen_random_uuid(), a.id, 'wallet', b.id, 'wallet', a.asset_id
        from ${ALICE_AND_BOB}`,
      'belongs to no payment that demands it'
    ],
    [
      'a fee of an invented payment, between the right accounts',
      `${MOVE} 'fee', gen_random_uuid(), c.id, 'clearing', f.id, 'fees', c.asset_id
        from account c, account f where c.kind = 'clearing' and f.kind = 'fees' and f.asset_id = c.asset_id
         and c.asset_id = (select id from asset where code = 'USD')`,
      'belongs to no payment that demands it'
    ],
    [
      'a conversion without a payment, between the right kinds of accounts',
      `${MOVE} 'conversion', null, x.id, 'exchange', b.id, 'wallet', b.asset_id
        from ${ALICE_AND_BOB}, account x where x.kind = 'exchange' and x.asset_id = b.asset_id`,
      'goes from a exchange account to a wallet account'
    ],
    [
      'a fee credited to a wallet',
      `${MOVE} 'fee', p.id, c.id, 'clearing', b.id, 'wallet', b.asset_id
        from ${ALICE_AND_BOB}, outgoing_payment p, account c where c.kind = 'clearing' and c.asset_id = b.asset_id`,
      'goes from a clearing account to a wallet account'
    ],
    [
      'a fee that its payment does not demand, between the right accounts',
      `${MOVE} 'fee', p.id, c.id, 'clearing', f.id, 'fees', c.asset_id
        from outgoing_payment p, account c, account f
       where c.kind = 'clearing' and f.kind = 'fees' and f.asset_id = c.asset_id
         and c.asset_id = (select id from asset where code = 'USD')`,
      'belongs to no payment that demands it'
    ],
    [
      'a conversion out of the fees account',
      `${MOVE} 'conversion', p.id, f.id, 'fees', b.id, 'wallet', b.asset_id
        from ${ALICE_AND_BOB}, outgoing_payment p, account f where f.kind = 'fees' and f.asset_id = b.asset_id`,
      'goes from a fees account to a wallet account'
    ],
    [
      'a deposit out of the exchange account',
      `${MOVE} 'deposit', null, x.id, 'exchange', b.id, 'wallet', b.asset_id
        from ${ALICE_AND_BOB}, account x where x.kind = 'exchange' and x.asset_id = b.asset_id`,
      'goes from a exchange account to a wallet account'
    ],
    ['a delivery that vanished', `delete from transfer where kind = 'delivery'`, 'lacks its delivery of 100'],
    ['a hold that vanished', `delete from transfer where kind = 'payment'`, 'lacks its payment of 100'],
    [
      'a delivery of another amount',
      `update transfer set amount = 99, posted_amount = 99 where kind = 'delivery'`,
      'its payment demands posted of 100'
    ],
    [
      'an asset changed that nothing was paid in',
      `update asset set scale = 3 where code = 'EUR'`,
      'account carol is in EUR with scale 2, and its asset is EUR with scale 3'
    ],
    [
      'a quote that its payment forgot',
      `update grant_reservation set quote_id = gen_random_uuid()`,
      'its quote is none and its fee 0, and it was persisted with'
    ],
    ["an asset's scale changed", `update asset set scale = 3 where code = 'USD'`, 'USD with scale 3'],
    ["an asset's code changed", `update asset set code = 'XAU' where code = 'USD'`, '100 XAU with scale 2'],
    [
      'another receive asset',
      `update outgoing_payment set receive_asset_id = (select id from asset where code = 'EUR')`,
      'its receiver is in another asset'
    ],
    ['another fee', 'update outgoing_payment set fee_value = 10', 'is not its fee of 10'],
    [
      'another receiver',
      `update outgoing_payment set receiver = 'https://elsewhere.example/incoming-payments/1'`,
      'its receiver is here https://elsewhere.example/incoming-payments/1'
    ],
    ['another client', `update outgoing_payment set client = 'https://eve.example'`, 'its client is here'],
    [
      'another request',
      `update outgoing_payment set request_hash = sha256('another')`,
      'its hash over grant, request, wallet address and receiver is here'
    ],
    [
      'another amount that was counted under its grant',
      'update outgoing_payment set grant_spent_debit_value = 1000',
      'its amount debited under its grant is here 1000, at the auth server 100'
    ],
    [
      'less counted under its grant than the payment alone',
      'update outgoing_payment set grant_spent_receive_value = 99',
      'less than the payment itself'
    ],
    [
      'a payment that was charged a month before it was made',
      `update grant_reservation set charged_at = charged_at - interval '1 month'`,
      `outgoing payment PAYMENT was signed at`
    ],
    [
      'a payment that was charged a month after it was made',
      `update grant_reservation set charged_at = charged_at + interval '1 month'`,
      `outgoing payment PAYMENT was signed at`
    ],
    [
      'a payment moved to another month after it was signed',
      `update grant_reservation set charged_at = charged_at - interval '1 month';
       update outgoing_payment set created_at = created_at - interval '1 month';
       update transfer set created_at = created_at - interval '1 month'`,
      `outgoing payment PAYMENT was signed at`
    ],
    [
      'a hold of another time than its payment',
      `update transfer set created_at = created_at + interval '1 second' where kind = 'payment'`,
      `outgoing payment PAYMENT was signed at`
    ],
    [
      'a delivery that was made twice',
      `insert into transfer select (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid()))).* from transfer t
        where kind = 'delivery'`,
      'payment PAYMENT has 2 transfers of the kind delivery'
    ],
    [
      'a hold under another id',
      `update transfer set id = '00000000-0000-7000-8000-000000000000' where kind = 'payment'`,
      'the payment of payment PAYMENT has the id 00000000-0000-7000-8000-000000000000'
    ],
    [
      'a pending payment whose hold vanished with the money that it held',
      `delete from transfer where payment_id is not null;
       update outgoing_payment set state = 'pending', settled_debit_value = 0, settled_receive_value = 0;
       update grant_reservation set outcome = null, settled_debit_value = null, settled_receive_value = null, delivered_at = null`,
      'payment PAYMENT lacks its payment of 100'
    ],
    [
      'a payment that failed for want of money that was there',
      `update outgoing_payment set state = 'failed', failure_reason = 'insufficient_funds', settled_debit_value = 0, settled_receive_value = 0`,
      'it ended as insufficient_funds, and its sender had the money'
    ],
    ...Object.entries({
      receiver_not_found: 0,
      receiver_completed: 0,
      receiver_expired: 0,
      receiver_full: 0,
      account_frozen: 0,
      rate_changed: 0,
      partially_delivered: 50
    }).map(([reason, delivered]): [string, string, string] => [
      `a delivered payment that failed with ${reason}, though its receiver could take it`,
      `update outgoing_payment set state = 'failed', failure_reason = '${reason}', settled_debit_value = ${String(delivered)},
              settled_receive_value = ${String(delivered)}`,
      `it failed with ${reason}, which its receiver or its terms contradict`
    ]),
    ['another grant', 'update outgoing_payment set grant_id = gen_random_uuid()', 'its grant is here'],
    [
      'a quote that there is not',
      'update outgoing_payment set quote_id = gen_random_uuid()',
      'not on the terms of its quote'
    ],
    [
      'another wallet address',
      `update outgoing_payment set wallet_address_id = (select id from wallet_address where path = '/bob')`,
      'its wallet address is here'
    ],
    [
      'a wallet address that was renamed',
      `update wallet_address set path = '/eve' where path = '/alice'`,
      'its wallet address is here'
    ],
    [
      'a payment that says it was given up',
      `update grant_reservation set given_up_cause = 'swept'`,
      'its entry says settle'
    ],
    [
      'an id given up that says what it was charged for',
      `insert into grant_reservation (payment_id, outcome, given_up_cause, charged_at, next_attempt_at)
       values (gen_random_uuid(), 'release', 'swept', now(), now() + interval '1 day')`,
      'missing with 0 sent'
    ],
    [
      'an id given up without a cause',
      // Due in a day, so that it is not delivered meanwhile.
      `insert into grant_reservation (payment_id, outcome, next_attempt_at)
       values (gen_random_uuid(), 'release', now() + interval '1 day')`,
      'missing with 0 sent'
    ]
  ])('finds %s', async (_what, damage, named) => {
    const restore = await damageDatabase(world.database, damage)
    const violations = await world.audit().finally(restore)
    expect(violations.join('\n')).toContain(named.replace('PAYMENT', outgoingId))
    expect(await world.audit()).toEqual([])
  })

  it('finds a reservation that the auth server settled with another amount', async () => {
    const reservation = world.limits.reservations.get(outgoingId)!
    reservation.debited += 1n
    expect((await world.audit()).join()).toContain(`settled, 100 for 100 with 101 and 100`)
    reservation.debited -= 1n
  })

  it('finds a reservation that was moved to another interval with its instant and its window', async () => {
    const reservation = world.limits.reservations.get(outgoingId)!
    const chargedAt = reservation.chargedAt!
    reservation.chargedAt = new Date(chargedAt.getTime() + 1_000)
    expect(await world.audit()).toEqual([
      `payment ${outgoingId}: its time of charge is here ${chargedAt.toISOString()}, at the auth server ${reservation.chargedAt.toISOString()}`
    ])
    reservation.chargedAt = chargedAt
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
    // By the clock of the service, which stood still since.
    open.createdAt = new Date(world.clock.now() - 120_000)
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

  it('is made once for all who ask the same meanwhile, and others wait for their turn', async () => {
    const audits = async (): Promise<number> => {
      const [row] = await world.database.query<{ count: number }>(
        `select (select count(*) from event_outbox where type like 'audit.%')::int
                + (select count(*) from event where type like 'audit.%')::int as count`
      )
      return row?.count ?? NaN
    }
    const waiting = async (): Promise<number> => {
      const backends = await world.database.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like '%count(*) from asset%'`
      )
      return backends.length
    }
    const before = await audits()
    const ask = (openReservationAgeMaxSeconds: number) =>
      world.operate('audit', { openReservationAgeMaxSeconds })
    const client = await world.server.pool.connect()
    let same: Promise<wallet.AuditResponse>[]
    let other: Promise<wallet.AuditResponse>
    try {
      await client.query('begin')
      await client.query('lock table asset in access exclusive mode')
      same = Array.from({ length: 4 }, () => ask(0))
      while ((await waiting()) === 0) await delay(5)
      other = ask(60)
      await delay(200)
      expect(await waiting()).toBe(1)
    } finally {
      await client.query('rollback')
      client.release()
    }
    const [first, ...further] = await Promise.all(same)
    for (const answer of further) expect(answer).toEqual(first)
    expect((await other).checks.flatMap(({ violations }) => violations)).toEqual([])
    expect((await audits()) - before).toBe(2)
    await ask(0)
    expect((await audits()) - before).toBe(3)
  })

  it('finds nothing while payments go on', async () => {
    const receiver = await world.createReceiver()
    const paying = Promise.all(Array.from({ length: 40 }, () => world.pay(receiver, 1)))
    for (let audits = 0; audits < 3; audits += 1) expect(await world.audit(60)).toEqual([])
    for (const answer of await paying) await world.whenEnded(answer.textAt('id'))
  })
})
