import { ModelRun } from '@open-payments-server/testing/model-run'
import { afterAll, beforeAll, describe, it } from '@jest/globals'
import fc from 'fast-check'
import { GrpcFixture } from './support/grpc-fixture.js'
import { beginnings } from './support/limits-choices.js'
import { begin, limitCommands } from './support/limits-commands.js'
import { LimitsServer } from './support/limits-server.js'
import { LimitsWorld, OPERATION_KINDS } from './support/limits-world.js'

const run = new ModelRun({
  file: 'limit-model.test.ts',
  kinds: OPERATION_KINDS,
  operations: 2_000,
  operationMs: 10,
  sequencesPerSeed: 5
})
/** Number of parallel sequences, each with its own server, database and clock. */
const LANES = run.isRepeated ? 1 : 4

let lanes: readonly GrpcFixture[]

beforeAll(async () => {
  lanes = await Promise.all(Array.from({ length: LANES }, () => GrpcFixture.start({ connectionsMax: 8 })))
})
afterAll(() => Promise.all(lanes.map((lane) => lane.stop())))

/** Runs the sequences of a seed. */
function runSeed(lane: GrpcFixture, seed: number): Promise<void> {
  return run.runSeed(seed, (attempt) =>
    fc.asyncProperty(beginnings, limitCommands(run.replayPath), (beginning, commands) =>
      attempt(async () => {
        const server = await LimitsServer.begin(lane, beginning.startMs)
        const world = new LimitsWorld(server, beginning.startMs, (kind, count) => {
          run.count(kind, count)
        })
        await begin(beginning, world)
        await fc.asyncModelRun(() => ({ model: world, real: world }), commands)
        await world.end()
      })
    )
  )
}

describe('the limits, whatever is called in whatever order', () => {
  it(
    `answer and count as the model says, for ${String(run.operations)} operations and more`,
    async () => {
      let nextSeed = run.firstSeed
      await Promise.all(
        lanes.map(async (lane) => {
          do await runSeed(lane, nextSeed++)
          while (!run.isEnough)
        })
      )
      run.end()
    },
    run.timeLimitMs
  )
})
