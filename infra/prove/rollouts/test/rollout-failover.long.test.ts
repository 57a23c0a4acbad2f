import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { eventually } from '@open-payments-server/acceptance'
import { PatroniCluster } from '@open-payments-server/faults'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Fleet } from '../src/fleet.js'
import type { Load } from '../src/load.js'
import { underLoad } from '../src/under-load.js'

/** Minimum number of answers, without those that refused for a moment. */
const REQUESTS = Number(process.env.ROLLOUT_TEST_REQUESTS ?? 1_000)
const PRE_STOP_MS = Number(process.env.ROLLOUT_TEST_PRE_STOP_MS ?? 200)
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
/** Folder of a checkout of an older version, built, which is migrated and replaced; default: this one replaces itself. */
const OLD_ROOT = process.env.ROLLOUT_TEST_FROM
const TTL_SECONDS = 15
/** How long requests may be refused after a primary is gone: until its lock has ended, and everybody has found the next one. */
const REFUSABLE_MS = 2 * TTL_SECONDS * 1_000
/** Pause before a migration that failed is tried again, in milliseconds: Kubernetes waits longer each time. */
const MIGRATE_AGAIN_MS = 1_000
/** How long a machine stays away. */
const AWAY_MS = REFUSABLE_MS
const TIME_LIMIT_MS = 900_000 + REQUESTS * 100

const describeHere = process.env.TEST_REDIS_URL === undefined ? describe.skip : describe
if (process.env.TEST_REDIS_URL === undefined) console.log('skipped: replicas need Redis, and there is none')

const replaced = OLD_ROOT === undefined ? 'is replaced' : 'of an older version is migrated and replaced'

describeHere(`the database fails over while every replica ${replaced}`, () => {
  let cluster: PatroniCluster
  let fleet: Fleet

  beforeAll(async () => {
    cluster = await PatroniCluster.start({ ttlSeconds: TTL_SECONDS, loopSeconds: 5 })
    const durability = { DATABASE_DURABILITY: 'synchronous' }
    // Requests that got no answer may have reserved. Given up after a minute, which is longer than any request of the load lasts.
    const sweeping = { ORPHAN_AGE_SECONDS: '60', SWEEP_INTERVAL_SECONDS: '5' }
    fleet = await Fleet.start({
      root: OLD_ROOT ?? ROOT,
      preStopMs: PRE_STOP_MS,
      postgresUrl: cluster.url,
      auth: durability,
      resource: { ...durability, ...sweeping }
    })
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    await fleet.stop()
    await cluster.stop()
  }, TIME_LIMIT_MS)

  it(
    'no answer is wrong',
    async () => {
      const { wrong, answers } = await underLoad(fleet, OLD_ROOT !== undefined, async (load) => {
        if (OLD_ROOT !== undefined) await during(load, migrate, killPostmaster)
        await during(load, () => fleet.roll('auth-server', ROOT), killPostmaster)
        await during(
          load,
          () => fleet.roll('resource-server', ROOT),
          async () => {
            const primary = await cluster.primary
            await primary.lose()
            return () => primary.mend('lost')
          }
        )
        await during(
          load,
          () => fleet.roll('resource-server', ROOT),
          async () => {
            await cluster.switchOver()
            return () => Promise.resolve()
          }
        )
        await fleet.roll('auth-server', ROOT)
        await eventually('all answers', () => Promise.resolve(load.answerCount >= REQUESTS), TIME_LIMIT_MS)
      })
      expect(wrong).toEqual([])
      expect(answers).toBeGreaterThanOrEqual(REQUESTS)
    },
    TIME_LIMIT_MS
  )

  const killPostmaster = async (): Promise<() => Promise<void>> => {
    await (await cluster.primary).killPostmaster()
    return () => Promise.resolve()
  }

  /** Migrates until it succeeds, as a Job does. */
  async function migrate(): Promise<void> {
    const untilMs = performance.now() + AWAY_MS
    for (;;) {
      try {
        await fleet.migrate(ROOT)
        return
      } catch (error) {
        if (performance.now() > untilMs) throw error
        console.log(`tried again: ${String(error)}`)
        await delay(MIGRATE_AGAIN_MS)
      }
    }
  }

  /** Something happens to the database at the beginning of a step: of several replicas, while the first one is replaced. */
  async function during(
    load: Load,
    step: () => Promise<void>,
    happen: () => Promise<() => Promise<void>>
  ): Promise<void> {
    await cluster.whenWhole()
    load.allowRefusals(REFUSABLE_MS)
    const stepping = step()
    // Whoever waits for it below hears of its failure: it may come while the database is still away.
    stepping.catch(() => undefined)
    const undo = await happen()
    await delay(AWAY_MS)
    await undo()
    await stepping
    await cluster.whenWhole()
  }
})
