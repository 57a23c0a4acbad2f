import { type Rate, RATE_ONE } from '@open-payments-server/amounts'

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
 * Exact, with the best way between any two assets over ever more others (Floyd and Warshall).
 *
 * @returns the asset codes of the way, the first one again at its end; undefined when no way round gains
 */
export function findGainfulCycle(rates: readonly DirectedRate[]): readonly string[] | undefined {
  const codes = [...new Set(rates.flatMap(({ source, target }) => [source, target]))]
  const ways = new Map(codes.map((code) => [code, new Map<string, Way>()]))
  for (const { source, target, rate } of rates)
    ways.get(source)?.set(target, { codes: [source, target], rate })
  for (const over of codes) {
    const onwards = [...(ways.get(over) ?? [])]
    for (const [from, reached] of ways) {
      const first = reached.get(over)
      if (first === undefined || from === over) continue
      for (const [to, second] of onwards) {
        const rate = multiply(first.rate, second.rate)
        const way = { codes: [...first.codes, ...second.codes.slice(1)], rate }
        if (from === to && isGreater(rate, RATE_ONE)) return way.codes
        const best = reached.get(to)
        if (from !== to && (best === undefined || isGreater(rate, best.rate))) reached.set(to, way)
      }
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
