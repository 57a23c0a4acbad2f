import { type Rate, RATE_ONE } from '@open-payments-server/value-types/amounts'

/** A rate between assets, by their codes. */
export interface DirectedRate {
  readonly source: string
  readonly target: string
  readonly rate: Rate
}

/** The best way found from one asset to another. */
interface Way {
  /** Asset codes, from the first to the last. */
  readonly codes: readonly string[]
  readonly rate: Rate
}

/**
 * Finds a way round through the assets that ends with more than it began with: whoever goes it makes money of nothing.
 * Exact. Rates are added one after the other, so that each way round is looked for where it is closed: from the rate that
 * is added, over the best ways onward (Bellman and Ford), back to where it began.
 *
 * @param added rates that may close a way round
 * @param known rates among which no way round gains
 * @returns the asset codes of the way, the first one again at its end; undefined when no way round gains
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
  // No best way is longer than all rates together.
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
