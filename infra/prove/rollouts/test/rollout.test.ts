import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { eventually, type ServiceName } from '@open-payments-server/acceptance'
import { afterEach, describe, expect, it } from '@jest/globals'
import { fillSystem } from '@open-payments-server/growth'
import { Fleet } from '../src/fleet.js'
import type { Load } from '../src/load.js'
import { LockWaits } from '../src/lock-waits.js'
import { underLoad } from '../src/under-load.js'

/** Minimum number of checked answers. */
const REQUESTS = Number(process.env.ROLLOUT_TEST_REQUESTS ?? 1_000)
/** Folder of a checkout of an older version, built. */
const OLD_ROOT = process.env.ROLLOUT_TEST_FROM
const RUNS_OLDER = OLD_ROOT !== undefined
/** Folder of the checkout whose build takes over; default: this one. */
const ROOT = process.env.ROLLOUT_TEST_TO ?? fileURLToPath(new URL('../../../../', import.meta.url))
/** Number of payments in the databases before an older version is migrated. */
const ROWS = Number(process.env.ROLLOUT_TEST_ROWS ?? 0)
/** Maximum wait for a lock during the migration. */
const LOCK_WAIT_MAX_MS = 1_000
const PRE_STOP_MS = Number(process.env.ROLLOUT_TEST_PRE_STOP_MS ?? 200)
const TIME_LIMIT_MS = 600_000 + REQUESTS * 100 + ROWS
/** Within which an auth server that is added gets its share. */
const SHARED_WITHIN_MS = 60_000
/** Time in which its share is measured. */
const SHARE_WINDOW_MS = 2_000
/** A third, with a tolerance for counters that are read at different moments. */
const SHARE = { least: 0.2, most: 0.5 }
/** Pauses between the end of a name and that of its auth server, in milliseconds. */
const DRAIN_PAUSES_MS = [1_000, 0]

let fleet: Fleet | undefined
afterEach(() => fleet?.stop(), TIME_LIMIT_MS)

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
      const { wrong, answers } = await underLoad(running, RUNS_OLDER, async (load) => {
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

/** Waits for this many answers. */
function atLeast(load: Load, count: number): Promise<void> {
  return eventually(
    `${String(count)} answers`,
    () => Promise.resolve(load.answerCount >= count),
    TIME_LIMIT_MS
  )
}

describeHere('an auth server', () => {
  it(
    'that is added gets its share of the calls within a minute, though no connection ends',
    async () => {
      const running = (fleet = await Fleet.start({ root: ROOT, preStopMs: PRE_STOP_MS }))
      const { wrong } = await underLoad(running, RUNS_OLDER, async () => {
        await running.addAuthServer(ROOT)
        const addedAt = performance.now()
        const first = await countCalls(running)
        let share = 0
        let last = first
        while (share < SHARE.least && performance.now() - addedAt < SHARED_WITHIN_MS) {
          await delay(SHARE_WINDOW_MS)
          const now = await countCalls(running)
          share = (now.answeredByAdded - last.answeredByAdded) / (now.made - last.made)
          last = now
        }
        const lookups = last.lookups - first.lookups
        const bypassed = (last.bypassed - first.bypassed) / lookups
        console.log(
          `a share of ${share.toFixed(2)} after ${String(Math.round(performance.now() - addedAt))} ms; ` +
            `${String(lookups)} tokens looked up, of which ${bypassed.toFixed(2)} while revocations were not heard`
        )
        expect(share).toBeGreaterThanOrEqual(SHARE.least)
        expect(share).toBeLessThan(SHARE.most)
        // The streams of revocations stay where they are.
        expect(bypassed).toBeLessThan(0.05)
      })
      expect(wrong).toEqual([])
    },
    TIME_LIMIT_MS
  )

  it(
    'that is replaced loses no call, whether it stops some time after its name or together with it',
    async () => {
      const running = (fleet = await Fleet.start({ root: ROOT, preStopMs: PRE_STOP_MS }))
      const { wrong } = await underLoad(running, RUNS_OLDER, async (load) => {
        for (const pauseMs of DRAIN_PAUSES_MS) {
          const before = await countCalls(running)
          await running.roll('auth-server', ROOT, pauseMs)
          await atLeast(load, load.answerCount + 100)
          const after = await countCalls(running)
          const [made, failed, retried] = [
            after.made - before.made,
            after.failed - before.failed,
            after.retried - before.retried
          ]
          console.log(
            `${String(pauseMs)} ms after its name: ${String(made)} calls, ${String(failed)} failed, ` +
              `${String(retried)} attempts repeated`
          )
          expect(made).toBeGreaterThan(0)
          expect(failed).toBe(0)
        }
      })
      expect(wrong).toEqual([])
    },
    TIME_LIMIT_MS
  )
})

/** Calls of all resource servers so far, and those answered by the auth server that was added last. */
async function countCalls(running: Fleet) {
  const ofResourceServers = async (series: RegExp): Promise<number> =>
    (await running.count('resource-server', series)).reduce((sum, count) => sum + count, 0)
  const answered = await running.count(
    'auth-server',
    /^open_payments_grpc_server_call_duration_seconds_count/
  )
  return {
    answeredByAdded: answered.at(-1) ?? 0,
    made: await ofResourceServers(/^open_payments_grpc_client_call_duration_seconds_count/),
    failed: await ofResourceServers(
      /^open_payments_grpc_client_call_duration_seconds_count\{(?!.*code="OK")/
    ),
    retried: await ofResourceServers(/^open_payments_grpc_client_retries_total/),
    lookups: await ofResourceServers(/^open_payments_token_lookups_total/),
    bypassed: await ofResourceServers(/^open_payments_token_lookups_total\{source="bypassed"/)
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
        const { wrong, answers } = await underLoad(running, RUNS_OLDER, async (load) => {
          await atLeast(load, REQUESTS * 0.1)
          expect(await longestLockWaitMs(running, () => running.migrate(ROOT))).toBeLessThanOrEqual(
            LOCK_WAIT_MAX_MS
          )
          await atLeast(load, REQUESTS * 0.3)
          await running.roll(first, ROOT)
          await atLeast(load, REQUESTS * 0.5)
          await running.roll(second, ROOT)
          await atLeast(load, REQUESTS * 0.7)
          await running.roll(second, oldRoot)
          await atLeast(load, REQUESTS * 0.9)
          await running.roll(first, oldRoot)
          await atLeast(load, REQUESTS)
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
