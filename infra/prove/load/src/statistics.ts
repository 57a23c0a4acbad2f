/** Summary of a measurement's latencies, in milliseconds. */
export interface LatencySummary {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/**
 * The smallest value that a share of all values does not exceed (nearest rank).
 *
 * @param sorted ascending
 * @param share above 0, at most 1
 * @returns NaN without values
 */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Summarises latencies in milliseconds, in any order. */
export function summariseLatencies(latenciesMs: Float64Array): LatencySummary {
  const sorted = latenciesMs.toSorted()
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99), maxMs: percentile(sorted, 1) }
}

/**
 * The item with the median value; of two, the higher.
 *
 * @throws Error without items
 */
export function middleBy<Item>(items: readonly Item[], valueOf: (item: Item) => number): Item {
  const sorted = items.toSorted((one, other) => valueOf(one) - valueOf(other))
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('there is no middle of nothing')
  return middle
}

/**
 * A call's throughput as a share of its floor's: divided by the mean of the floor's right before and right after it, because the
 * speed of a shared machine changes from one minute to the next.
 */
export function shareOfFloor(perSecond: number, floorsPerSecond: readonly number[]): number {
  return perSecond / (floorsPerSecond.reduce((sum, floor) => sum + floor, 0) / floorsPerSecond.length)
}
