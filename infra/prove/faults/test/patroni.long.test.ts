import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { findFreePort } from '@open-payments-server/local-services'
import { scrapeMetrics } from '@open-payments-server/testing'
import { type LoadedSystem, startLoadedSystem } from '../src/loaded-system.js'
import { PatroniCluster } from '../src/patroni/patroni-cluster.js'

const { FAILOVER_TEST_ROUNDS = '1', FAILOVER_TEST_KINDS } = process.env
const ROUNDS = Number(FAILOVER_TEST_ROUNDS)
const TTL_SECONDS = 15
const LOOP_SECONDS = 5
const TIME_LIMIT_MS = 600_000
/** How long payments go on after the cluster is whole again, in milliseconds. */
const BACK_MS = 3_000

/** What happens to the cluster, and how it is undone. */
interface Happening {
  /** Longest time without a payment, in seconds: half of the rounds, and all. */
  readonly gapSeconds: { readonly median: number; readonly worst: number }
  /** How long a node stays away, in seconds. */
  readonly awaySeconds: number
  happen(cluster: PatroniCluster): Promise<() => Promise<void>>
}

const nothing = (): Promise<void> => Promise.resolve()
const QUICK = { median: 8, worst: TTL_SECONDS + 5 }
const SLOW = { median: 2 * TTL_SECONDS, worst: 2 * TTL_SECONDS }
const HAPPENINGS: Readonly<Record<string, Happening>> = {
  'a killed server of PostgreSQL': {
    gapSeconds: QUICK,
    awaySeconds: 15,
    async happen(cluster) {
      await (await cluster.primary).killPostmaster()
      return nothing
    }
  },
  'a switchover': {
    gapSeconds: QUICK,
    awaySeconds: 15,
    async happen(cluster) {
      await cluster.switchOver()
      return nothing
    }
  },
  'a lost standby': {
    gapSeconds: QUICK,
    awaySeconds: 15,
    async happen(cluster) {
      const standby = await cluster.standby
      await standby.lose()
      return () => standby.mend('lost')
    }
  },
  'a lost primary': {
    gapSeconds: SLOW,
    awaySeconds: 2 * TTL_SECONDS + 10,
    async happen(cluster) {
      const primary = await cluster.primary
      await primary.lose()
      return () => primary.mend('lost')
    }
  },
  'a frozen primary': {
    gapSeconds: SLOW,
    awaySeconds: 2 * TTL_SECONDS + 10,
    async happen(cluster) {
      const primary = await cluster.primary
      await primary.freeze()
      return () => primary.mend('frozen')
    }
  },
  'a primary that is cut off': {
    gapSeconds: SLOW,
    awaySeconds: 2 * TTL_SECONDS + 10,
    async happen(cluster) {
      const primary = await cluster.primary
      primary.cutOff()
      return () => primary.mend('cut-off')
    }
  }
}
const kinds = Object.keys(HAPPENINGS).filter((kind) => new RegExp(FAILOVER_TEST_KINDS ?? '').test(kind))

describe.each([
  ['through HAProxy', (_cluster: PatroniCluster, url: string) => url],
  ['with every host in DATABASE_URL', (cluster: PatroniCluster, url: string) => cluster.onEveryHost(url)]
])('three nodes of Patroni, %s', (_how, urlOf) => {
  let cluster: PatroniCluster
  let loaded: LoadedSystem
  let metricsPort: number

  beforeAll(async () => {
    cluster = await PatroniCluster.start({ ttlSeconds: TTL_SECONDS, loopSeconds: LOOP_SECONDS })
    metricsPort = await findFreePort()
    const detour = (url: string) => Promise.resolve(urlOf(cluster, url))
    const durability = { DATABASE_DURABILITY: 'synchronous' }
    loaded = await startLoadedSystem(cluster.url, {
      auth: durability,
      resource: { ...durability, METRICS_PORT: String(metricsPort) },
      detours: { authDatabase: detour, resourceDatabase: detour }
    })
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    await loaded.system.stop()
    await cluster.stop()
  }, TIME_LIMIT_MS)

  it.each(kinds)(
    'lose no payment by %s',
    async (kind) => {
      const { gapSeconds, awaySeconds, happen } = HAPPENINGS[kind]! // one of its keys
      const gaps: number[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        await cluster.whenWhole()
        const { longestGapMs, wrong } = await loaded.during(async () => {
          const undo = await happen(cluster)
          await delay(awaySeconds * 1_000)
          await undo()
          await cluster.whenWhole()
          await delay(BACK_MS)
        })
        gaps.push(longestGapMs / 1_000)
        if (longestGapMs > gapSeconds.worst * 1_000) console.log(cluster.output)
        expect(wrong).toEqual(new Set())
        expect(await loaded.wrongs()).toEqual([])
        expect((await scrapeMetrics(metricsPort)).at('open_payments_lost_payments_total')).toBe(0)
      }
      gaps.sort((one, other) => one - other)
      console.log(`${kind}: longest gaps without a payment, in seconds: ${gaps.join(', ')}`)
      expect(gaps[Math.floor((gaps.length - 1) / 2)]).toBeLessThanOrEqual(gapSeconds.median)
      expect(gaps.at(-1)).toBeLessThanOrEqual(gapSeconds.worst)
    },
    ROUNDS * TIME_LIMIT_MS
  )
})
