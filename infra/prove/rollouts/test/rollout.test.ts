import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { allSettled, eventually, type ServiceName } from '@open-payments-server/acceptance'
import { afterEach, describe, expect, it } from '@jest/globals'
import { fillSystem } from '@open-payments-server/growth'
import { Fleet } from '../src/fleet.js'
import { Load } from '../src/load.js'
import { LockWaits } from '../src/lock-waits.js'

/** Minimum number of checked answers. */
const REQUESTS = Number(process.env.ROLLOUT_TEST_REQUESTS ?? 1_000)
/** Folder of a checkout of an older version, built. */
const OLD_ROOT = process.env.ROLLOUT_TEST_FROM
/** Folder of the checkout whose build takes over; default: this one. */
const ROOT = process.env.ROLLOUT_TEST_TO ?? fileURLToPath(new URL('../../../../', import.meta.url))
/** Number of payments in the databases before an older version is migrated. */
const ROWS = Number(process.env.ROLLOUT_TEST_ROWS ?? 0)
/** Maximum wait for a lock during the migration. */
const LOCK_WAIT_MAX_MS = 1_000
const PRE_STOP_MS = Number(process.env.ROLLOUT_TEST_PRE_STOP_MS ?? 200)
const TIME_LIMIT_MS = 600_000 + REQUESTS * 100 + ROWS
const SETTLED_WITHIN_MS = 60_000
/** Maximum age of connections in the test that adds an auth server. */
const CONNECTION_AGE_SECONDS = 4
/** That plus a tenth, a look-up, a connection, and a margin for a busy machine. */
const FOUND_WITHIN_MS = 8_000

let fleet: Fleet | undefined
afterEach(() => fleet?.stop(), TIME_LIMIT_MS)

/** Does something during requests of every kind. Returns what went wrong with them, and with the money. */
async function underLoad(
  running: Fleet,
  work: (load: Load) => Promise<void>
): Promise<{ wrong: string[]; answers: number }> {
  const load = await Load.prepare(running.system, OLD_ROOT !== undefined)
  const sending = load.run()
  try {
    await work(load)
  } catch (error) {
    throw new Error(
      [`failed while it ran: ${String(error)}`, ...load.failures, ...running.failures, running.output].join(
        '\n'
      ),
      { cause: error }
    )
  } finally {
    load.stop()
    await sending
  }
  await load.cleanUp()
  await allSettled(running.system, SETTLED_WITHIN_MS)
  await eventually('no reservation is open', async () => {
    const open = await running.system.authDatabase.query(
      `select 1 from reservation where state = 'open' limit 1`
    )
    return open.length === 0
  })
  const violations = await running.system.audit()
  const miscounts = await running.findMiscounts()
  const wrong = [...load.failures, ...running.failures, ...violations, ...miscounts]
  console.log(
    `${String(load.answerCount)} answers looked at, ${String(running.requestCount)} requests over HTTP, ` +
      `${String(wrong.length)} wrong`
  )
  if (wrong.length > 0) wrong.push(running.output)
  return { wrong, answers: load.answerCount }
}

const describeHere = process.env.TEST_REDIS_URL === undefined ? describe.skip : describe
if (process.env.TEST_REDIS_URL === undefined) console.log('skipped: replicas need Redis, and there is none')

describeHere('no request fails', () => {
  if (OLD_ROOT !== undefined) {
    describeWithOld(OLD_ROOT)
    return
  }

  it(
    'while every replica of both services is replaced, one after the other',
    async () => {
      const running = (fleet = await Fleet.start({ root: ROOT, preStopMs: PRE_STOP_MS }))
      const { wrong, answers } = await underLoad(running, async (load) => {
        do {
          await running.roll('auth-server', ROOT)
          await running.roll('resource-server', ROOT)
        } while (load.answerCount < REQUESTS)
      })
      expect(wrong).toEqual([])
      expect(answers).toBeGreaterThanOrEqual(REQUESTS)
    },
    TIME_LIMIT_MS
  )
})

