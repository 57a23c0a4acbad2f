/** Pause after the first failure; it doubles with each one. */
const INITIAL_MS = 1_000

/** Maximum pause. */
const LONGEST_MS = 300_000

/** Pause after an answer that a retry is unlikely to change. */
export const REFUSED_RETRY_MS = 3_600_000

/**
 * How long to wait after a failed delivery: doubling, and randomly between half and the whole of it, so that deliveries
 * that failed together do not return together.
 *
 * @param attempts number of deliveries tried, at least 1
 */
export function backoffMs(attempts: number, random: () => number = Math.random): number {
  const longest = Math.min(LONGEST_MS, INITIAL_MS * 2 ** Math.min(attempts - 1, 30))
  return (longest / 2) * (1 + random())
}
