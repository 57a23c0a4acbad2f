import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { eur, GrpcFixture, spending, usd, type WrittenGrant } from '../../../test/support/grpc-fixture.js'

let auth: GrpcFixture
let grant: WrittenGrant
let paymentId: string

beforeEach(async () => {
  auth = await GrpcFixture.start()
  grant = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
  const payments = [0, 1, 2].map(() => auth.payment(grant.token))
  for (const payment of payments) await auth.reserveAs(payment)
  await auth.reserve(grant.token, { receive: eur(90n) })
  await auth.reserve(grant.token, { debit: usd(1_001n) })
  const [open, settled, released] = payments.map((payment) => payment.paymentId)
  await auth.settle(String(settled), 30n, 20n)
  await auth.release(String(released))
  paymentId = String(open)
})
afterEach(() => auth.stop())

const audit = () => callUnary(auth.operator, 'auditLimits', {}, { idempotent: false })

describe('AuditLimits', () => {
  it('finds nothing wrong where every counter equals its reservations', async () => {
    expect(await audit()).toEqual({ windowCount: 1n, reservationCount: 5n, violations: [] })
  })

  const item = (): string => `Access item ${String(grant.itemIds[0])}, interval 0`

  it.each([
    [
      'a counter of debits that drifted',
      () => `update limit_window set debited = debited + 1`,
      () => [`${item()}: counts 231 as debited, its reservations hold 230`]
    ],
    [
      'a counter of receipts that drifted',
      () => `update limit_window set received = received - 1`,
      () => [`${item()}: counts 119 as received, its reservations hold 120`]
    ],
    [
      'a reservation that vanished',
      () => `delete from reservation where payment_id = '${paymentId}'`,
      () => [
        `${item()}: counts 230 as debited, its reservations hold 130`,
        `${item()}: counts 120 as received, its reservations hold 20`
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
        `${item()}: its caps are not the limits of the access item`
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
    expect((await audit()).violations.sort()).toEqual(violations().sort())
  })

  it('leaves a connection that can be used when it fails', async () => {
    await auth.database.query('alter table reservation rename to lost')
    await expect(audit()).rejects.toThrow('Internal error')
    await auth.database.query('alter table lost rename to reservation')
    expect((await audit()).violations).toEqual([])
  })
})