describeHere('an auth server that is added', () => {
  it(
    'gets its share of the calls within seconds of the age of connections, and no request fails meanwhile',
    async () => {
      const auth = { GRPC_CONNECTION_AGE_SECONDS: String(CONNECTION_AGE_SECONDS) }
      const running = (fleet = await Fleet.start({ root: ROOT, preStopMs: PRE_STOP_MS, auth }))
      const { wrong } = await underLoad(running, async () => {
        await running.addAuthServer(ROOT)
        const addedAt = performance.now()
        await eventually(
          'a call of it',
          async () => (await countCalls(running)).answeredByAdded > 0,
          FOUND_WITHIN_MS
        )
        console.log(`asked first after ${String(Math.round(performance.now() - addedAt))} ms`)
        // Every resource server has found it by then.
        await delay(Math.max(0, addedAt + FOUND_WITHIN_MS - performance.now()))
        const before = await countCalls(running)
        await delay(CONNECTION_AGE_SECONDS * 2_000)
        const after = await countCalls(running)
        const made = after.made - before.made
        const share = (after.answeredByAdded - before.answeredByAdded) / made
        const lookups = after.lookups - before.lookups
        const bypassed = (after.bypassed - before.bypassed) / lookups
        console.log(
          `${String(made)} calls, of which it answered ${share.toFixed(2)}; ` +
            `${String(lookups)} tokens looked up, of which ${bypassed.toFixed(2)} while revocations were not heard`
        )
        // A third, with a tolerance for counters that are read at different moments.
        expect(share).toBeGreaterThan(0.2)
        expect(share).toBeLessThan(0.5)
        // The streams of revocations broke with their connections, and were soon live again.
        expect(bypassed).toBeLessThan(0.2)
      })
      expect(wrong).toEqual([])
    },
    TIME_LIMIT_MS
  )
})

/** Calls of all resource servers so far, and those answered by the auth server that was added last. */
async function countCalls(running: Fleet) {
  const ofResourceServers = async (series: string): Promise<number> =>
    (await running.count('resource-server', series)).reduce((sum, count) => sum + count, 0)
  const answered = await running.count('auth-server', 'open_payments_grpc_server_call_duration_seconds_count')
  return {
    answeredByAdded: answered.at(-1) ?? 0,
    made: await ofResourceServers('open_payments_grpc_client_call_duration_seconds_count'),
    lookups: await ofResourceServers('open_payments_token_lookups_total'),
    bypassed: await ofResourceServers('open_payments_token_lookups_total{source="bypassed"}')
  }
}

/** An older version is replaced, and takes over again, in both orders of the services. */
function describeWithOld(oldRoot: string): void {
  const orders: readonly (readonly [ServiceName, ServiceName])[] = [
    ['auth-server', 'resource-server'],
    ['resource-server', 'auth-server']
  ]
  for (const [first, second] of orders) {
    it(
      `while an older version is migrated and replaced, and takes over again, the ${first} first`,
      async () => {
        const running = (fleet = await Fleet.start({ root: oldRoot, preStopMs: PRE_STOP_MS }))
        await grow(running, ROWS)
        const { wrong, answers } = await underLoad(running, async (load) => {
          const atLeast = (count: number) =>
            eventually(
              `${String(count)} answers`,
              () => Promise.resolve(load.answerCount >= count),
              TIME_LIMIT_MS
            )
          await atLeast(REQUESTS * 0.1)
          expect(await longestLockWaitMs(running, () => running.migrate(ROOT))).toBeLessThanOrEqual(
            LOCK_WAIT_MAX_MS
          )
          await atLeast(REQUESTS * 0.3)
          await running.roll(first, ROOT)
          await atLeast(REQUESTS * 0.5)
          await running.roll(second, ROOT)
          await atLeast(REQUESTS * 0.7)
          await running.roll(second, oldRoot)
          await atLeast(REQUESTS * 0.9)
          await running.roll(first, oldRoot)
          await atLeast(REQUESTS)
        })
        expect(wrong).toEqual([])
        expect(answers).toBeGreaterThanOrEqual(REQUESTS)
      },
      TIME_LIMIT_MS
    )
  }
}

/** Fills both databases with payments that others made before. */
async function grow({ system }: Fleet, paymentCount: number): Promise<void> {
  if (paymentCount === 0) return
  await fillSystem(system, { paymentCount, walletCount: 1_000 })
}

/** Does something, and measures how long others wait for locks meanwhile. */
async function longestLockWaitMs({ system }: Fleet, work: () => Promise<void>): Promise<number> {
  const databases = [system.authDatabase, system.resourceDatabase]
  const watched = await Promise.all(databases.map(({ url }) => LockWaits.watch(url)))
  const begunAt = performance.now()
  await work()
  const tookMs = Math.round(performance.now() - begunAt)
  const longestMs = Math.max(...(await Promise.all(watched.map((waits) => waits.stop()))))
  console.log(
    `${String(ROWS)} payments migrated in ${String(tookMs)} ms; the longest wait for a lock: ${String(longestMs)} ms`
  )
  return longestMs
}
