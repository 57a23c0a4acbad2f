import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import {
  describe as inShort,
  eur,
  GrpcFixture,
  RECEIVER,
  refusalOf,
  spending,
  usd
} from '../../../test/support/grpc-fixture.js'

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

async function spentOf(accessToken: string) {
  try {
    const { spentDebitAmount, spentReceiveAmount } = await auth.call('getSpentAmounts', { accessToken })
    return [inShort(spentDebitAmount), inShort(spentReceiveAmount)]
  } catch (error) {
    return refusalOf(error)
  }
}

describe('GetSpentAmounts', () => {
  it('tells of nothing before any payment', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    expect(await spentOf(token)).toEqual(['none', 'none'])
  })

  it('counts open reservations in full, settled ones as spent, released and refused ones not at all', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(300n) })] })
    const [open, settled, released] = [0, 1, 2].map(() => auth.payment(token, { receive: eur(90n) }))
    for (const payment of [open, settled, released]) if (payment) await auth.reserveAs(payment)
    await auth.reserve(token, { debit: usd(301n) })
    await auth.settle(String(settled?.paymentId), 60n, 50n)
    await auth.release(String(released?.paymentId))
    expect(await spentOf(token)).toEqual(['160 USD', '140 EUR'])
  })

  it('tells of zero when all that was reserved was given back', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const payment = auth.payment(token)
    await auth.reserveAs(payment)
    await auth.release(payment.paymentId)
    expect(await spentOf(token)).toEqual(['0 USD', '0 USD'])
  })

  it('tells of the current interval alone', async () => {
    auth.clock.set(Date.parse('2026-01-10T00:00:00Z'))
    const interval = 'R2/2026-01-01T00:00:00Z/P1M'
    const { token } = await auth.grant({ access: [spending({ interval, debitAmount: usd(300n) })] })
    await auth.reserve(token)
    expect(await spentOf(token)).toEqual(['100 USD', '100 USD'])
    auth.clock.set(Date.parse('2026-02-01T00:00:00Z'))
    expect(await spentOf(token)).toEqual(['none', 'none'])
    await auth.reserve(token, { debit: usd(7n), receive: usd(6n) })
    expect(await spentOf(token)).toEqual(['7 USD', '6 USD'])
    auth.clock.set(Date.parse('2026-03-01T00:00:00Z'))
    expect(await spentOf(token)).toEqual(['none', 'none'])
  })

  it('tells what was received in the asset of the first receiver that was paid', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    await auth.reserve(token, { receive: eur(90n) })
    await auth.reserve(token)
    expect(await spentOf(token)).toEqual(['200 USD', '90 EUR'])
  })

  it('adds up the items of a grant, each asset for itself', async () => {
    const { token } = await auth.grant({
      access: [spending({ receiver: RECEIVER }), spending({ debitAmount: usd(1_000n) })]
    })
    await auth.reserve(token, { receive: eur(90n) })
    await auth.reserve(token, { receiver: `${RECEIVER}0`, receive: usd(40n) })
    await auth.reserve(token, { receiver: `${RECEIVER}0`, receive: eur(7n) })
    expect(await spentOf(token)).toEqual(['300 USD', '97 EUR'])
  })

  it('is NOT_FOUND for a token that was not issued here, FAILED_PRECONDITION for one that is not active', async () => {
    expect(await spentOf('unknown')).toEqual({ error: 'NOT_FOUND', field: 'access_token' })
    const { token, grantId } = await auth.grant({ access: [spending()] })
    expect(await spentOf(token)).toEqual(['none', 'none'])
    await auth.prisma.grant.update({ where: { id: grantId }, data: { state: 'revoked' } })
    expect(await spentOf(token)).toEqual({ error: 'FAILED_PRECONDITION', field: 'access_token' })
    expect(await spentOf('')).toEqual({ error: 'INVALID_ARGUMENT', field: 'access_token' })
  })

  it('is one statement for a token that was seen before', async () => {
    const { token } = await auth.grant({ access: [spending(), spending({ debitAmount: usd(5n) })] })
    await auth.reserve(token)
    const record = recordStatements(auth.pool)
    expect(await spentOf(token)).toEqual(['100 USD', '100 USD'])
    expect(record.statements).toHaveLength(1)
    record.stop()
  })
})
