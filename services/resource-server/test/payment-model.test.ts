import { randomInt } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { moneyCommands } from './support/money-commands.js'
import { type MoneyLane, MoneyServer, startMoneyLane } from './support/money-server.js'
import { type Counted, MoneyWorld, OPERATION_KINDS } from './support/money-world.js'

const { MODEL_TEST_OPERATIONS, MODEL_TEST_SEED, MODEL_TEST_PATH } = process.env

/** Minimum number of operations: sequences that have begun are ended. */
const OPERATIONS = Number(MODEL_TEST_OPERATIONS ?? 1_000)
/** The seed of the first sequences; the others follow from it. A failure is reported with its own seed. */
const FIRST_SEED = Number(MODEL_TEST_SEED ?? randomInt(0x4000_0000))
/** The sequence of the seed that failed, and the commands that were run: only this sequence is then repeated. */
const [PATH, REPLAY_PATH] = MODEL_TEST_PATH?.split(' ') ?? []

/** Number of parallel sequences, each with its own server, database and clock. An even seed's freezes hold payments. */
const LANES = 4
const SEQUENCES_PER_SEED = 4
/** Maximum number of sequences on one server: what its audit reads grows. */
const SEQUENCES_PER_LANE = 40
/** Maximum time for shrinking a failed sequence before it is reported. */
const SHRINKING_MS = 60_000
const TIME_LIMIT_MS = 60_000 + SHRINKING_MS + OPERATIONS * 100

// Every call captures a stack trace in case it fails, and mapping these to sources would take a quarter of the time. A failure
// here is described by its operations instead.
Error.stackTraceLimit = 0

const counts = new Map<Counted, number>(OPERATION_KINDS.map((kind) => [kind, 0]))

function count(what: Counted): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

function countOperations(): number {
  return OPERATION_KINDS.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0)
}

function describeOperations(): string {
  const byKind = [...counts].map(([kind, number]) => `${kind}: ${String(number)}`)
  return `${String(countOperations())} operations from seed ${String(FIRST_SEED)}: ${byKind.join(', ')}`
}

/** Runs the sequences of a seed. Returns how to repeat the smallest that failed, and why it failed. */
async function findFailure(lane: MoneyLane, seed: number): Promise<string | undefined> {
  let triedUntilMs = Infinity
  let first = ''
  const property = fc.asyncProperty(moneyCommands(REPLAY_PATH), async (commands) => {
    // When the time is over, remaining candidates count as passed, and the earlier failure is reported.
    if (Date.now() > triedUntilMs) return
    try {
      const world = new MoneyWorld(await MoneyServer.begin(lane), count)
      await fc.asyncModelRun(() => ({ model: world, real: world }), commands)
      await world.end()
    } catch (error) {
      triedUntilMs = Math.min(triedUntilMs, Date.now() + SHRINKING_MS)
      if (first === '') first = messageOf(error)
      throw error
    }
  })
  const details = await fc.check(property, { seed, numRuns: SEQUENCES_PER_SEED, path: PATH ?? '' })
  if (!details.failed) return undefined
  const replayPath = /replayPath="([^"]*)"/.exec(fc.stringify(details.counterexample))?.[1]
  const path = [details.counterexamplePath, replayPath].join(' ').trim()
  const repeat = `MODEL_TEST_SEED=${String(seed)} MODEL_TEST_PATH='${path}' npm test -- payment-model.test.ts`
  const reason = messageOf(details.errorInstance)
  // A smaller sequence may fail for another reason.
  return `Repeat it with: ${repeat}\n\n${reason}\n\n${fc.defaultReportMessage(details) ?? ''}\n\nFirst it failed with:\n${first}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Runs sequences with even seeds, whose freezes hold payments, or odd ones, on one server after the other, until it is enough. */
async function runLane(firstSeed: number, isEnough: () => boolean): Promise<string | undefined> {
  let seed = firstSeed
  for (;;) {
    const lane = await startMoneyLane({ holdsFrozen: seed % 2 === 0 })
    try {
      while (lane.sequences < SEQUENCES_PER_LANE) {
        const failure = await findFailure(lane, seed)
        if (failure !== undefined || isEnough()) return failure
        seed += LANES
      }
    } finally {
      await lane.stop()
    }
  }
}

describe('money, whatever is done with it in whatever order', () => {
  it(
    `is as the model says, for ${String(OPERATIONS)} operations and more`,
    async () => {
      const failures: string[] = []
      const isEnough = (): boolean =>
        failures.length > 0 || PATH !== undefined || countOperations() >= OPERATIONS
      await Promise.all(
        Array.from({ length: PATH === undefined ? LANES : 1 }, async (_, index) => {
          const failure = await runLane(FIRST_SEED + index, isEnough)
          if (failure !== undefined) failures.push(failure)
        })
      )
      if (failures.length > 0) throw new Error(failures.join('\n\n'))
      if (PATH !== undefined) return
      if (MODEL_TEST_OPERATIONS !== undefined) console.log(describeOperations())
      expect(countOperations()).toBeGreaterThanOrEqual(OPERATIONS)
      expect([...counts].filter(([, number]) => number === 0)).toEqual([])
    },
    TIME_LIMIT_MS
  )
})
