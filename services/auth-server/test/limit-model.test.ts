import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { GrpcFixture } from './support/grpc-fixture.js'
import { beginnings } from './support/limits-choices.js'
import { begin, limitCommands } from './support/limits-commands.js'
import { LimitsServer } from './support/limits-server.js'
import { LimitsWorld, OPERATION_KINDS, type OperationKind } from './support/limits-world.js'

const { MODEL_TEST_OPERATIONS, MODEL_TEST_SEED, MODEL_TEST_PATH } = process.env

/** At least so many operations are made. */
const OPERATIONS = Number(MODEL_TEST_OPERATIONS ?? 2_000)
/** The seed of the first sequences, which the others are counted from. A failure is told with its own. */
const FIRST_SEED = Number(MODEL_TEST_SEED ?? randomInt(0x4000_0000))
/** Which sequence of the seed failed, and which of its commands were run: then only that one is repeated. */
const [PATH, REPLAY_PATH] = MODEL_TEST_PATH?.split(' ') ?? []

/** Sequences that run at once, each with a server, a database and a clock of its own. */
const LANES = PATH === undefined ? 4 : 1
const SEQUENCES_PER_SEED = 5
/** How long a sequence that failed is made smaller before it is told. */
const SHRINKING_MS = 60_000
const TIME_LIMIT_MS = 60_000 + SHRINKING_MS + OPERATIONS * 10

// Every call keeps a stack in case it fails, and mapping stacks to sources would take a quarter of the time. What fails here
// is told by its story.
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

/** Runs the sequences of a seed. Answers how the smallest that failed is repeated, and why it failed. */
async function findFailure(lane: GrpcFixture, seed: number): Promise<string | undefined> {
  let triedUntilMs = Infinity
  const property = fc.asyncProperty(beginnings, limitCommands(REPLAY_PATH), async (beginning, commands) => {
    // When the time is over, what could be tried yet passes, and what failed before is told.
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
