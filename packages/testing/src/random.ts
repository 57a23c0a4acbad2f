/** A sequence of numbers from 0 up to 1, reproducible by its seed. */
export type RandomSequence = () => number

/** A small generator (mulberry32): good enough for test plans, and the same on every machine. */
export function randomSequence(seed: number): RandomSequence {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A whole number from `least` to `most`. */
export function wholeNumber(random: RandomSequence, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1))
}

/** One of several items, chosen by weight. */
export function weighted<Item extends string>(
  random: RandomSequence,
  weights: Readonly<Record<Item, number>>
): Item {
  const items = Object.entries<number>(weights) as [Item, number][]
  let left = random() * items.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [item, weight] of items) {
    left -= weight
    if (left < 0) return item
  }
  throw new Error('the weights have no sum')
}

/** The seed of a test: from the environment, to repeat a run. Prints it. */
export function seedOf(variable: string): number {
  const seed = Number(process.env[variable] ?? Math.floor(Math.random() * 2 ** 32))
  console.log(`${variable}=${String(seed)}`)
  return seed
}
