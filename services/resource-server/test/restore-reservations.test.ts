import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({ settings: { SWEEP_INTERVAL_SECONDS: '3600' } })
})
afterEach(() => {
  world.limits.restoreRefusals.clear()
})
afterAll(() => world.stop())

const restore = () => world.operate('restoreReservations', {})
const stateOf = (paymentId: string) => world.limits.reservations.get(paymentId)?.state

/** A payment that ended, and whose outcome the auth server acknowledged. Returns its id. */
async function pay(receiver: string): Promise<string> {
  const url = (await world.pay(receiver, 7)).textAt('id')
  await world.whenEnded(url)
  await world.whenDelivered()
  return url.slice(-36)
}

/** A payment that failed: its receiver was completed before it was processed. Returns its id. */
async function failToPay(): Promise<string> {
  const receiver = await world.createReceiver()
  const paymentId = await pay(receiver)
  await world.database.query(
    `begin;
     update account a set debits_posted = debits_posted - 7 from transfer t
      where t.payment_id = '${paymentId}' and t.kind = 'payment' and a.id = t.debit_account_id;
     update account a set credits_posted = credits_posted - 7 from transfer t
      where t.payment_id = '${paymentId}' and t.kind = 'delivery' and a.id = t.credit_account_id;
     update incoming_payment set received_value = 0, completed = true where id = '${receiver.slice(-36)}';
     delete from transfer where payment_id = '${paymentId}' and kind = 'delivery';
     update transfer set state = 'voided', posted_amount = null where payment_id = '${paymentId}';
     update outgoing_payment set state = 'failed', failure_reason = 'receiver_completed', settled_debit_value = 0,
            settled_receive_value = 0 where id = '${paymentId}';
     update grant_reservation set outcome = 'release', settled_debit_value = null, settled_receive_value = null
      where payment_id = '${paymentId}';
     commit`
  )
  return paymentId
}

describe('telling the auth server anew of what it lost', () => {
  it('has it record the reservations that it does not know, and settles them', async () => {
    const receiver = await world.createReceiver()
    const [lost, other] = [await pay(receiver), await pay(receiver)]
    const before = world.limits.reservations.get(lost)
    world.limits.reservations.delete(lost)
    expect(await world.audit()).toEqual([expect.stringContaining(`${lost}: here a payment of 7`)])
    expect(await restore()).toEqual({ restoredCount: 1n, outcomeCount: 1n, refusedCount: 0n, refused: [] })
    await world.whenDelivered()
    const after = world.limits.reservations.get(lost)
    expect(after).toMatchObject({ state: 'settled', debited: 7n, received: 7n })
    expect(after?.contentHash).toEqual(before?.contentHash)
    expect(after?.chargedAt).toEqual(before?.chargedAt)
    expect(after?.spent).toEqual(before?.spent)
    expect(stateOf(other)).toBe('settled')
    expect(await world.audit()).toEqual([])
  })

  it('delivers again what it acknowledged and does not know any more', async () => {
    const settled = await pay(await world.createReceiver())
    const released = await failToPay()
    Object.assign(world.limits.reservations.get(settled)!, { state: 'open' })
    world.limits.reservations.delete(released)
    expect(await restore()).toEqual({ restoredCount: 0n, outcomeCount: 2n, refusedCount: 0n, refused: [] })
    await world.whenDelivered()
    expect(stateOf(settled)).toBe('settled')
    expect(stateOf(released)).toBe('released')
    expect(await world.audit()).toEqual([])
  })

  it('changes nothing where it lost nothing, however often', async () => {
    await pay(await world.createReceiver())
    const { settle, release } = world.limits.asked
    for (let times = 0; times < 2; times += 1) {
      expect(await restore()).toEqual({ restoredCount: 0n, outcomeCount: 0n, refusedCount: 0n, refused: [] })
    }
    expect(world.limits.asked).toMatchObject({ settle, release })
  })

  it('names the payments that it does not record, and does not deliver their outcomes', async () => {
    const lost = await pay(await world.createReceiver())
    const reservation = world.limits.reservations.get(lost)!
    world.limits.reservations.delete(lost)
    world.limits.restoreRefusals.set(lost, 'The grant is unknown')
    const { settle } = world.limits.asked
    expect(await restore()).toEqual({
      restoredCount: 0n,
      outcomeCount: 0n,
      refusedCount: 1n,
      refused: [
        {
          paymentId: lost,
          grantId: reservation.grantId,
          walletAddress: 'http://wallet.test/alice',
          debitValue: '7',
          debitAsset: { code: 'USD', scale: 2 },
          reason: 'The grant is unknown',
          grantUnknown: true
        }
      ]
    })
    expect(world.limits.asked.settle).toBe(settle)
    expect(await world.audit()).toEqual([expect.stringContaining(`${lost}: here a payment of 7`)])
    world.limits.reservations.set(lost, reservation)
  })

  it('is refused while the auth server is away', async () => {
    world.limits.beforeList = () => {
      throw new RpcError({ code: status.UNAVAILABLE, message: 'down' })
    }
    await expect(restore()).rejects.toMatchObject({ code: status.FAILED_PRECONDITION, field: 'auth_server' })
    world.limits.beforeList = undefined
  })
})
