/** A sentence, if two amounts are not the same. */
export function differs(what: string, found: bigint, due: bigint): readonly string[] {
  return found === due ? [] : [`${what}: ${String(found)} instead of ${String(due)}`]
}

/** The sum of a number of each item. */
export function sum<Item>(items: readonly Item[], valueOf: (item: Item) => bigint): bigint {
  return items.reduce((total, item) => total + valueOf(item), 0n)
}
