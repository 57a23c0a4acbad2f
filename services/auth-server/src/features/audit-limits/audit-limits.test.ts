import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { AccessItem } from '../../domain/access.js'
import {
  ALICE,
  eur,
  GrpcFixture,
  RECEIVER,
  spending,
  usd,
  type WrittenGrant
} from '../../../test/support/grpc-fixture.js'

const EVE = 'https://wallet.example/eve'

let auth: GrpcFixture
let grant: WrittenGrant
let paymentId: string
/** Payments that are open or settled. */
let spenders: string[]

beforeEach(async () => {
  auth = await GrpcFixture.start()
  grant = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
  const payments = [0, 1, 2].map(() => auth.payment(grant.token))
  for (const payment of payments) await auth.reserveAs(payment)
  const otherAsset = auth.payment(grant.token, { receive: eur(90n) })
  await auth.reserveAs(otherAsset)
  await auth.reserve(grant.token, { debit: usd(1_001n) })
  const [open, settled, released] = payments.map((payment) => payment.paymentId)
  await auth.settle(String(settled), 30n, 20n)
  await auth.release(String(released))
  paymentId = String(open)
  spenders = [String(open), String(settled), otherAsset.paymentId]
})
afterEach(() => auth.stop())

const audit = () => callUnary(auth.operator, 'auditLimits', {}, { idempotent: false })

