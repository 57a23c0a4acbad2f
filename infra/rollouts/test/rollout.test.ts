import { fileURLToPath } from 'node:url'
import { allSettled, eventually, type ServiceName } from '@open-payments-server/acceptance'
import { afterEach, describe, expect, it } from '@jest/globals'
import { fillSystem } from '@open-payments-server/growth'
import { Fleet } from '../src/fleet.js'
import { Load } from '../src/load.js'
import { LockWaits } from '../src/lock-waits.js'

/** How many answers are looked at, at least. */
const REQUESTS = Number(process.env.ROLLOUT_TEST_REQUESTS ?? 1_000)
/** Folder of a checkout of an older version, built. */
const OLD_ROOT = process.env.ROLLOUT_TEST_FROM
/** Folder of the checkout whose build takes over; this one unless given. */
const ROOT = process.env.ROLLOUT_TEST_TO ?? fileURLToPath(new URL('../../../', import.meta.url))
/** Payments that the databases hold before an older version is migrated. */
const ROWS = Number(process.env.ROLLOUT_TEST_ROWS ?? 0)
/** Longest that anybody may wait for a lock while it is. */
const LOCK_WAIT_MAX_MS = 1_000
const PRE_STOP_MS = Number(process.env.ROLLOUT_TEST_PRE_STOP_MS ?? 200)
const TIME_LIMIT_MS = 120_000 + REQUESTS * 100 + ROWS
const SETTLED_WITHIN_MS = 60_000

let fleet: Fleet | undefined
afterEach(() => fleet?.stop(), TIME_LIMIT_MS)

/** Does something while requests of every kind come, and says what of them went wrong, and what of the money. */
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

/** Does something, and looks how long anybody else waits for a lock meanwhile. */
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
