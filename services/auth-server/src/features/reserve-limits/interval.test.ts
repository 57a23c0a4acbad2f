import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { GrpcFixture, spending, usd } from '../../../test/support/grpc-fixture.js'

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

const reserved = (spent: string) => ({ reserved: [spent, spent] })
const LIMIT_EXCEEDED = { refused: 'LIMIT_EXCEEDED' }
const OUTSIDE_INTERVAL = { refused: 'OUTSIDE_INTERVAL' }

/** A grant of 100.00 USD in each interval. */
const grantEvery = (interval: string) =>
  auth.grant({ access: [spending({ interval, debitAmount: usd(10_000n) })] })

describe('limits that hold for an interval', () => {
  it('hold anew in every interval: its start belongs to it, its end to the next', async () => {
    auth.clock.set(Date.parse('2026-01-31T00:00:00.000Z'))
    const { token } = await grantEvery('R/2026-01-31T00:00:00Z/P1M')
    expect(await auth.reserve(token, { debit: usd(10_000n) })).toHaveProperty('reserved')
    expect(await auth.reserve(token, { debit: usd(1n) })).toEqual(LIMIT_EXCEEDED)
    auth.clock.set(Date.parse('2026-02-27T23:59:59.999Z'))
    expect(await auth.reserve(token, { debit: usd(1n) })).toEqual(LIMIT_EXCEEDED)
    auth.clock.set(Date.parse('2026-02-28T00:00:00.000Z'))
    const all = { debit: usd(10_000n), receive: usd(10_000n) }
    expect(await auth.reserve(token, all)).toEqual(reserved('10000 USD'))
    auth.clock.set(Date.parse('2026-03-30T23:59:59.999Z'))
    expect(await auth.reserve(token, { debit: usd(1n) })).toEqual(LIMIT_EXCEEDED)
    auth.clock.set(Date.parse('2026-03-31T00:00:00.000Z'))
    expect(await auth.reserve(token, all)).toEqual(reserved('10000 USD'))
  })

  it('allow nothing before the first interval', async () => {
    auth.clock.set(Date.parse('2026-01-31T23:59:59.999Z'))
    const { token } = await grantEvery('R/2026-02-01T00:00:00Z/P1D')
    expect(await auth.reserve(token)).toEqual(OUTSIDE_INTERVAL)
    auth.clock.set(Date.parse('2026-02-01T00:00:00.000Z'))
    expect(await auth.reserve(token)).toEqual(reserved('100 USD'))
  })

  it('allow nothing from the end of the last interval on', async () => {
    auth.clock.set(Date.parse('2026-12-31T23:59:59.999Z'))
    const { token } = await grantEvery('R12/2026-01-01T00:00:00Z/P1M')
    expect(await auth.reserve(token)).toEqual(reserved('100 USD'))
    auth.clock.set(Date.parse('2027-01-01T00:00:00.000Z'))
    expect(await auth.reserve(token)).toEqual(OUTSIDE_INTERVAL)
  })

  it('are looked for in the items that are inside their intervals', async () => {
    auth.clock.set(Date.parse('2026-06-15T12:00:00Z'))
    const { token, itemIds } = await auth.grant({
      access: [
        spending({ interval: 'R1/2026-01-01T00:00:00Z/P1M', debitAmount: usd(10_000n) }),
        spending({ interval: 'R/2026-06-01T00:00:00Z/P1M', debitAmount: usd(150n) }),
        spending({ interval: 'R1/2026-06-01T00:00:00Z/P1Y', debitAmount: usd(150n) })
      ]
    })
    expect(await auth.reserve(token)).toEqual(reserved('100 USD'))
    expect(await auth.reserve(token)).toEqual(reserved('200 USD'))
    expect(await auth.reserve(token)).toEqual(LIMIT_EXCEEDED)
    auth.clock.set(Date.parse('2026-07-01T00:00:00Z'))
    expect(await auth.reserve(token)).toEqual(reserved('200 USD'))
    const windows = await auth.windows()
    expect(windows[`${String(itemIds[1])}/0`]).toEqual(['100', '100'])
    expect(windows[`${String(itemIds[1])}/1`]).toEqual(['100', '100'])
    expect(windows[`${String(itemIds[2])}/0`]).toEqual(['100', '100'])
  })

  it('get back what a payment of January did not use in January, though it ended in February', async () => {
    auth.clock.set(Date.parse('2026-01-31T23:59:59.999Z'))
    const { token, itemIds } = await grantEvery('R/2026-01-01T00:00:00Z/P1M')
    const settled = auth.payment(token, { debit: usd(6_000n) })
    const released = auth.payment(token, { debit: usd(4_000n) })
    await auth.reserveAs(settled)
    await auth.reserveAs(released)
    auth.clock.set(Date.parse('2026-02-01T00:00:00.000Z'))
    expect(await auth.reserve(token, { debit: usd(9_000n) })).toHaveProperty('reserved')
    expect(await auth.settle(settled.paymentId, 2_000n, 30n)).toBe('OK')
    expect(await auth.release(released.paymentId)).toBe('OK')
    const windows = await auth.windows()
    expect(windows[`${String(itemIds[0])}/0`]).toEqual(['2000', '30'])
    expect(windows[`${String(itemIds[0])}/1`]).toEqual(['9000', '100'])
    auth.clock.set(Date.parse('2026-01-31T23:59:59.999Z'))
    expect(await auth.reserve(token, { debit: usd(8_001n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(8_000n) })).toHaveProperty('reserved')
  })

  it('answer a payment of January the same in February', async () => {
    auth.clock.set(Date.parse('2026-01-31T23:59:59.999Z'))
    const { token } = await grantEvery('R/2026-01-01T00:00:00Z/P1M')
    const payment = auth.payment(token)
    expect(await auth.reserveAs(payment)).toEqual(reserved('100 USD'))
    auth.clock.set(Date.parse('2026-02-01T00:00:00.000Z'))
    expect(await auth.reserveAs(payment)).toEqual(reserved('100 USD'))
    expect(Object.values(await auth.windows()).length).toBeGreaterThan(0)
    expect(await auth.violations()).toEqual([])
  })
})
