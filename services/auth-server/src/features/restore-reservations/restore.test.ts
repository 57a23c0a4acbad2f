import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { status } from '@open-payments-server/grpc-transport'
import type { auth as messages } from '@open-payments-server/proto'
import { recordStatements } from '@open-payments-server/testing'
import { eur, GrpcFixture, spending, usd, type WrittenGrant } from '../../../test/support/grpc-fixture.js'

let auth: GrpcFixture

beforeEach(async () => {
  auth = await GrpcFixture.start()
})
afterEach(() => auth.stop())

/** The database became another one after what was charged until now, by the clock of the tests. */
async function changeTimeline(): Promise<void> {
  auth.clock.advanceSeconds(1)
  await auth.database.query('update event_epoch set began_at = $1', [new Date(auth.clock.now())])
  await auth.database.query(
    `insert into event_epoch (system_identifier, timeline_id, after_number, first_number, began_at)
     values (1, 1, 0, 1, 'epoch') on conflict do nothing`
  )
}

/** What a caller knows of a payment that it reserved. */
function lostOf(
  { grantId }: WrittenGrant,
  payment: messages.ReservationRequest,
  spent: readonly [debited: string, received: string] = ['100', '100']
): messages.LostReservation {
  return {
    ...payment,
    grantId,
    chargeTime: new Date(auth.clock.now()),
    spentDebitValue: spent[0],
    spentReceiveValue: spent[1]
  }
}

/** Returns `OK` or the code, field and message of each. */
async function restore(...reservations: messages.LostReservation[]): Promise<string[]> {
  const { results } = await auth.call('restore', { reservations })
  return results.map(({ result }) =>
    result?.$case === 'failure'
      ? `${String(status[result.value.code])} ${result.value.field}: ${result.value.message}`
      : String(result?.$case)
  )
}

/** All reservations, but for when they were made. */
const reservations = () =>
  auth.database.query(
    `select to_jsonb(r) - 'created_at' - 'ended_at' as reservation from reservation r order by payment_id`
  )

/** The database forgets all reservations. */
const forget = () => auth.database.query('truncate reservation, limit_window')

