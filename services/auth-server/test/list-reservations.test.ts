import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { auth as contract } from '@open-payments-server/proto'
import { contentHash } from '@open-payments-server/value-types/identifiers'
import { eur, GrpcFixture, refusalOf, spending, usd } from './support/grpc-fixture.js'

const state = contract.ReservationState
let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

const listOpenPage = async (olderThanSeconds: number, pageSize = 0, pageToken = '') => {
  const page = await auth.call('listOpenReservations', { olderThanSeconds, pageSize, pageToken })
  return { ids: page.reservations.map(({ paymentId }) => paymentId), nextPageToken: page.nextPageToken }
}
const listOpen = async (olderThanSeconds: number, pageSize?: number) =>
  (await listOpenPage(olderThanSeconds, pageSize)).ids
/** Reserves once for each age, in seconds before one instant. Returns the ids. */
const reserveAged = async (ages: readonly number[]): Promise<string[]> => {
  const { token } = await auth.grant({ access: [spending()] })
  const payments = ages.map(() => auth.payment(token))
  for (const payment of payments) await auth.reserveAs(payment)
  const ids = payments.map(({ paymentId }) => paymentId)
  await auth.database.query(
    `update reservation r set created_at = now() - make_interval(secs => a.age)
       from unnest($1::uuid[], $2::integer[]) as a(id, age) where r.payment_id = a.id`,
    [ids, ages]
  )
  // The ids of other tests sort after these.
  auth.clock.advanceSeconds(1)
  return ids
}
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
    expect(await listOpen(60)).toEqual([older, old])
    expect(await listOpen(90)).toEqual([older])
    expect(await listOpen(0)).toEqual([older, old, fresh])
    expect(await listOpen(0, 2)).toEqual([older, old])
    expect(await listOpen(4_294_967_295)).toEqual([])
    // The process may have any time: the database's clock counts.
    auth.clock.advanceSeconds(86_400)
    expect(await listOpen(90)).toEqual([older])
  })

  it('goes through all of them page by page, each once, also where many were made in one millisecond', async () => {
    const ids = await reserveAged([1_002, 1_001, 1_001, 1_001, 1_001, 1_000, 1_000])
    const all = (await listOpen(1_000)).filter((id) => ids.includes(id))
    expect(all).toHaveLength(7)
    for (const pageSize of [1, 2, 3, 7]) {
      const seen: string[] = []
      let pageToken = ''
      do {
        const page = await listOpenPage(1_000, pageSize, pageToken)
        expect(page.ids.length).toBeLessThanOrEqual(pageSize)
        seen.push(...page.ids)
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      expect(seen).toEqual(all)
    }
  })

  it('passes over none while those on the pages end, the last of a page included', async () => {
    await reserveAged([2_006, 2_005, 2_004, 2_003, 2_002, 2_001])
    const all = await listOpen(2_000)
    const first = await listOpenPage(2_000, 2)
    expect(first.ids).toEqual(all.slice(0, 2))
    // Both that were returned, and one of the next page.
    for (const id of all.slice(0, 3)) await auth.release(id)
    const second = await listOpenPage(2_000, 2, first.nextPageToken)
    expect(second.ids).toEqual(all.slice(3, 5))
    await auth.release(String(all[5]))
    expect(await listOpenPage(2_000, 2, second.nextPageToken)).toEqual({ ids: [], nextPageToken: '' })
  })

  it.each(['x', Buffer.from('1.2').toString('base64url')])(
    'refuses the page token %j, which it never gave',
    async (pageToken) => {
      const refusal = await listOpenPage(0, 2, pageToken).then(() => undefined, refusalOf)
      expect(refusal).toEqual({ error: 'INVALID_ARGUMENT', field: 'page_token' })
    }
  )

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
    const settledAt = new Date(auth.clock.now())
    await auth.reserveAs(settled)
    await auth.settle(settled.paymentId, 0n, 7n)
    auth.clock.advanceSeconds(1)
    const refused = auth.payment(token, { ...options, walletAddress: 'https://wallet.example/carol' })
    await auth.reserveAs(refused)
    auth.clock.advanceSeconds(1)
    const open = auth.payment(token, options)
    const openAt = new Date(auth.clock.now())
    await auth.reserveAs(open)
    auth.clock.advanceSeconds(1)
    const barred = auth.newId()
    await auth.release(barred)

    const hashOf = (payment: typeof settled): Buffer => contentHash(payment, grantId)
    const reserved = {
      grantId,
      client: 'https://wallet.example/shop',
      walletAddress: 'https://wallet.example/alice',
      receiver: 'https://wallet.example/incoming-payments/1',
      debitAmount: { value: largest.toString(), assetCode: 'USD', assetScale: 2 },
      receiveAmount: { value: '90', assetCode: 'EUR', assetScale: 2 },
      settledDebitValue: '',
      settledReceiveValue: '',
      contentHash: hashOf(settled),
      spentDebitValue: largest.toString(),
      spentReceiveValue: '90'
    }
    const nobody = { grantId: '', client: '', walletAddress: '', receiver: '' }
    const nothing = {
      ...reserved,
      ...nobody,
      debitAmount: undefined,
      receiveAmount: undefined,
      chargeTime: undefined,
      contentHash: Buffer.alloc(0),
      spentDebitValue: '',
      spentReceiveValue: ''
    }
    const listed = await listAll(before)
    for (const { createTime } of listed) {
      expect(Math.abs(Date.now() - Number(createTime))).toBeLessThan(60_000)
    }
    expect(listed.map((reservation) => ({ ...reservation, createTime: undefined }))).toEqual(
      [
        {
          ...reserved,
          paymentId: settled.paymentId,
          state: state.RESERVATION_STATE_SETTLED,
          chargeTime: settledAt,
          settledDebitValue: '0',
          settledReceiveValue: '7'
        },
        {
          ...nothing,
          paymentId: refused.paymentId,
          state: state.RESERVATION_STATE_REFUSED,
          contentHash: hashOf(refused)
        },
        {
          ...reserved,
          paymentId: open.paymentId,
          state: state.RESERVATION_STATE_OPEN,
          chargeTime: openAt,
          spentReceiveValue: '97'
        },
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
