import { randomInt } from 'node:crypto'
import { inspect, isDeepStrictEqual } from 'node:util'
import { expect } from '@jest/globals'
import fc from 'fast-check'

/** Maximum time for shrinking a failed sequence before it is reported, in milliseconds. */
const SHRINKING_MS = 60_000
/** Time for what is not an operation, in milliseconds. */
const OTHER_MS = 60_000

/** What a test of a model runs. */
export interface ModelRunOptions<Kind extends string> {
  /** Name of the test file, by which a failure is repeated. */
  readonly file: string
  /** Kinds of operations: each must happen. */
  readonly kinds: readonly Kind[]
  /** Minimum number of operations, unless `MODEL_TEST_OPERATIONS` says another. */
  readonly operations: number
  /** Maximum average duration of an operation, in milliseconds. */
  readonly operationMs: number
  readonly sequencesPerSeed: number
}

/** Sequences of random operations that are run against a model, until they are enough or one has failed. */
export class ModelRun<Kind extends string, Counted extends string = Kind> {
  /** Minimum number of operations: sequences that have begun are ended, and more are run until each kind has happened. */
  readonly operations: number
  /** The seed of the first sequences (`MODEL_TEST_SEED`); the others follow from it. A failure is reported with its own seed. */
  readonly firstSeed: number
  /** The commands that are run, where only one sequence is repeated. */
  readonly replayPath: string | undefined
  readonly timeLimitMs: number
  readonly #options: ModelRunOptions<Kind>
  readonly #isLong: boolean
  /** The sequence of the seed that failed (`MODEL_TEST_PATH`): only this one is then repeated. */
  readonly #path: string | undefined
  readonly #counts: Map<Kind | Counted, number>
  readonly #failures: string[] = []

  constructor(options: ModelRunOptions<Kind>) {
    const { MODEL_TEST_OPERATIONS, MODEL_TEST_SEED, MODEL_TEST_PATH } = process.env
    this.#options = options
    this.#isLong = MODEL_TEST_OPERATIONS !== undefined
    this.operations = Number(MODEL_TEST_OPERATIONS ?? options.operations)
    this.firstSeed = Number(MODEL_TEST_SEED ?? randomInt(0x4000_0000))
    ;[this.#path, this.replayPath] = MODEL_TEST_PATH?.split(' ') ?? []
    this.timeLimitMs = OTHER_MS + SHRINKING_MS + this.operations * options.operationMs
    this.#counts = new Map(options.kinds.map((kind) => [kind, 0]))
    // Every call captures a stack trace in case it fails, and mapping these to sources would take a quarter of the time. A
    // failure here is described by its operations instead.
    Error.stackTraceLimit = 0
  }

  /** Whether only the sequence that failed is repeated. */
  get isRepeated(): boolean {
    return this.#path !== undefined
  }

  /** Whether no further sequence is to be run. */
  get isEnough(): boolean {
    if (this.#failures.length > 0 || this.isRepeated) return true
    const haveAllHappened = this.#options.kinds.every((kind) => this.#counts.get(kind) !== 0)
    return haveAllHappened && this.#countOperations() >= this.operations
  }

  /** Counts what happened. */
  count(what: Kind | Counted, number = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + number)
  }

  /**
   * Runs the sequences of a seed. Of those that fail, the smallest is reported at the end, with how to repeat it.
   *
   * @param propertyOf makes the property of a sequence, which it runs within `attempt`
   */
  async runSeed<Values>(
    seed: number,
    propertyOf: (attempt: (work: () => Promise<void>) => Promise<void>) => fc.IAsyncProperty<Values>
  ): Promise<void> {
    let triedUntilMs = Infinity
    let first = ''
    const property = propertyOf(async (work) => {
      // When the time is over, remaining candidates count as passed, and the earlier failure is reported.
      if (Date.now() > triedUntilMs) return
      if (this.isRepeated) triedUntilMs = -Infinity
      try {
        await work()
      } catch (error) {
        triedUntilMs = Math.min(triedUntilMs, Date.now() + SHRINKING_MS)
        if (first === '') first = messageOf(error)
        throw error
      }
    })
    const { sequencesPerSeed: numRuns, file } = this.#options
    // Of what is repeated, it was recorded which operations were done: that says nothing of anything smaller.
    const endOnFailure = this.isRepeated
    const details = await fc.check(property, { seed, numRuns, path: this.#path ?? '', endOnFailure })
    if (!details.failed) return
    const replayPath = /replayPath="([^"]*)"/.exec(fc.stringify(details.counterexample))?.[1]
    const path = [details.counterexamplePath, replayPath].join(' ').trim()
    this.#failures.push(
      [
        `Repeat it with: MODEL_TEST_SEED=${String(seed)} MODEL_TEST_PATH='${path}' npm test -- ${file}`,
        messageOf(details.errorInstance),
        fc.defaultReportMessage(details) ?? '',
        // A smaller sequence may fail for another reason.
        `First it failed with:\n${first}`
      ].join('\n\n')
    )
  }

  /** @throws Error for sequences that failed, or when something never happened */
  end(): void {
    if (this.#failures.length > 0) throw new Error(this.#failures.join('\n\n'))
    if (this.isRepeated) return
    if (this.#isLong) console.log(this.#describe())
    expect(this.#countOperations()).toBeGreaterThanOrEqual(this.operations)
    expect([...this.#counts].filter(([, number]) => number === 0)).toEqual([])
  }

  #countOperations(): number {
    return this.#options.kinds.reduce((sum, kind) => sum + (this.#counts.get(kind) ?? 0), 0)
  }

  #describe(): string {
    const byKind = [...this.#counts].map(([kind, number]) => `${kind}: ${String(number)}`)
    return `${String(this.#countOperations())} operations from seed ${String(this.firstSeed)}: ${byKind.join(', ')}`
  }
}

/** What was done in a sequence, for whoever reads why it failed. */
export class Story {
  readonly #lines: (readonly unknown[])[] = []

  /** Adds a line. */
  tell(...parts: readonly unknown[]): void {
    this.#lines.push(parts)
  }

  /** Adds the story to an error of the work. */
  async within<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      const lines = this.#lines.map((parts) => parts.map(inShort).join(' '))
      throw new Error([messageOf(error), '', 'What was done:', ...lines].join('\n'), { cause: error })
    }
  }
}

/** Like jest's own comparison, which is slow and used only to report a difference. */
export function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A part of a line. */
function inShort(part: unknown): string {
  return typeof part === 'string'
    ? part
    : inspect(part, { depth: Infinity, breakLength: Infinity, compact: true })
}
