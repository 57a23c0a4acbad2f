import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { CrashFleet } from '../src/crash-fleet.js'
import { CRASHES, type PaymentCrash } from '../src/crash-points.js'
import { runCrash } from '../src/crash-run.js'
import { type CrashSystem, startCrashSystem } from '../src/crash-system.js'
import { crashesOfRun } from '../src/crashes-of-run.js'

const { rounds, crashes } = crashesOfRun(CRASHES)
/** Number of systems that run in parallel. */
const SYSTEMS = 3
const TIME_LIMIT_MS = 300_000 + rounds * crashes.length * 10_000

describe(`after a crash, ${String(rounds)} at each step, nobody was told anything untrue and no money is lost or made`, () => {
  let fleet: CrashFleet<PaymentCrash, CrashSystem>
  beforeAll(() => {
    fleet = new CrashFleet(crashes, {
      rounds,
      systems: SYSTEMS,
      start: () => startCrashSystem(),
      run: runCrash
    })
  })
  afterAll(() => fleet.stop(), TIME_LIMIT_MS)

  for (const crash of crashes) {
    it(`of the ${crash.name}`, () => fleet.resultOf(crash), TIME_LIMIT_MS)
  }
})
