import { ModelRun } from '@open-payments-server/testing/model-run'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { moneyCommands } from './support/money-commands.js'
import { type MoneyLane, MoneyServer, startMoneyLane } from './support/money-server.js'
import { type Counted, MoneyWorld, OPERATION_KINDS } from './support/money-world.js'

const run = new ModelRun<(typeof OPERATION_KINDS)[number], Counted>({
  file: 'payment-model.test.ts',
  kinds: OPERATION_KINDS,
  operations: 1_000,
  operationMs: 500,
  sequencesPerSeed: 2
})
/** Number of parallel sequences, each with its own server, database and clock. An even seed's freezes hold payments. */
const LANES = 4
/** Maximum number of sequences on one server: what its audit reads grows. */
const SEQUENCES_PER_LANE = 40

/** Runs the sequences of a seed. */
function runSeed(lane: MoneyLane, seed: number): Promise<void> {
  return run.runSeed(seed, (attempt) =>
    fc.asyncProperty(moneyCommands(run.replayPath), (commands) =>
      attempt(async () => {
        const world = new MoneyWorld(await MoneyServer.begin(lane), (what) => {
          run.count(what)
        })
        await fc.asyncModelRun(() => ({ model: world, real: world }), commands)
        await world.end()
      })
    )
  )
}

/** Runs sequences with even seeds, whose freezes hold payments, or odd ones, on one server after the other, until it is enough. */
async function runLane(firstSeed: number): Promise<void> {
  let seed = firstSeed
  do {
    const lane = await startMoneyLane({ holdsFrozen: seed % 2 === 0 })
    try {
      do {
        await runSeed(lane, seed)
        seed += LANES
      } while (lane.sequences < SEQUENCES_PER_LANE && !run.isEnough)
    } finally {
      await lane.stop()
    }
  } while (!run.isEnough)
}

describe('money, whatever is done with it in whatever order', () => {
  it(
    `is as the model says, for ${String(run.operations)} operations and more`,
    async () => {
      const lanes = Array.from({ length: run.isRepeated ? 1 : LANES }, (_, index) =>
        runLane(run.firstSeed + index)
      )
      await Promise.all(lanes)
      run.end()
    },
    run.timeLimitMs
  )
})
