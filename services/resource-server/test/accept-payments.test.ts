import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({ settings: { SWEEP_INTERVAL_SECONDS: '3600' } })
})
afterAll(() => world.stop())

const REASON = 'consent was given by telephone, ticket 4711'
const accept = async (paymentIds: readonly string[], reason = REASON): Promise<string[]> =>
  (await world.operate('acceptUncountedPayments', { paymentIds: [...paymentIds], reason })).paymentIds
const refusedFor = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => (error instanceof RpcError ? `${status[error.code]} ${String(error.field)}` : error)
  )
const accepted = () => world.database.query('select * from accepted_payment order by payment_id')
const restored = { restoredCount: 0n, outcomeCount: 0n, refusedCount: 0n, refused: [] }

/** A settled payment that the auth server knows nothing of, and why it does not count it. Returns its id. */
async function lose(refusal: string | undefined): Promise<string> {
  const url = (await world.pay(await world.createReceiver(), 7)).textAt('id')
  await world.whenEnded(url)
  await world.whenDelivered()
  const id = url.slice(-36)
  world.limits.reservations.delete(id)
  if (refusal !== undefined) world.limits.restoreRefusals.set(id, refusal)
  return id
}

describe('payments that no grant counts', () => {
  it('are no longer named by the audit once an operator accepted them, but counted, also if told twice', async () => {
    const [first, second] = [await lose('The grant is unknown'), await lose('The grant is unknown')]
    expect(await world.audit()).toHaveLength(2)
    expect(await accept([second, first, second])).toEqual([first, second].sort())
    const records = await accepted()
    expect(records).toHaveLength(2)
    expect(records).toContainEqual({
      payment_id: first,
      grant_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      settled_debit_value: '7',
      settled_receive_value: '7',
      accepted_by: null,
      reason: REASON,
      accepted_at: expect.any(Date)
    })
    expect(await world.audit()).toEqual([])
    const { checks } = await world.operate('audit', wallet.AuditRequest.create())
    expect(checks.find(({ invariant }) => invariant.includes('accepted'))).toMatchObject({ checkedCount: 2n })
    expect(await accept([first], 'another reason')).toEqual([])
    expect(await accepted()).toEqual(records)
    // What was accepted is not asked for again.
    expect(await world.operate('restoreReservations', {})).toEqual(restored)
  })

  it('are accepted once, whoever asks at once', async () => {
    const id = await lose('The grant is unknown')
    const told = await Promise.all(Array.from({ length: 4 }, () => accept([id])))
    expect(told.flat()).toEqual([id])
  })

  it('are counted instead where they can be', async () => {
    const id = await lose(undefined)
    const before = await accepted()
    expect(await accept([id])).toEqual([])
    expect(await accepted()).toEqual(before)
    await world.whenDelivered()
    expect(world.limits.reservations.get(id)?.state).toBe('settled')
    expect(await world.audit()).toEqual([])
  })

  it('are accepted all or none: not where the grant is known, nor what has not ended, nor what is none', async () => {
    const [lost, full] = [
      await lose('The grant is unknown'),
      await lose('The grant has no room left for the payment')
    ]
    const before = await accepted()
    expect(await refusedFor(accept([lost, full]))).toBe('FAILED_PRECONDITION payment_ids')
    expect(await refusedFor(accept([lost, randomUUID()]))).toBe('NOT_FOUND payment_ids')
    world.limits.restoreRefusals.delete(full)
    expect(await accepted()).toEqual(before)
    expect(await accept([lost, full])).toEqual([lost])
    await world.whenDelivered()
    expect(await world.audit()).toEqual([])
  })

  it.each<[string, readonly string[], string, string]>([
    ['no ids', [], REASON, 'payment_ids'],
    ['what is no id', ['7'], REASON, 'payment_ids'],
    ['too many', Array.from({ length: 101 }, () => randomUUID()), REASON, 'payment_ids'],
    ['no reason', [randomUUID()], '', 'reason'],
    ['a long reason', [randomUUID()], 'a'.repeat(257), 'reason'],
    ['a reason of two lines', [randomUUID()], 'a\nb', 'reason']
  ])('are not accepted for %s', async (_what, ids, reason, field) => {
    expect(await refusedFor(accept(ids, reason))).toBe(`INVALID_ARGUMENT ${field}`)
  })

  it('are named again if they change, and the record never does', async () => {
    const id = await lose('The grant is unknown')
    expect(await accept([id])).toEqual([id])
    for (const change of [
      `update accepted_payment set reason = 'none'`,
      'delete from accepted_payment',
      'truncate accepted_payment'
    ])
      await expect(world.database.query(change)).rejects.toThrow('an acceptance never changes')
    await world.database.query('update outgoing_payment set grant_id = $1 where id = $2', [randomUUID(), id])
    const violations = await world.audit()
    expect(violations.filter((violation) => violation.includes(id)).length).toBeGreaterThanOrEqual(2)
    expect(violations).toContainEqual(expect.stringContaining('which is not what was accepted'))
  })
})
