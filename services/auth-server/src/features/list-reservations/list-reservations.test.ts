import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { auth as contract } from '@open-payments-server/proto'
import { eur, GrpcFixture, refusalOf, spending, usd } from '../../../test/support/grpc-fixture.js'

const state = contract.ReservationState
let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

const listOpen = async (olderThanSeconds: number, pageSize = 0) =>
  (await auth.call('listOpenReservations', { olderThanSeconds, pageSize })).reservations
const listAll = async (afterPaymentId: string, pageSize = 0) =>
  (await auth.call('listReservations', { afterPaymentId, pageSize })).reservations

describe('ListOpenReservations', () => {
  it('lists those that neither settled nor were released, oldest first, by the clock of the database', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const payments = [0, 1, 2, 3, 4].map(() => auth.payment(token))
    for (const payment of payments) await auth.reserveAs(payment)
    const [old, older, fresh, settled, released] = payments.map(({ paymentId }) => paymentId)
    await auth.settle(String(settled), 1n, 1n)
    await auth.release(String(released))
    await auth.reserve(token, { debit: usd(1_000n) })
    for (const [id, age] of [
      [old, 60],
      [older, 120],
      [settled, 300],
      [released, 300]
    ] as const) {
      await auth.database.query(
        'update reservation set created_at = now() - make_interval(secs => $2) where payment_id = $1',
        [id, age]
      )
    }
    const ids = async (age: number, pageSize?: number) =>
      (await listOpen(age, pageSize)).map(({ paymentId }) => paymentId)
    expect(await ids(60)).toEqual([older, old])
    expect(await ids(61)).toEqual([older])
    expect(await ids(0)).toEqual([older, old, fresh])
    expect(await ids(0, 2)).toEqual([older, old])
    expect(await ids(4_294_967_295)).toEqual([])
    // The process may believe in any time: what counts is the clock of the database.
    auth.clock.advanceSeconds(86_400)
    expect(await ids(61)).toEqual([older])
  })

  it('refuses a page that is too large', async () => {
    const refusal = await listOpen(0, 1_001).then(() => undefined, refusalOf)
    expect(refusal).toEqual({ error: 'INVALID_ARGUMENT', field: 'page_size' })
  })
})

describe('ListReservations', () => {
  it('lists those of every state, by payment id, with what was reserved and what was spent', async () => {
    const { token, grantId } = await auth.grant({ access: [spending()] })
    const largest = 18_446_744_073_709_551_615n
    const options = { debit: usd(largest), receive: eur(90n) }
    const before = auth.newId()
    auth.clock.advanceSeconds(1)
    const settled = auth.payment(token, options)
    await auth.reserveAs(settled)
    await auth.settle(settled.paymentId, 0n, 7n)
    auth.clock.advanceSeconds(1)
    const refused = auth.payment('unknown')
    await auth.reserveAs(refused)
    auth.clock.advanceSeconds(1)
    const open = auth.payment(token, options)
    await auth.reserveAs(open)
    auth.clock.advanceSeconds(1)
    const barred = auth.newId()
    await auth.release(barred)

    const held = {
      grantId,
      debitAmount: { value: largest.toString(), assetCode: 'USD', assetScale: 2 },
      receiveAmount: { value: '90', assetCode: 'EUR', assetScale: 2 },
      settledDebitValue: '',
      settledReceiveValue: ''
    }
    const nothing = { ...held, grantId: '', debitAmount: undefined, receiveAmount: undefined }
    const listed = await listAll(before)
    for (const { createTime } of listed) {
      expect(Math.abs(Date.now() - Number(createTime))).toBeLessThan(60_000)
    }
    expect(listed.map((reservation) => ({ ...reservation, createTime: undefined }))).toEqual(
      [
        {
          ...held,
          paymentId: settled.paymentId,
          state: state.RESERVATION_STATE_SETTLED,
          settledDebitValue: '0',
          settledReceiveValue: '7'
        },
        { ...nothing, paymentId: refused.paymentId, state: state.RESERVATION_STATE_REFUSED },
        { ...held, paymentId: open.paymentId, state: state.RESERVATION_STATE_OPEN },
        { ...nothing, paymentId: barred, state: state.RESERVATION_STATE_RELEASED }
      ].map((reservation) => ({ ...reservation, createTime: undefined }))
    )
  })

  it('goes through all of them page by page, each once', async () => {
    const all = (await listAll('', 1_000)).map(({ paymentId }) => paymentId)
    const seen: string[] = []
    for (;;) {
      const page = await listAll(seen.at(-1) ?? '', 2)
      if (page.length === 0) break
      seen.push(...page.map(({ paymentId }) => paymentId))
    }
    expect(all.length).toBeGreaterThan(4)
    expect(seen).toEqual(all)
  })

  it('is INVALID_ARGUMENT for a malformed payment id', async () => {
    const refusal = await listAll('x').then(() => undefined, refusalOf)
    expect(refusal).toEqual({ error: 'INVALID_ARGUMENT', field: 'after_payment_id' })
  })
})
