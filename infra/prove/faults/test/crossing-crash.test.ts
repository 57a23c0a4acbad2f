import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { CrashFleet } from '../src/crash-fleet.js'
import { crashesOfRun } from '../src/crashes-of-run.js'
import { CROSSING_CRASHES, type CrossingCrash } from '../src/crossing-points.js'
import { runCrossingCrash } from '../src/crossing-run.js'
import { type CrossingSystem, startCrossingSystem } from '../src/crossing-system.js'

const { rounds, crashes } = crashesOfRun(CROSSING_CRASHES)
/** Number of pairs of systems that run in parallel: each waits most of the time, for packets to expire. */
const PAIRS = 3
const TIME_LIMIT_MS = 300_000 + rounds * crashes.length * 30_000

describe(`after a crash, ${String(rounds)} at each step of a payment to another provider, both agree and no money is lost or made`, () => {
  let fleet: CrashFleet<CrossingCrash, CrossingSystem>
  beforeAll(() => {
    fleet = new CrashFleet(crashes, {
      rounds,
      systems: PAIRS,
      start: () => startCrossingSystem(),
      run: runCrossingCrash
    })
  })
  afterAll(() => fleet.stop(), TIME_LIMIT_MS)

  for (const crash of crashes) {
    it(`of the ${crash.name}`, () => fleet.resultOf(crash), TIME_LIMIT_MS)
  }
})
