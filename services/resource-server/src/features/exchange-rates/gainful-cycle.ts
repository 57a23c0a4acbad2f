import { type Rate, RATE_ONE } from '@open-payments-server/value-types/amounts'

/** A rate between assets, by their codes. */
export interface DirectedRate {
  readonly source: string
  readonly target: string
  readonly rate: Rate
}

/** The best path found from one asset to another. */
interface Way {
  /** Asset codes, from the first to the last. */
  readonly codes: readonly string[]
  readonly rate: Rate
}

/**
 * Finds a cycle of conversions that ends with more than it began with, which would create money. Exact. Rates are added one
 * by one, so each cycle is looked for where it is closed: from the added rate, over the best paths onward (Bellman and
 * Ford), back to its start.
 *
 * @param added rates that may close a cycle
 * @param known rates among which no cycle gains
 * @returns the asset codes of the cycle, ending with the first one again; undefined when no cycle gains
 */
export function findGainfulCycle(
  added: readonly DirectedRate[],
  known: readonly DirectedRate[] = []
): readonly string[] | undefined {
  const checked = [...known]
  for (const rate of added) {
    const cycle = findCycleThrough(rate, checked)
    if (cycle !== undefined) return cycle
    checked.push(rate)
  }
  return undefined
}

function findCycleThrough(
  first: DirectedRate,
  known: readonly DirectedRate[]
): readonly string[] | undefined {
  const best = new Map<string, Way>([
    [first.target, { codes: [first.source, first.target], rate: first.rate }]
  ])
  let isImproved = true
  // No best path is longer than all rates together.
  for (let length = 0; isImproved && length < known.length; length += 1) {
    isImproved = false
    for (const { source, target, rate } of known) {
      const way = best.get(source)
      if (way === undefined) continue
      const onward = { codes: [...way.codes, target], rate: multiply(way.rate, rate) }
      if (target === first.source) {
        if (isGreater(onward.rate, RATE_ONE)) return onward.codes
        continue
      }
      const other = best.get(target)
      if (other !== undefined && !isGreater(onward.rate, other.rate)) continue
      best.set(target, onward)
      isImproved = true
    }
  }
  return undefined
}

function multiply(one: Rate, other: Rate): Rate {
  return {
    numerator: one.numerator * other.numerator,
    denominator: one.denominator * other.denominator
  }
}

function isGreater(one: Rate, other: Rate): boolean {
  return one.numerator * other.denominator > other.numerator * one.denominator
}
