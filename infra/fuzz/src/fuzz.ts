import fc from 'fast-check'
import { CASES, FIRST_SEED, REPLAY_PATH, SHARES_IN_ALL } from './settings.js'
import { Tally } from './tally.js'
import type { AnyTarget } from './target.js'
import { attemptInTime } from './time-limit.js'

/** Cases of one seed. */
const BATCH_CASES = 2_000

/** How long a case that failed is made smaller before it is told, in milliseconds. */
const SHRINKING_MS = 20_000

/** How many cases of a target are tried. */
export function caseCount(target: AnyTarget): number {
  return Math.ceil((CASES * target.share) / SHARES_IN_ALL)
}

/**
 * Tries the cases of a target, or the one that is repeated.
 *
 * @returns what came of them
 * @throws Error with the smallest case that failed, why, and how it is repeated
 */
export async function fuzz(target: AnyTarget): Promise<Tally> {
  const tally = new Tally()
  let left = caseCount(target)
  for (let seed = FIRST_SEED; left > 0; seed += 1) {
    const failure = await findFailure(target, { seed, cases: Math.min(left, BATCH_CASES), tally })
    if (failure !== undefined) throw new Error(failure)
    if (REPLAY_PATH !== undefined) break
    left -= BATCH_CASES
  }
  return tally
}

async function findFailure(
  target: AnyTarget,
  { seed, cases, tally }: { seed: number; cases: number; tally: Tally }
): Promise<string | undefined> {
  let triedUntilMs = Infinity
  const property = target.property(async (attack) => {
    // When the time is over, what could be tried yet passes, and what failed before is told.
    if (Date.now() > triedUntilMs) return
    try {
      tally.add(await attemptInTime(attack))
    } catch (error) {
      triedUntilMs = Math.min(triedUntilMs, Date.now() + SHRINKING_MS)
      throw error
    }
  })
  const details = await fc.check(property, { seed, numRuns: cases, path: REPLAY_PATH ?? '' })
  if (!details.failed) return undefined
  const repeat = `FUZZ_TEST_SEED=${String(seed)} FUZZ_TEST_PATH='${details.counterexamplePath}' npm test -- infra/fuzz -t '${target.name}'`
  const reason = details.errorInstance instanceof Error ? (details.errorInstance.stack ?? '') : ''
  return `Repeat it with: ${repeat}\n\n${reason}\n\n${fc.defaultReportMessage(details)}`
}
