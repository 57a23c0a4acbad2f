import { randomInt } from 'node:crypto'
import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ACCEPTED, type AnyTarget } from './target.js'

const { FUZZ_TEST_CASES, FUZZ_TEST_SEED, FUZZ_TEST_PATH } = process.env
/** Cases of all targets together: by default few enough for every test run. */
const CASES = Number(FUZZ_TEST_CASES ?? 10_000)
/** The seed of each target's first batch, which the others are counted from. A failure is reported with its own. */
export const FIRST_SEED = Number(FUZZ_TEST_SEED ?? randomInt(0x4000_0000))
/** Cases of one seed. */
const BATCH_CASES = 2_000

/** Maximum duration of one case, in milliseconds, without what it waits by itself. */
const CASE_MS_MAX = 50
/** What runs in the background may compute while a case waits, as a share of that time. */
const BACKGROUND_SHARE_MAX = 0.2
/** How often a case that took longer is tried again. */
const REPETITIONS = 10
/** Maximum time for minimising a failed case before it is reported, in milliseconds. */
const SHRINKING_MS = 20_000
/** Maximum duration of a target, in milliseconds. */
const TARGET_MS_MAX = 120_000 + 10 * CASES

/**
 * A test for each target: its cases hold, and enough of them are accepted. A long run reports the results.
 *
 * @param part share of all cases that is tried here, from 0 to 1
 */
export function fuzzTests(what: string, targets: readonly AnyTarget[], part: number): void {
  const sharesInAll = targets.reduce((sum, { share }) => sum + share, 0)
  const report: string[] = []
  const test = async (name: string, target: AnyTarget): Promise<void> => {
    const cases = Math.ceil((CASES * part * target.share) / sharesInAll)
    const results = new Map<string, number>()
    let slowestMs = 0
    await fuzz(target, cases, ({ result, elapsedMs }) => {
      results.set(result, (results.get(result) ?? 0) + 1)
      slowestMs = Math.max(slowestMs, elapsedMs)
    })
    const told = [...results].map(([result, count]) => `${result} ${String(count)}`).join(', ')
    report.push(`${name}: ${String(cases)} cases, the slowest ${slowestMs.toFixed(1)} ms: ${told}`)
    if (FUZZ_TEST_PATH !== undefined) return
    expect([...results.values()].reduce((sum, count) => sum + count)).toBe(cases)
    // With few cases the share may be lower by chance.
    const expected = target.acceptedMin * cases
    expect(results.get(ACCEPTED) ?? 0).toBeGreaterThanOrEqual(Math.floor(expected - 3 * Math.sqrt(expected)))
  }
  describe(what, () => {
    const named = targets.map((target) => [target.name, target] as const)
    it.each(named)('%s: nothing breaks, and nothing is slow', test, TARGET_MS_MAX)
    afterAll(() => {
      if (FUZZ_TEST_CASES !== undefined) console.log(`From seed ${String(FIRST_SEED)}\n${report.join('\n')}`)
    })
  })
}

/** The result of a case, and its duration in milliseconds. */
interface Attempt {
  readonly result: string
  readonly elapsedMs: number
}

/**
 * Tries the cases of a target, or the one that is repeated.
 *
 * @throws Error with the smallest case that failed, why, and how it is repeated
 */
async function fuzz(target: AnyTarget, cases: number, tell: (attempt: Attempt) => void): Promise<void> {
  for (let seed = FIRST_SEED, left = cases; left > 0; seed += 1, left -= BATCH_CASES) {
    let triedUntilMs = Infinity
    const property = target.property(async (attack, waitMs) => {
      // When the time is over, remaining candidates count as passed, and the earlier failure is reported.
      if (Date.now() > triedUntilMs) return
      try {
        tell(await attemptInTime(attack, waitMs))
      } catch (error) {
        triedUntilMs = Math.min(triedUntilMs, Date.now() + SHRINKING_MS)
        throw error
      }
    })
    const numRuns = Math.min(left, BATCH_CASES)
    const details = await fc.check(property, { seed, numRuns, path: FUZZ_TEST_PATH ?? '' })
    if (details.failed) {
      const where = `FUZZ_TEST_SEED=${String(seed)} FUZZ_TEST_PATH='${details.counterexamplePath}'`
      const repeat = `${where} npm test -- infra/prove/fuzz -t '${target.name}'`
      const reason = details.errorInstance instanceof Error ? (details.errorInstance.stack ?? '') : ''
      throw new Error(`Repeat it with: ${repeat}\n\n${reason}\n\n${fc.defaultReportMessage(details)}`)
    }
    if (FUZZ_TEST_PATH !== undefined) return
  }
}

/**
 * Tries a case and measures it. One that took too long is tried again: what is slow by itself is slow every time, what garbage
 * collection held up is not. Then only the time counts that this process computed, because other processes of a busy machine
 * may hold up every attempt.
 *
 * @param waitMs how long the case waits by itself, in milliseconds
 * @throws Error when it took longer than {@link CASE_MS_MAX}, and than what the background may compute while it waits, every time;
 *   whatever the attack throws
 */
async function attemptInTime(attack: () => string | Promise<string>, waitMs: number): Promise<Attempt> {
  const longestMs = CASE_MS_MAX + waitMs * BACKGROUND_SHARE_MAX
  let best = Infinity
  for (let repetition = 0; repetition <= REPETITIONS; repetition += 1) {
    const [startedMs, before] = [performance.now(), process.cpuUsage()]
    const result = await attack()
    const { user, system } = process.cpuUsage(before)
    const elapsedMs = performance.now() - startedMs
    best = Math.min(best, elapsedMs, repetition === 0 ? Infinity : (user + system) / 1_000)
    if (best <= longestMs) return { result, elapsedMs: best }
  }
  throw new Error(`took ${best.toFixed(0)} ms, and longer in ${String(REPETITIONS)} more attempts`)
}
