import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { CrashFleet } from '../src/crash-fleet.js'
import { CROSSING_CRASHES, type CrossingCrash } from '../src/crossing-points.js'
import { runCrossingCrash } from '../src/crossing-run.js'
import { type CrossingSystem, startCrossingSystem } from '../src/crossing-system.js'

/** Number of crashes at each boundary; more in a long run. */
const ROUNDS = Number(process.env.CRASH_TEST_ROUNDS ?? 1)
/** Number of pairs of systems that run in parallel: each waits most of the time, for packets to expire. */
const PAIRS = 4
const TIME_LIMIT_MS = 300_000 + ROUNDS * CROSSING_CRASHES.length * 30_000

describe(`after a crash, ${String(ROUNDS)} at each step of a payment to another provider, both agree and no money is lost or made`, () => {
  let fleet: CrashFleet<CrossingCrash, CrossingSystem>
  beforeAll(() => {
    fleet = new CrashFleet(CROSSING_CRASHES, {
      rounds: ROUNDS,
      systems: PAIRS,
      start: () => startCrossingSystem(),
      run: runCrossingCrash
    })
  })
  afterAll(() => fleet.stop(), TIME_LIMIT_MS)

  for (const crash of CROSSING_CRASHES) {
    it(`of the ${crash.name}`, () => fleet.resultOf(crash), TIME_LIMIT_MS)
  }
})
