import { randomUUID } from 'node:crypto'
import { TestClock } from '@open-payments-server/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { AnsweredPayments } from '../src/domain/answered-payments.js'
import { reportLostPayments } from '../src/features/report-lost-payments/report-lost-payments.js'
import { openDatabase } from './support/open-database.js'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld()
})
afterAll(() => world.stop())

it('payments that clients were told of and the database does not have are named once', async () => {
  const created = await world.pay(await world.createReceiver(), 5)
  const kept = created.textAt('id').slice(-36)
  const lost = [randomUUID(), randomUUID()]
  const answered = new AnsweredPayments(world.clock)
  for (const id of [kept, ...lost]) answered.remember(id)
  const told: unknown[] = []
  let count = 0
  const dependencies = {
    database: openDatabase(world.server.pool),
    answered,
    counters: {
      countLost: (more: number) => {
        count += more
      }
    },
    logger: {
      info: () => undefined,
      error: (fields: unknown) => {
        told.push(fields)
      }
    }
  }
  expect(await reportLostPayments(dependencies)).toBe(2)
  expect(told).toEqual([{ lost: 2, answered: 3, paymentIds: expect.arrayContaining(lost) }])
  expect(count).toBe(2)
  expect(answered.list()).toEqual([kept])
  expect(await reportLostPayments(dependencies)).toBe(0)
  expect(told).toHaveLength(1)
})

it('payments are remembered for ten minutes', () => {
  const clock = new TestClock(Date.UTC(2026, 0, 1))
  const answered = new AnsweredPayments(clock)
  answered.remember('first')
  clock.advanceSeconds(300)
  answered.remember('second')
  clock.advanceSeconds(300)
  answered.remember('third')
  expect(answered.list()).toEqual(['second', 'third'])
})
