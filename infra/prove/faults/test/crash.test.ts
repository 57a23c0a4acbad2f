import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { CrashFleet } from '../src/crash-fleet.js'
import { CRASHES, type PaymentCrash } from '../src/crash-points.js'
import { runCrash } from '../src/crash-run.js'
import { type CrashSystem, startCrashSystem } from '../src/crash-system.js'

/** Number of crashes at each boundary; more in a long run. */
const ROUNDS = Number(process.env.CRASH_TEST_ROUNDS ?? 1)
/** Number of systems that run in parallel. */
const SYSTEMS = 4
const TIME_LIMIT_MS = 300_000 + ROUNDS * CRASHES.length * 10_000

describe(`after a crash, ${String(ROUNDS)} at each step, nobody was told anything untrue and no money is lost or made`, () => {
  let fleet: CrashFleet<PaymentCrash, CrashSystem>
  beforeAll(() => {
    fleet = new CrashFleet(CRASHES, {
      rounds: ROUNDS,
      systems: SYSTEMS,
      start: startCrashSystem,
      run: runCrash
    })
  })
  afterAll(() => fleet.stop(), TIME_LIMIT_MS)

  for (const crash of CRASHES) {
    it(`of the ${crash.name}`, () => fleet.resultOf(crash), TIME_LIMIT_MS)
  }
})
