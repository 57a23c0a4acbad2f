import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  amount,
  consentedToken,
  converged,
  createReceiver,
  outgoingAccess,
  startSystem,
  type System,
  withPersistentClients
} from '@open-payments-server/acceptance'
import { randomSequence, seedOf, weighted, wholeNumber } from '@open-payments-server/testing'
import { isUndecided, type Order, PaymentLoad } from '../src/payment-load.js'
import { WireProxy } from '../src/wire-proxy.js'

const PAYMENTS = 1_000
const PAYERS = 16
/**
 * Maximum number of repetitions of a payment while the connection is disturbed, and afterwards: with the first attempt, as many
 * as the ids that it may get.
 */
const REPEATS_MAX = { disturbed: 1, healed: 2 }
/** Receivers of several concurrent payments, without room for all of them. */
const SMALL_RECEIVERS = 20
const SMALL_RECEIVER_VALUE = 250n
const PAYERS_OF_SMALL_RECEIVER = 8
/** Limit of the grant that runs out: less than half of what is requested. */
const SCARCE_LIMIT = 3_500n
const CONVERGED_WITHIN_MS = 60_000
const TIME_LIMIT_MS = 600_000

const seed = seedOf('WIRE_TEST_SEED')

describe('between the services, a wire that drops, delays and resets', () => {
  let system: System
  let proxy: WireProxy
  beforeAll(async () => {
    system = await startSystem({
      resource: {
        AUTH_GRPC_DEADLINE_MS: '400',
        ORPHAN_AGE_SECONDS: '1',
        SWEEP_INTERVAL_SECONDS: '1',
        PROCESSING_POLL_SECONDS: '1'
      },
      detours: {
        async authServerGrpc(target) {
          proxy = await WireProxy.start({
            target,
            seed,
            requestBytesBetweenFaults: [10_000, 36_000],
            delayMs: [450, 700],
            cutAfterMs: [20, 250]
          })
          return proxy.port
        }
      }
    })
  })
  afterAll(async () => {
    await system.stop()
    await proxy.stop()
  })

  it(
    `tells ${String(PAYMENTS)} clients the truth, and loses no money and no room under a grant`,
    async () => {
      // Before anything is disturbed, a busy machine alone may exceed the deadline of a call.
      const { orders, tokens } = await prepareOrders(withPersistentClients(system))
      const before = { alice: await system.balance('alice'), bob: await system.balance('bob') }
      const load = new PaymentLoad(system, system.shop)

      const startedAtMs = performance.now()
      const elapsedMs = (): number => Math.round(performance.now() - startedAtMs)
      proxy.disturb()
      await Promise.all(Array.from({ length: PAYERS }, (_, payer) => runPayer(load, orders, seed + payer)))
      proxy.heal()
      const disturbedMs = elapsedMs()
      await converged(system, CONVERGED_WITHIN_MS)
      const endings = await endingsOf(system)
      const convergedMs = elapsedMs() - disturbedMs
      console.log({ faults: proxy.counts, answers: load.statuses, endings, disturbedMs, convergedMs })
      expect(await load.untruths()).toEqual([])

      await load.sendUndecided(REPEATS_MAX.healed, CONVERGED_WITHIN_MS)
      expect(load.doubts).toEqual([])
      expect(await load.untruths()).toEqual([])
      expect(await load.differences(before, tokens)).toEqual([])
      expect(await system.audit()).toEqual([])

      for (const count of Object.values(proxy.counts)) expect(count).toBeGreaterThan(0)
      expect(load.statuses).toMatchObject({
        201: expect.any(Number),
        400: expect.any(Number),
        403: expect.any(Number),
        503: expect.any(Number)
      })
      expect(load.confirmed.length).toBeGreaterThan(PAYMENTS / 2)
      expect(endings).toMatchObject({
        completed: expect.any(Number),
        'failed, sent in part': expect.any(Number)
      })
    },
    TIME_LIMIT_MS
  )
})

/** Orders of each kind, mixed, and the tokens that they are made with. */
async function prepareOrders(system: System): Promise<{ orders: Order[]; tokens: string[] }> {
  const random = randomSequence(seed)
  const { url: open } = await createReceiver(system, system.shop)
  const { token: ample } = await consentedToken(system, system.shop, [outgoingAccess(system)])
  const { token: scarce } = await consentedToken(system, system.shop, [
    outgoingAccess(system, { debitAmount: amount(SCARCE_LIMIT) })
  ])
  const debit = (): bigint => BigInt(wholeNumber(random, 40, 90))
  const orders: Order[] = Array.from(
    { length: PAYMENTS - SMALL_RECEIVERS * PAYERS_OF_SMALL_RECEIVER },
    () => ({
      token: weighted(random, { ample: 5, scarce: 1 }) === 'ample' ? ample : scarce,
      receiver: open,
      debit: debit()
    })
  )
  for (let count = 0; count < SMALL_RECEIVERS; count += 1) {
    const { url: receiver } = await createReceiver(system, system.shop, { incoming: SMALL_RECEIVER_VALUE })
    const race = Array.from({ length: PAYERS_OF_SMALL_RECEIVER }, () => ({
      token: ample,
      receiver,
      debit: debit()
    }))
    orders.splice(wholeNumber(random, 0, orders.length), 0, ...race)
  }
  return { orders, tokens: [ample, scarce] }
}

/** Number of payments by how they ended. */
async function endingsOf(system: System): Promise<Record<string, number>> {
  const rows = await system.resourceDatabase.query<{ ending: string; count: number }>(
    `select case when state = 'failed' and settled_debit_value > 0 then 'failed, sent in part' else state::text end as ending,
            count(*)::int as count
       from outgoing_payment group by 1`
  )
  return Object.fromEntries(rows.map(({ ending, count }) => [ending, count]))
}

/** Processes orders until there are none. Some payers repeat requests without an answer or with a 503. */
async function runPayer(load: PaymentLoad, orders: Order[], payerSeed: number): Promise<void> {
  const random = randomSequence(payerSeed)
  for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
    const payment = load.order(order)
    await load.send(payment)
    const repeats = wholeNumber(random, 0, REPEATS_MAX.disturbed)
    for (let repeat = 0; repeat < repeats && isUndecided(payment.answers.at(-1)); repeat += 1) {
      await delay(wholeNumber(random, 0, 300))
      await load.send(payment)
    }
  }
}
