import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import { eur, GrpcFixture, spending, usd } from '../../../test/support/grpc-fixture.js'

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

/** A reservation of 100 USD for 90 EUR, and what its window counts. */
async function reserveOne() {
  const grant = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
  const { paymentId, ...request } = auth.payment(grant.token, { receive: eur(90n) })
  expect(await auth.reserveAs({ paymentId, ...request })).toHaveProperty('reserved')
  const counted = async () => (await auth.windows())[`${String(grant.itemIds[0])}/0`]
  return { ...grant, paymentId, counted }
}

describe('End: a settlement', () => {
  it('gives back what the payment did not use', async () => {
    const { paymentId, counted } = await reserveOne()
    expect(await auth.settle(paymentId, 40n, 30n)).toBe('OK')
    expect(await counted()).toEqual(['40', '30'])
  })

  it('keeps everything of a payment that used everything', async () => {
    const { paymentId, counted } = await reserveOne()
    expect(await auth.settle(paymentId, 100n, 90n)).toBe('OK')
    expect(await counted()).toEqual(['100', '90'])
  })

  it('gives back everything of a payment that failed', async () => {
    const { paymentId, counted } = await reserveOne()
    expect(await auth.settle(paymentId, 0n, 0n)).toBe('OK')
    expect(await counted()).toEqual(['0', '0'])
  })

  it('has effect once, however often it is repeated', async () => {
    const { paymentId, counted } = await reserveOne()
    for (let count = 0; count < 3; count += 1) expect(await auth.settle(paymentId, 40n, 30n)).toBe('OK')
    expect(await counted()).toEqual(['40', '30'])
  })

  it('is FAILED_PRECONDITION with other values than before', async () => {
    const { paymentId, counted } = await reserveOne()
    await auth.settle(paymentId, 40n, 30n)
    expect(await auth.settle(paymentId, 40n, 29n)).toBe('FAILED_PRECONDITION')
    expect(await auth.settle(paymentId, 41n, 30n)).toBe('FAILED_PRECONDITION')
    expect(await counted()).toEqual(['40', '30'])
  })

  it('is FAILED_PRECONDITION after a release', async () => {
    const { paymentId, counted } = await reserveOne()
    await auth.release(paymentId)
    expect(await auth.settle(paymentId, 40n, 30n)).toBe('FAILED_PRECONDITION')
    expect(await counted()).toEqual(['0', '0'])
  })

  it('is FAILED_PRECONDITION for a payment that was refused, or barred before it was reserved', async () => {
    const { token } = await reserveOne()
    const refused = auth.payment(token, { debit: usd(5_000n) })
    await auth.reserveAs(refused)
    expect(await auth.settle(refused.paymentId, 0n, 0n)).toBe('FAILED_PRECONDITION')
    const barred = auth.newId()
    await auth.release(barred)
    expect(await auth.settle(barred, 0n, 0n)).toBe('FAILED_PRECONDITION')
  })

  it('is NOT_FOUND for an unknown payment', async () => {
    expect(await auth.settle(auth.newId(), 1n, 1n)).toBe('NOT_FOUND')
  })

  it('refuses more than was reserved, naming which, and changes nothing', async () => {
    const { paymentId, counted } = await reserveOne()
    expect(await auth.settle(paymentId, 101n, 90n)).toBe('INVALID_ARGUMENT settled_debit_value')
    expect(await auth.settle(paymentId, 100n, 91n)).toBe('INVALID_ARGUMENT settled_receive_value')
    expect(await counted()).toEqual(['100', '90'])
    expect(await auth.settle(paymentId, 100n, 90n)).toBe('OK')
    expect(await auth.settle(paymentId, 101n, 90n)).toBe('INVALID_ARGUMENT settled_debit_value')
  })

  it('leaves what other assets received alone', async () => {
    const { token, paymentId, counted } = await reserveOne()
    const other = auth.payment(token, { receive: usd(80n) })
    await auth.reserveAs(other)
    expect(await counted()).toEqual(['200', '90'])
    expect(await auth.settle(other.paymentId, 50n, 40n)).toBe('OK')
    expect(await counted()).toEqual(['150', '90'])
    expect(await auth.settle(paymentId, 0n, 0n)).toBe('OK')
    expect(await counted()).toEqual(['50', '0'])
    expect(await auth.violations()).toEqual([])
  })

  it.each([
    ['payment_id', { paymentId: 'x', settledDebitValue: '1', settledReceiveValue: '1' }],
    ['settled_debit_value', { settledDebitValue: '', settledReceiveValue: '1' }],
    ['settled_debit_value', { settledDebitValue: '-1', settledReceiveValue: '1' }],
    ['settled_receive_value', { settledDebitValue: '1', settledReceiveValue: '1.0' }],
    ['settled_receive_value', { settledDebitValue: '1', settledReceiveValue: '18446744073709551616' }]
  ])('is INVALID_ARGUMENT naming a malformed %s: %j', async (field, change) => {
    const { paymentId, ...value } = { paymentId: auth.newId(), ...change }
    expect(await auth.endAs({ paymentId, end: { $case: 'settlement', value } })).toBe(
      `INVALID_ARGUMENT ${field}`
    )
  })

  it('does not wait for the window when the payment used everything', async () => {
    const { paymentId, itemIds, counted } = await reserveOne()
    const holder = await auth.pool.connect()
    await holder.query('begin')
    await holder.query('select 1 from limit_window where access_item_id = $1 for update', [itemIds[0]])
    expect(await auth.settle(paymentId, 100n, 90n)).toBe('OK')
    await holder.query('commit')
    holder.release()
    expect(await counted()).toEqual(['100', '90'])
  })

  it('is one statement', async () => {
    const { paymentId } = await reserveOne()
    const record = recordStatements(auth.pool)
    await auth.settle(paymentId, 40n, 30n)
    expect(record.statements).toHaveLength(1)
    record.stop()
  })
})
