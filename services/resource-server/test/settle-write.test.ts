import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { writeBatch } from '../src/features/process-outgoing-payments/process-batch.js'
import type { SettledBatch } from '../src/features/process-outgoing-payments/settle-batch.js'
import { openDatabase } from './support/open-database.js'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

let world: PaymentWorld
let paymentId: string
let batch: SettledBatch

// A settled payment, and the batch that settles it again.
beforeAll(async () => {
  world = await startPaymentWorld()
  const created = await world.pay(await world.createReceiver(), 100)
  paymentId = created.textAt('id').slice(-36)
  await world.whenEnded(created.textAt('id'))
  await world.whenDelivered()
  const settlement = {
    state: 'completed',
    failureReason: undefined,
    settledDebitValue: 100n,
    settledFeeValue: 0n,
    settledReceiveValue: 100n
  } as const
  batch = {
    endings: [{ id: paymentId, held: true, settlement }],
    refundEndings: [],
    transfers: [],
    totals: [],
    received: new Map(),
    filledCount: 0
  }
})
afterAll(() => world.stop())

const PENDING_PAYMENT = `update outgoing_payment set state = 'pending', settled_debit_value = 0, settled_receive_value = 0 where id = $1`
const PENDING_OUTCOME = `update grant_reservation set outcome = null, settled_debit_value = null, settled_receive_value = null,
  delivered_at = null where payment_id = $1`
const PENDING_HOLD = `update transfer set state = 'pending', posted_amount = null, ended_at = null where id = $1`

describe('a payment that was claimed', () => {
  it.each<[what: string, states: string[], changed: string]>([
    ['it has ended meanwhile', [PENDING_OUTCOME, PENDING_HOLD], '1 payments, and would change 0'],
    [
      'its outcome is recorded already',
      [PENDING_PAYMENT, PENDING_HOLD],
      '1 reservations, and would change 0'
    ],
    ['its hold has ended already', [PENDING_PAYMENT, PENDING_OUTCOME], '1 holds, and would change 0']
  ])('is not settled when %s', async (_what, states, changed) => {
    await expect(writeAfter(states)).rejects.toThrow(`settling must change ${changed}`)
  })

  it('is settled when nothing of it has ended', async () => {
    await expect(writeAfter([PENDING_PAYMENT, PENDING_OUTCOME, PENDING_HOLD])).resolves.toBeUndefined()
  })

  /** Writes the batch after parts of the payment were made pending again, and rolls back. */
  async function writeAfter(states: readonly string[]): Promise<void> {
    const undone = new Error('undone')
    const attempt = openDatabase(world.server.pool).$transaction(async (transaction) => {
      for (const state of states) await transaction.$executeRawUnsafe(state, paymentId)
      await writeBatch(transaction, batch, randomUUID, world.clock.now())
      throw undone
    })
    await attempt.catch((error: unknown) => {
      if (error !== undone) throw error
    })
  }
})

it('accounts that a batch changes are locked in the order of their ids, all of them before any is changed', async () => {
  const accounts = await world.database.query<{ id: string }>(
    `select id from account where kind = 'wallet' order by id desc`
  )
  const [highest, middle, lowest] = accounts.map(({ id }) => id)
  const totals = accounts.map(({ id }) => ({
    accountId: id,
    debitsPending: 0n,
    debitsPosted: 0n,
    creditsPosted: 0n
  }))
  const holder = await world.server.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('select 1 from account where id = $1 for no key update', [middle])
    const changes = {
      endings: [],
      refundEndings: [],
      transfers: [],
      totals,
      received: new Map(),
      filledCount: 0
    }
    const written = writeBatch(openDatabase(world.server.pool), changes, randomUUID, world.clock.now())
    while ((await waiting()) === 0) await new Promise(setImmediate)
    await expect(lockNow(lowest)).rejects.toMatchObject({ code: '55P03' })
    await lockNow(highest)
    await holder.query('commit')
    await written
  } finally {
    holder.release(true)
  }
})

/** Locks an account, for as long as the statement takes, unless somebody else has. */
const lockNow = (id: string | undefined) =>
  world.database.query('select 1 from account where id = $1 for no key update nowait', [id])

/** Number of statements that wait for locks. */
const waiting = async (): Promise<number> =>
  (
    await world.database.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    )
  ).length
