/** Pause after the first failure; it doubles with every further one. */
const INITIAL_MS = 1_000

/** Longest pause. */
const LONGEST_MS = 300_000

/** Pause after an answer that no repetition is likely to change. */
export const REFUSED_RETRY_MS = 3_600_000

/**
 * How long to wait after a delivery failed: doubling, and between half and the whole of it at random, so that what failed
 * together does not return together.
 *
 * @param attempts how many deliveries were tried, at least 1
 */
export function backoffMs(attempts: number, random: () => number = Math.random): number {
  const longest = Math.min(LONGEST_MS, INITIAL_MS * 2 ** Math.min(attempts - 1, 30))
  return (longest / 2) * (1 + random())
}