describe('Restore', () => {
  it('records what was reserved as it was, once, and it is settled as before', async () => {
    const grant = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const payments = [auth.payment(grant.token), auth.payment(grant.token)]
    for (const payment of payments) await auth.reserveAs(payment)
    const [before, windows] = [await reservations(), await auth.windows()]
    const lost = payments.map((payment, index) =>
      lostOf(grant, payment, index === 0 ? ['100', '100'] : ['200', '200'])
    )
    await forget()
    await changeTimeline()
    for (let times = 0; times < 2; times += 1) {
      expect(await restore(...lost)).toEqual(['restored', 'restored'])
      expect(await reservations()).toEqual(before)
      expect(await auth.windows()).toEqual(windows)
    }
    expect(await auth.settle(String(payments[0]?.paymentId), 40n, 30n)).toBe('OK')
    expect(await restore(...lost)).toEqual(['restored', 'restored'])
    expect(await auth.windows()).toEqual({ [`${String(grant.itemIds[0])}/0`]: ['140', '130'] })
    expect(await auth.violations()).toEqual([])
    // The same request again finds it.
    expect(await auth.reserveAs(payments[1]!)).toEqual({ reserved: ['200 USD', '200 USD'] })
  })

  it('charges the interval that the payment was charged to, whatever became of the grant', async () => {
    const interval = 'R/2026-01-01T00:00:00Z/P1M'
    const grant = await auth.grant({ access: [spending({ debitAmount: usd(1_000n), interval })] })
    const payment = auth.payment(grant.token)
    const lost = lostOf(grant, payment)
    auth.clock.advanceSeconds(31 * 86_400)
    await changeTimeline()
    await auth.database.query(`update grant_request set state = 'revoked', updated_at = $1`, [
      new Date(auth.clock.now())
    ])
    await auth.database.query(`delete from access_token`)
    expect(await restore(lost)).toEqual(['restored'])
    expect(await auth.windows()).toEqual({ [`${String(grant.itemIds[0])}/0`]: ['100', '100'] })
    expect(await auth.violations()).toEqual([])
  })

  it('never counts beyond a limit', async () => {
    const grant = await auth.grant({ access: [spending({ debitAmount: usd(150n) })] })
    const lost = [auth.payment(grant.token), auth.payment(grant.token)].map((payment) =>
      lostOf(grant, payment)
    )
    await changeTimeline()
    expect(await restore(...lost)).toEqual([
      'restored',
      'FAILED_PRECONDITION grant_id: The grant has no room left for the payment'
    ])
    expect(await auth.windows()).toEqual({ [`${String(grant.itemIds[0])}/0`]: ['100', '100'] })
    expect(await reservations()).toHaveLength(1)
  })

  it('counts a payment under the next item that allows it, and what is received in another asset beside', async () => {
    const grant = await auth.grant({
      access: [spending({ debitAmount: usd(150n) }), spending({ debitAmount: usd(1_000n) })]
    })
    const payments = [
      auth.payment(grant.token),
      auth.payment(grant.token),
      auth.payment(grant.token, { receive: eur(90n) })
    ]
    const lost = payments.map((payment) => lostOf(grant, payment, ['300', '200']))
    await changeTimeline()
    expect(await restore(...lost)).toEqual(['restored', 'restored', 'restored'])
    const [first, second] = grant.itemIds
    expect(await auth.windows()).toEqual({
      [`${String(first)}/0`]: ['100', '100'],
      [`${String(second)}/0`]: ['200', '100']
    })
    expect(await auth.violations()).toEqual([])
  })

  it('records it in a restored dump, of which nobody has published anything yet', async () => {
    const grant = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const lost = lostOf(grant, auth.payment(grant.token))
    await auth.database.query('update event_epoch set database_oid = 1, table_oid = 1')
    expect(await restore(lost)).toEqual(['restored'])
    expect(await auth.violations()).toEqual([])
  })

  it('refuses what was charged since the database became what it is, which lost nothing', async () => {
    const grant = await auth.grant({ access: [spending()] })
    const lost = lostOf(grant, auth.payment(grant.token))
    const refusal =
      'FAILED_PRECONDITION charge_time: It was charged after the last failover or restore of the database, or there was none'
    expect(await restore(lost)).toEqual([refusal])
    await changeTimeline()
    expect(await restore({ ...lost, chargeTime: new Date(auth.clock.now()) })).toEqual([refusal])
    expect(await reservations()).toEqual([])
    expect(await restore(lost)).toEqual(['restored'])
  })

  it('refuses a payment that the grant does not allow, an unknown grant, and an id of another request', async () => {
    const grant = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const known = auth.payment(grant.token)
    await auth.reserveAs(known)
    const released = auth.newId()
    await auth.release(released)
    const payment = (options = {}) => lostOf(grant, auth.payment(grant.token, options))
    const lost = [
      payment({ walletAddress: 'https://wallet.example/eve' }),
      payment({ debit: eur(1n) }),
      { ...payment(), grantId: auth.newId() },
      payment({ paymentId: known.paymentId, request: 'another request' }),
      payment({ paymentId: released })
    ]
    await changeTimeline()
    const before = await reservations()
    expect(await restore(...lost)).toEqual([
      'FAILED_PRECONDITION grant_id: The grant did not allow the payment then',
      'FAILED_PRECONDITION grant_id: The grant did not allow the payment then',
      'NOT_FOUND grant_id: The grant is unknown',
      'ALREADY_EXISTS payment_id: payment_id is recorded with other content',
      'FAILED_PRECONDITION payment_id: The id was released'
    ])
    expect(await reservations()).toEqual(before)
  })

  it.each([
    ['payment_id', { paymentId: 'x' }],
    ['grant_id', { grantId: '' }],
    ['wallet_address', { walletAddress: 'alice' }],
    ['receiver', { receiver: '' }],
    ['debit_amount', { debitAmount: undefined }],
    ['receive_amount.value', { receiveAmount: { value: '-1', assetCode: 'USD', assetScale: 2 } }],
    ['request_hash', { requestHash: Buffer.alloc(31) }],
    ['charge_time', { chargeTime: undefined }],
    ['spent_debit_value', { spentDebitValue: '' }],
    ['spent_receive_value', { spentReceiveValue: '1.5' }]
  ])('is INVALID_ARGUMENT naming a malformed %s: %j', async (field, change) => {
    const grant = await auth.grant({ access: [spending()] })
    const [answer] = await restore({ ...lostOf(grant, auth.payment(grant.token)), ...change })
    expect(answer).toContain(`INVALID_ARGUMENT ${field}: `)
    expect(await reservations()).toEqual([])
  })

  it('is one statement that writes for each payment, and one that reads its grant', async () => {
    const grant = await auth.grant({ access: [spending()] })
    const lost = [auth.payment(grant.token), auth.payment(grant.token)].map((payment) =>
      lostOf(grant, payment)
    )
    await changeTimeline()
    const record = recordStatements(auth.pool)
    await restore(...lost)
    expect(record.statements).toHaveLength(5)
    record.stop()
  })
})
