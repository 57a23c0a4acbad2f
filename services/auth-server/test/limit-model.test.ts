import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { GrpcFixture } from './support/grpc-fixture.js'
import { beginnings } from './support/limits-choices.js'
import { begin, limitCommands } from './support/limits-commands.js'
import { LimitsServer } from './support/limits-server.js'
import { LimitsWorld, OPERATION_KINDS, type OperationKind } from './support/limits-world.js'

const { MODEL_TEST_OPERATIONS, MODEL_TEST_SEED, MODEL_TEST_PATH } = process.env

/** Minimum number of operations. */
const OPERATIONS = Number(MODEL_TEST_OPERATIONS ?? 2_000)
/** The seed of the first sequences; the others follow from it. A failure is reported with its own seed. */
const FIRST_SEED = Number(MODEL_TEST_SEED ?? randomInt(0x4000_0000))
/** The sequence of the seed that failed, and the commands that were run: only this sequence is then repeated. */
const [PATH, REPLAY_PATH] = MODEL_TEST_PATH?.split(' ') ?? []

/** Number of parallel sequences, each with its own server, database and clock. */
const LANES = PATH === undefined ? 4 : 1
const SEQUENCES_PER_SEED = 5
/** Maximum time for shrinking a failed sequence before it is reported. */
const SHRINKING_MS = 60_000
const TIME_LIMIT_MS = 60_000 + SHRINKING_MS + OPERATIONS * 10

// Every call captures a stack trace in case it fails, and mapping these to sources would take a quarter of the time. A failure
// here is described by its operations instead.
Error.stackTraceLimit = 0

let lanes: readonly GrpcFixture[]
const counts = new Map<OperationKind, number>(OPERATION_KINDS.map((kind) => [kind, 0]))

beforeAll(async () => {
  lanes = await Promise.all(Array.from({ length: LANES }, () => GrpcFixture.start({ connectionsMax: 8 })))
})
afterAll(() => Promise.all(lanes.map((lane) => lane.stop())))

function countOperations(): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

function describeOperations(): string {
  const byKind = [...counts].map(([kind, count]) => `${kind}: ${String(count)}`)
  return `${String(countOperations())} operations from seed ${String(FIRST_SEED)}: ${byKind.join(', ')}`
}

/** Runs the sequences of a seed. Returns how to repeat the smallest that failed, and why it failed. */
async function findFailure(lane: GrpcFixture, seed: number): Promise<string | undefined> {
  let triedUntilMs = Infinity
  const property = fc.asyncProperty(beginnings, limitCommands(REPLAY_PATH), async (beginning, commands) => {
    // When the time is over, remaining candidates count as passed, and the earlier failure is reported.
    if (Date.now() > triedUntilMs) return
    try {
      const server = await LimitsServer.begin(lane, beginning.startMs)
      const world = new LimitsWorld(server, beginning.startMs, (kind, count) =>
        counts.set(kind, (counts.get(kind) ?? 0) + count)
      )
      await begin(beginning, world)
      await fc.asyncModelRun(() => ({ model: world, real: world }), commands)
      await world.end()
    } catch (error) {
      triedUntilMs = Math.min(triedUntilMs, Date.now() + SHRINKING_MS)
      throw error
    }
  })
  const details = await fc.check(property, { seed, numRuns: SEQUENCES_PER_SEED, path: PATH ?? '' })
  if (!details.failed) return undefined
  const replayPath = /replayPath="([^"]*)"/.exec(fc.stringify(details.counterexample))?.[1]
  const path = [details.counterexamplePath, replayPath].join(' ').trim()
  const repeat = `MODEL_TEST_SEED=${String(seed)} MODEL_TEST_PATH='${path}' npm test -- limit-model.test.ts`
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : ''
  return `Repeat it with: ${repeat}\n\n${reason}\n\n${fc.defaultReportMessage(details) ?? ''}`
}

describe('the limits, whatever is called in whatever order', () => {
  it(
    `answer and count as the model says, for ${String(OPERATIONS)} operations and more`,
    async () => {
      const failures: string[] = []
      let nextSeed = FIRST_SEED
      const isEnough = (): boolean =>
        failures.length > 0 || PATH !== undefined || countOperations() >= OPERATIONS
      await Promise.all(
        lanes.map(async (lane) => {
          do {
            const failure = await findFailure(lane, nextSeed++)
            if (failure !== undefined) failures.push(failure)
          } while (!isEnough())
        })
      )
      if (failures.length > 0) throw new Error(failures.join('\n\n'))
      if (PATH !== undefined) return
      if (MODEL_TEST_OPERATIONS !== undefined) console.log(describeOperations())
      expect(countOperations()).toBeGreaterThanOrEqual(OPERATIONS)
      expect([...counts].filter(([, count]) => count === 0)).toEqual([])
    },
    TIME_LIMIT_MS
  )
})
