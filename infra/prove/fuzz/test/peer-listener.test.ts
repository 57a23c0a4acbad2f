import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openManyFrames } from '../src/frames-flood.js'
import { FIRST_SEED } from '../src/fuzz.js'
import { ACCEPTED } from '../src/target.js'
import { createFuzzedPeer, type FuzzedPeer } from '../src/wire/fuzzed-peer.js'
import { type InspectedSystem, type Kept, startInspectedSystem } from '../src/wire/inspected-system.js'
import { NOT_YET, PeerFlood } from '../src/wire/peer-flood.js'

/** Requests to the listener, and as many packets of STREAM. */
const CASES = Number(process.env.PEER_FUZZ_TEST_CASES ?? 10_000)
/** What is kept is looked at after each. */
const STEPS = 10
/** How much heaps may grow after the first steps: what is kept of each case would be more. */
const GROWTH_BYTES_MAX = 6 * 1_048_576
/** Connections to the database that come and go. */
const FILES_GROWTH_MAX = 10
/** Rows that do not depend on the number of packets: those of payments that end, and of what is done by the hour. */
const OTHER_ROWS_MAX = 20
const TIME_LIMIT_MS = 300_000 + 10 * CASES

describe('what other providers send', () => {
  let system: InspectedSystem
  let peer: FuzzedPeer
  beforeAll(async () => {
    system = await startInspectedSystem()
    peer = await createFuzzedPeer(system)
  }, TIME_LIMIT_MS)
  afterAll(() => system.stop())

  it(
    'over many connections at a time is answered as documented, is credited as it is fulfilled, and nothing grows',
    async () => {
      const flood = new PeerFlood(Number(new URL(system.peering.ilpEndpoint).port), peer, FIRST_SEED)
      const before = await system.rows()
      const kept: Kept[] = []
      const begun = performance.now()
      for (let step = 0; step < STEPS; step += 1) {
        await flood.send(CASES / STEPS).catch((error: unknown) => {
          throw new Error(`${String(error)}\n${system.output()}`, { cause: error })
        })
        kept.push(await keptAtRest(system))
      }
      const seconds = (performance.now() - begun) / 1_000
      const after = await system.rows()
      const grown = new Map([...after].map(([table, rows]) => [table, rows - (before.get(table) ?? 0)]))
      console.log({ seed: FIRST_SEED, seconds, counts: flood.counts, kept, grown })
      // Empty, unless the database of a busy machine did not answer in time: then it says why.
      console.log(system.output())

      const answers = [...flood.counts].reduce(
        (sum, [kind, count]) => (kind === NOT_YET ? sum : sum + count),
        0
      )
      expect(answers).toBeGreaterThanOrEqual(CASES)
      expect(flood.counts.get(ACCEPTED)).toBeGreaterThan(CASES / 100)
      const values = [...flood.fulfilled.values()].reduce((sum, value) => sum + value, 0n)
      expect(await creditedTo(system)).toEqual({ packets: flood.fulfilled.size, value: values })
      expectNoGrowth(kept.map(({ heapBytes }) => heapBytes))
      const files = kept.map((one) => one.files)
      expect(Math.max(...files.slice(1))).toBeLessThanOrEqual((files[0] ?? 0) + FILES_GROWTH_MAX)
      for (const table of ['received_packet', 'transfer']) {
        expect({ table, rows: grown.get(table) }).toEqual({ table, rows: flood.fulfilled.size })
        grown.delete(table)
      }
      // One for all that a payment receives at a time.
      expect(grown.get('event')).toBeLessThanOrEqual(flood.fulfilled.size)
      grown.delete('event')
      expect(Math.max(...grown.values())).toBeLessThanOrEqual(OTHER_ROWS_MAX)
      expect(await system.audit()).toEqual([])
    },
    TIME_LIMIT_MS
  )
})

describe('frames of STREAM', () => {
  it(
    'are read or refused, whatever they are, and nothing of them is kept',
    () => {
      const heaps: number[] = []
      const results = new Map<string, number>()
      const begun = performance.now()
      for (let step = 0; step < STEPS; step += 1) {
        for (const [result, count] of openManyFrames(CASES / STEPS, FIRST_SEED + step * CASES)) {
          results.set(result, (results.get(result) ?? 0) + count)
        }
        heaps.push(heapAfterCollection())
      }
      const seconds = (performance.now() - begun) / 1_000
      console.log({ seed: FIRST_SEED, seconds, results, heaps })
      expect([...results.values()].reduce((sum, count) => sum + count)).toBe(CASES)
      expect(results.get(ACCEPTED)).toBeGreaterThan(CASES / 10)
      expectNoGrowth(heaps)
    },
    TIME_LIMIT_MS
  )
})

/** What the service keeps once it has noticed that the connections ended. */
async function keptAtRest(system: InspectedSystem): Promise<Kept> {
  let kept = await system.kept()
  for (;;) {
    await delay(100)
    const again = await system.kept()
    if (again.files >= kept.files) return kept
    kept = again
  }
}

/** What was credited for packets of the peer. */
async function creditedTo({
  resourceDatabase
}: InspectedSystem): Promise<{ packets: number; value: bigint }> {
  const [row] = await resourceDatabase.query<{ packets: number; value: string }>(
    'select count(*)::int as packets, sum(packet_value)::text as value from received_packet'
  )
  return { packets: row?.packets ?? 0, value: BigInt(row?.value ?? 0) }
}

/** The first steps compile what they need, and fill caches. */
function expectNoGrowth(heaps: readonly number[]): void {
  const [, first = 0, ...later] = heaps
  const growth = Math.min(...later.slice(-3)) - first
  expect(growth).toBeLessThanOrEqual(GROWTH_BYTES_MAX)
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