describe('AuditLimits', () => {
  it('finds nothing wrong where every counter equals its reservations', async () => {
    expect(await audit()).toEqual({ windowCount: 1n, reservationCount: 5n, violations: [] })
  })

  it('is made once for all who ask meanwhile', async () => {
    const waiting = async (): Promise<number> => {
      const backends = await auth.database.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      )
      return backends.length
    }
    const audits = async (): Promise<number> =>
      (await auth.database.query(`select from event_outbox where type like 'audit.%'`)).length
    const client = await auth.pool.connect()
    let answers: ReturnType<typeof audit>[]
    try {
      await client.query('begin')
      await client.query('lock table limit_window in access exclusive mode')
      answers = Array.from({ length: 4 }, audit)
      while ((await waiting()) === 0) await delay(5)
      await delay(200)
      expect(await waiting()).toBe(1)
    } finally {
      await client.query('rollback')
      client.release()
    }
    for (const answer of await Promise.all(answers)) expect(answer.reservationCount).toBe(5n)
    expect(await audits()).toBe(1)
    await audit()
    expect(await audits()).toBe(2)
  })

  const item = (): string => `Access item ${String(grant.itemIds[0])}, interval 0`

  it.each([
    [
      'a counter of debits that drifted',
      () => `update limit_window set spent_debit_value = spent_debit_value + 1`,
      () => [`${item()}: counts 231 as debited, its reservations 230`]
    ],
    [
      'a counter of receipts that drifted',
      () => `update limit_window set spent_receive_value = spent_receive_value - 1`,
      () => [`${item()}: counts 119 as received, its reservations 120`]
    ],
    [
      'a reservation that vanished',
      () => `delete from reservation where payment_id = '${paymentId}'`,
      () => [
        `${item()}: counts 230 as debited, its reservations 130`,
        `${item()}: counts 120 as received, its reservations 20`
      ]
    ],
    [
      'a window that vanished',
      () => 'delete from limit_window',
      () => [`${item()}: reservations without a window`]
    ],
    [
      'more than the limit, though the window was told of another one',
      () =>
        `update access_item set limit_debit_value = 200, limit_receive_value = 100,
                limit_receive_code = 'USD', limit_receive_scale = 2`,
      () => [
        `${item()}: 230 debited is more than the limit of 200`,
        `${item()}: 120 received is more than the limit of 100`,
        `${item()}: its limits are not those of the access item`
      ]
    ],
    [
      'a reservation in another asset than its window',
      () => `update reservation set debit_code = 'EUR' where payment_id = '${paymentId}'`,
      () => [`Payment ${paymentId}: its reservation is not of the grant or in the assets of its window`]
    ],
    [
      'a reservation of another grant than its window',
      () => `update reservation set grant_id = payment_id where payment_id = '${paymentId}'`,
      () => [`Payment ${paymentId}: its reservation is not of the grant or in the assets of its window`]
    ]
  ])('finds %s', async (_damage, statement, violations) => {
    await auth.database.query(statement())
    expect((await audit()).violations).toEqual(expect.arrayContaining(violations()))
  })

  const ofEach = (told: string) => () =>
    spenders.map((id) => `Payment ${id}: ${told.replace('ITEM', String(grant.itemIds[0]))}`)
  const ofGrant = (told: string) => () => [`Grant ${grant.grantId}: spent by 3 payments, and it is ${told}`]

  // What was spent, and what the account holder agreed to, contradict each other.
  it.each([
    [
      'a grant that was rejected',
      `update grant_request set state = 'rejected'`,
      ofGrant('rejected with an interaction that is APPROVED')
    ],
    [
      'a grant that is pending again',
      `update grant_request set state = 'pending'`,
      ofGrant('pending with an interaction that is APPROVED')
    ],
    [
      'a grant that was approved only',
      `update grant_request set state = 'approved', continue_before = now()`,
      ofGrant('approved with an interaction that is APPROVED')
    ],
    [
      'an interaction that was denied',
      `update interaction set state = 'DENIED'`,
      ofGrant('issued with an interaction that is DENIED')
    ],
    [
      'an interaction that is pending',
      `update interaction set state = 'PENDING'`,
      ofGrant('issued with an interaction that is PENDING')
    ],
    [
      'an interaction that vanished',
      'delete from interaction',
      ofGrant('issued with an interaction that is missing')
    ],
    [
      'an access item for another wallet',
      `update access_item set identifier = '${EVE}'`,
      () => [
        ...ofEach(`paid from ${ALICE}, and its access item is for ${EVE}`)(),
        `Grant ${grant.grantId}: its access item ${String(grant.itemIds[0])} is for ${EVE}, and the account holder of ${ALICE} agreed`
      ]
    ],
    [
      'an interaction of another account holder',
      `update interaction set wallet_address = 'https://wallet.example/market'`,
      () => [
        `Grant ${grant.grantId}: its access item ${String(grant.itemIds[0])} is for ${ALICE}, and the account holder of https://wallet.example/market agreed`,
        ...ofEach(`paid from ${ALICE}, and the account holder of https://wallet.example/market agreed`)()
      ]
    ],
    [
      'a subject of another account holder',
      `update grant_request set subject = '{"sub_ids": [{"id": "${EVE}", "format": "uri"}]}'`,
      () => [`Grant ${grant.grantId}: it names the subject ${EVE}, and the account holder of ${ALICE} agreed`]
    ],
    [
      'a payment that was charged after its grant was revoked',
      `update grant_request set state = 'revoked', updated_at = updated_at - interval '61 seconds'`,
      ofEach('charged at 2026-01-15 00:00:00+00, and its grant was revoked at 2026-01-14 23:58:59+00')
    ],
    [
      'an access item that vanished, without limits',
      `begin; set local session_replication_role = replica; delete from access_item;
       update limit_window set limit_debit_value = null, limit_receive_value = null; commit`,
      () => [`${item()}: there is no such access item`]
    ],
    [
      'a payment raised with its window',
      `update reservation set debit_value = 101 where debit_value = 100 and state = 'open' and receive_code = 'USD';
       update limit_window set spent_debit_value = spent_debit_value + 1`,
      () => [
        `Payment ${paymentId}: with it, 100 debited and 100 received were answered as spent, less than its own 101 and 100`
      ]
    ],

    [
      'an access item for another receiver',
      `update access_item set limit_receiver = 'https://wallet.example/incoming-payments/2'`,
      ofEach(`paid to ${RECEIVER}, and its access item allows https://wallet.example/incoming-payments/2`)
    ],
    [
      'an access item that only reads',
      `update access_item set actions = '{read}'`,
      ofEach('its access item ITEM does not allow creating outgoing payments')
    ],
    [
      'an access item of another type',
      `update access_item set type = 'incoming-payment'`,
      ofEach('its access item ITEM does not allow creating outgoing payments')
    ],
    [
      'a limit in another scale',
      'update access_item set limit_debit_scale = 0',
      () => [
        ...ofEach('its assets are not those of the limits of its access item')(),
        `${item()}: counts in other assets than its limits`
      ]
    ],
    [
      'a reservation for another wallet',
      `update reservation set wallet_address = '${EVE}' where wallet_address is not null`,
      () => [
        ...ofEach(`paid from ${EVE}, and its access item is for ${ALICE}`)(),
        ...ofEach(`paid from ${EVE}, and the account holder of ${ALICE} agreed`)()
      ]
    ],
    [
      'an interval of an item that has none',
      'update limit_window set interval_index = 1; update reservation set interval_index = 1',
      () => [
        `Access item ${String(grant.itemIds[0])}, interval 1: an item without an interval has only the interval 0`
      ]
    ]
  ])('finds %s', async (_damage, statement, violations) => {
    await auth.database.query(statement)
    expect((await audit()).violations.toSorted()).toEqual(violations().toSorted())
  })

  it('finds a limit that is evaded because its window counts another asset', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ receiveAmount: usd(1_000n) })] })
    await auth.reserve(token)
    expect((await audit()).violations).toEqual([])
    await auth.database.query(
      `update limit_window set receive_code = 'XXX', spent_receive_value = 0 where access_item_id = $1`,
      [itemIds[0]]
    )
    await auth.database.query('update reservation set receive_counted = false where access_item_id = $1', [
      itemIds[0]
    ])
    expect((await audit()).violations).toEqual([
      `Access item ${String(itemIds[0])}, interval 0: counts in other assets than its limits`
    ])
  })

  it('finds a payment raised with its window though others were made under the grant before', async () => {
    const { token, itemIds } = await auth.grant({
      access: [spending({ debitAmount: usd(1_000n), receiveAmount: usd(1_000n) })]
    })
    const raised = auth.payment(token)
    for (const payment of [auth.payment(token), raised]) await auth.reserveAs(payment)
    await auth.database.query(
      'update reservation set debit_value = debit_value + 100, receive_value = receive_value + 100 where payment_id = $1',
      [raised.paymentId]
    )
    await auth.database.query(
      `update limit_window set spent_debit_value = spent_debit_value + 100, spent_receive_value = spent_receive_value + 100
        where access_item_id = $1`,
      [itemIds[0]]
    )
    expect((await audit()).violations).toEqual([
      `Access item ${String(itemIds[0])}, interval 0: counts 300 as debited, and its payments were answered 200 at most`,
      `Access item ${String(itemIds[0])}, interval 0: counts 300 as received, and its payments were answered 200 at most`
    ])
  })

  const listAll = (identifier: string): AccessItem => ({
    type: 'incoming-payment',
    actions: ['list-all'],
    identifier
  })

  it('finds what lists all payments of a wallet whose account holder did not agree', async () => {
    const { grantId, itemIds } = await auth.grant({ access: [spending(), listAll(EVE)] })
    expect((await audit()).violations).toEqual([
      `Grant ${grantId}: its access item ${String(itemIds[1])} is for ${EVE}, and the account holder of ${ALICE} agreed`
    ])
  })

  it.each([
    ['what lists all payments', { access: [listAll(ALICE)] }, ''],
    [
      'a subject',
      { access: [] },
      `update grant_request set subject = '{"sub_ids": [{"id": "${ALICE}", "format": "uri"}]}' where id = $1`
    ]
  ])('finds a grant of %s that nobody agreed to', async (_what, options, statement) => {
    const { grantId } = await auth.grant(options)
    if (statement !== '') await auth.database.query(statement, [grantId])
    expect((await audit()).violations).toEqual([
      `Grant ${grantId}: spent by 0 payments, and it is issued with an interaction that is missing`
    ])
  })

  it('finds a grant to pay that nobody agreed to, though nothing was spent', async () => {
    const { grantId } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    await auth.database.query(`update interaction set state = 'DENIED' where grant_id = $1`, [grantId])
    expect((await audit()).violations).toEqual([
      `Grant ${grantId}: spent by 0 payments, and it is issued with an interaction that is DENIED`
    ])
  })

  // The clock of these tests stands at 15 January.
  it.each([
    [
      'a window moved to another interval with all that it counts',
      'update limit_window set interval_index = 1; update reservation set interval_index = 1',
      'interval 1: charged at 2026-01-15T00:00:00.000Z, which is not in that interval of R12/2026-01-01T00:00:00Z/P1M'
    ],
    [
      'an interval that was moved',
      `update access_item set limit_interval = 'R12/2026-02-01T00:00:00Z/P1M'`,
      'interval 0: charged at 2026-01-15T00:00:00.000Z, which is not in that interval of R12/2026-02-01T00:00:00Z/P1M'
    ],
    [
      'an interval that is none',
      `update access_item set limit_interval = 'monthly'`,
      'interval 0: monthly is no interval'
    ],
    [
      'an instant that was moved',
      `update reservation set charged_at = charged_at + interval '1 month'`,
      'interval 0: charged at 2026-02-15T00:00:00.000Z, which is not in that interval of R12/2026-01-01T00:00:00Z/P1M'
    ]
  ])('finds %s', async (_damage, statement, named) => {
    await auth.database.query('truncate reservation, limit_window')
    const interval = 'R12/2026-01-01T00:00:00Z/P1M'
    const { token, itemIds } = await auth.grant({
      access: [spending({ debitAmount: usd(1_000n), interval })]
    })
    await auth.reserve(token)
    await auth.reserve(token)
    expect((await audit()).violations).toEqual([])
    await auth.database.query(statement)
    expect((await audit()).violations).toEqual([`Access item ${String(itemIds[0])}, ${named}`])
  })

  it('leaves a connection that can be used when it fails', async () => {
    await auth.database.query('alter table reservation rename to lost')
    await expect(audit()).rejects.toThrow('Internal error')
    await auth.database.query('alter table lost rename to reservation')
    expect((await audit()).violations).toEqual([])
  })
})
