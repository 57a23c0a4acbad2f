import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ALICE, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld()
})
afterAll(() => world.stop())

describe('an outgoing payment', () => {
  it('is created from an incoming payment, sent at once, and received in full', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(2500) })
    const created = await world.pay(receiver, 2500, { metadata: { externalRef: 'INV-1', b: 1, a: 2 } })
    expect(created).toMatchObject({ status: 201 })
    expect(created.body).toEqual({
      id: expect.stringContaining('/outgoing-payments/'),
      walletAddress: ALICE,
      failed: false,
      receiver,
      receiveAmount: usd(2500),
      debitAmount: usd(2500),
      sentAmount: usd(0),
      grantSpentDebitAmount: usd(2500),
      grantSpentReceiveAmount: usd(2500),
      metadata: { externalRef: 'INV-1', b: 1, a: 2 },
      createdAt: expect.any(String),
      updatedAt: expect.any(String)
    })
    expect(created.headers.get('location')).toBe(created.at('id'))
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(2500) })
    expect(ended.at('grantSpentDebitAmount')).toBeUndefined()
  })
})
