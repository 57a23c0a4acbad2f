import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import { eur, GrpcFixture, spending, usd } from '../../../test/support/grpc-fixture.js'

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

async function reserveOne() {
  const grant = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
  const payment = auth.payment(grant.token)
  expect(await auth.reserveAs(payment)).toHaveProperty('reserved')
  const counted = async () => (await auth.windows())[`${String(grant.itemIds[0])}/0`]
  return { ...grant, ...payment, counted }
}

describe('End: a release', () => {
  it('gives back all that was reserved, so that another payment fits', async () => {
    const { paymentId, token, counted } = await reserveOne()
    expect(await auth.reserve(token)).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await auth.release(paymentId)).toBe('OK')
    expect(await counted()).toEqual(['0', '0'])
    expect(await auth.reserve(token)).toHaveProperty('reserved')
  })

  it('has effect once, however often it is repeated', async () => {
    const { paymentId, token, counted } = await reserveOne()
    await auth.release(paymentId)
    await auth.reserve(token)
    for (let count = 0; count < 3; count += 1) expect(await auth.release(paymentId)).toBe('OK')
    expect(await counted()).toEqual(['100', '100'])
  })

  it('leaves what other assets received alone', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending()] })
    await auth.reserve(token)
    const other = auth.payment(token, { receive: eur(90n) })
    await auth.reserveAs(other)
    expect(await auth.release(other.paymentId)).toBe('OK')
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['100', '100'])
  })

  it('is FAILED_PRECONDITION for a payment that was settled, and changes nothing', async () => {
    const { paymentId, counted } = await reserveOne()
    await auth.settle(paymentId, 70n, 60n)
    expect(await auth.release(paymentId)).toBe('FAILED_PRECONDITION')
    expect(await counted()).toEqual(['70', '60'])
  })

  it('leaves a refused payment refused, for the same reason', async () => {
    const { token } = await reserveOne()
    const refused = auth.payment(token)
    expect(await auth.reserveAs(refused)).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await auth.release(refused.paymentId)).toBe('OK')
    expect(await auth.reserveAs(refused)).toEqual({ refused: 'LIMIT_EXCEEDED' })
  })

  it('bars a payment id that was never reserved, for good', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const late = auth.payment(token)
    expect(await auth.release(late.paymentId)).toBe('OK')
    expect(await auth.release(late.paymentId)).toBe('OK')
    expect(await auth.reserveAs(late)).toEqual({ refused: 'RELEASED' })
    const other = await auth.grant({ access: [spending()] })
    expect(await auth.reserveAs({ ...late, accessToken: other.token })).toEqual({ refused: 'RELEASED' })
  })

  it('is INVALID_ARGUMENT for a malformed payment id', async () => {
    expect(await auth.release('x')).toBe('INVALID_ARGUMENT payment_id')
  })

  it('is one statement, whether the payment was reserved or not', async () => {
    const { paymentId } = await reserveOne()
    const record = recordStatements(auth.pool)
    await auth.release(paymentId)
    await auth.release(auth.newId())
    expect(record.statements).toHaveLength(2)
    record.stop()
  })
})
