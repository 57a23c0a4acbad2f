import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { BOB, type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

const PAYMENTS = 150

let world: PaymentWorld

/** Nobody is told anything while the database does not say for ten seconds whether there is a payment. */
function cutOff(error: unknown): undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const isCutOff = cause instanceof Error && 'code' in cause && cause.code === 'UND_ERR_SOCKET'
  if (!isCutOff) throw error
  return undefined
}

beforeAll(async () => {
  world = await startPaymentWorld({ settings: { SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '1' } })
})
afterAll(() => world.stop())

it('payments whose database connections break at any moment leave no money and no reservation astray', async () => {
  const [toBob, toAlice] = [
    await world.createReceiver(),
    await world.createReceiver({ walletAddress: 'http://wallet.test/alice' })
  ]
  const before = (await world.available('alice')) + (await world.available('bob'))
  let breaking = true
  const breaker = (async () => {
    while (breaking) {
      // Some connection of the service, whatever it is doing.
      await world.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'resource-server' and datname = current_database() order by random() limit 1`
      )
      await delay(60)
    }
  })()
  const statuses: number[] = []
  const created: string[] = []
  let unanswered = 0
  await Promise.all(
    Array.from({ length: 6 }, async (_, worker) => {
      for (let index = worker; index < PAYMENTS; index += 6) {
        const paying = index % 2 === 0 ? world.pay(toBob, 3) : world.pay(toAlice, 2, { walletAddress: BOB })
        const answer = await paying.catch(cutOff)
        if (answer === undefined) {
          unanswered += 1
          continue
        }
        statuses.push(answer.status)
        if (answer.status === 201) created.push(answer.textAt('id').slice(-36))
      }
    })
  )
  breaking = false
  await breaker
  // After the sweeper has run, everything has ended.
  const open = () => [...world.limits.reservations.values()].filter(({ state }) => state === 'open')
  while (open().length > 0) await delay(50)
  await world.whenDelivered()

  expect(statuses.filter((status) => ![201, 503].includes(status))).toEqual([])
  expect(created.length).toBeGreaterThan(0)
  // A client that got 201 has a payment, one that got an error has none, and one that got no answer may have one.
  const found = await world.database.query<{ id: string }>('select id from outgoing_payment')
  const paid = new Set(found.map(({ id }) => id))
  expect(created.filter((id) => !paid.has(id))).toEqual([])
  expect(paid.size - created.length).toBeLessThanOrEqual(unanswered)
  expect(await world.audit()).toEqual([])
  expect((await world.available('alice')) + (await world.available('bob'))).toBe(before)
}, 300_000)
