import { afterAll, describe, expect, it } from '@jest/globals'
import { caseCount, fuzz } from './fuzz.js'
import { CASES, FIRST_SEED, IS_LONG, REPLAY_PATH } from './settings.js'
import type { AnyTarget } from './target.js'

/** Longest that a target may take, in milliseconds, beside what its cases may. */
const TIME_LIMIT_MS = 120_000
const CASE_TIME_LIMIT_MS = 10

/** A test for each target: its cases hold, and enough of them are accepted. A long run tells what came of them. */
export function fuzzTests(what: string, targets: readonly AnyTarget[]): void {
  const report: string[] = []
  describe(what, () => {
    it.each(targets.map((target) => [target.name, target] as const))(
      '%s: nothing breaks, and nothing is slow',
      async (name, target) => {
        const tally = await fuzz(target)
        report.push(`${name}: ${tally.describe()}`)
        if (REPLAY_PATH !== undefined) return
        expect(tally.cases).toBe(caseCount(target))
        expect(tally.accepted).toBeGreaterThanOrEqual(leastAccepted(target.acceptedMin * tally.cases))
      },
      TIME_LIMIT_MS + CASES * CASE_TIME_LIMIT_MS
    )
    afterAll(() => {
      if (IS_LONG) console.log(`From seed ${String(FIRST_SEED)}\n${report.join('\n')}`)
    })
  })
}

/** How many are accepted at least where about so many should be: few cases may be fewer by chance. */
function leastAccepted(expected: number): number {
  return Math.floor(expected - 3 * Math.sqrt(expected))
}
