import { type Context, context } from '@opentelemetry/api'

/** The result of one item of a batch: its value, or its own error. In the shape of `Promise.allSettled`. */
export type ItemResult<Result> = PromiseSettledResult<Result>

/**
 * How long others wait for a batch that is one statement or call, in milliseconds: far longer than one takes, and short of
 * what a client would notice.
 */
export const BATCH_PATIENCE_MS = 50

/** Options of batching. */
export interface GatheringOptions<Item, Result> {
  /**
   * Processes some items together, and returns the result of each, in order. If it throws, each of them fails. It must end:
   * items that arrive meanwhile wait for it.
   */
  readonly runBatch: (items: readonly Item[]) => Promise<readonly ItemResult<Result>[]>
  /** Maximum number of items of one batch, at least 1. */
  readonly itemsMax: number
  /**
   * What an item works on, such as the row that it locks: items with the same key are never in two batches at a time, which
   * would only wait for each other, however long it takes. No keys unless given.
   */
  readonly keyOf?: (item: Item) => string
  /**
   * How long others wait for a batch, in milliseconds: one that takes longer no longer counts as running, so that a call
   * that hangs blocks only its own items. No limit unless given.
   */
  readonly patienceMs?: number
}

/** An item that waits for its batch. */
interface Waiting<Item, Result> {
  readonly item: Item
  readonly context: Context
  readonly resolve: (value: Result) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Processes items in batches, as a database groups commits. Items that arrive while nothing is running go at the end of
 * the event loop's turn, with all others that arrived in it. Items that arrive meanwhile go together when a batch ends, first
 * come, first served. So no item waits for a batch to fill, and the higher the load, the less each item costs.
 *
 * Each caller continues in its own trace. A batch runs in the trace of its first item.
 *
 * @returns processes one item: resolves to its value; rejects with its own error, or with that of its whole batch
 */
export function gather<Item, Result>({
  runBatch,
  itemsMax,
  keyOf,
  patienceMs
}: GatheringOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  const busyKeys = new Set<string>()
  let running = false

  /** The end of the event loop's turn begins it: otherwise the first of many requests that were read together would go alone. */
  const startBatch = oncePerTurn(() => {
    if (running) return
    const batch = takeBatch()
    const [first] = batch
    if (first === undefined) return
    running = true
    void context.with(first.context, () => run(batch))
  })

  /** The first waiting items whose keys are not being processed. */
  const takeBatch = (): readonly Waiting<Item, Result>[] => {
    if (keyOf === undefined) return waiting.splice(0, itemsMax)
    const batch: Waiting<Item, Result>[] = []
    const others: Waiting<Item, Result>[] = []
    for (const one of waiting) {
      const free = batch.length < itemsMax && !busyKeys.has(keyOf(one.item))
      ;(free ? batch : others).push(one)
    }
    waiting = others
    for (const { item } of batch) busyKeys.add(keyOf(item))
    return batch
  }

  /** Never rejects: each item gets its result. */
  const run = async (batch: readonly Waiting<Item, Result>[]): Promise<void> => {
    let awaited = true
    const letOthersGo = (): void => {
      if (awaited) running = false
      awaited = false
      if (waiting.length > 0) startBatch()
    }
    const impatience = patienceMs === undefined ? undefined : setTimeout(letOthersGo, patienceMs)
    try {
      const results = await runBatch(batch.map(({ item }) => item))
      batch.forEach((one, index) => {
        settle(one, results[index])
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      clearTimeout(impatience)
      if (keyOf !== undefined) for (const { item } of batch) busyKeys.delete(keyOf(item))
      letOthersGo()
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, context: context.active(), resolve, reject })
      startBatch()
    })
}

/** Runs something at the end of the event loop's turn, once, however often it is requested. */
function oncePerTurn(action: () => void): () => void {
  let asked = false
  return () => {
    if (asked) return
    asked = true
    setImmediate(() => {
      asked = false
      action()
    })
  }
}

function settle<Result>(
  { resolve, reject }: Pick<Waiting<unknown, Result>, 'resolve' | 'reject'>,
  result: ItemResult<Result> | undefined
): void {
  if (result === undefined) reject(new Error('a batch did not say what became of one of its items'))
  else if (result.status === 'fulfilled') resolve(result.value)
  else reject(result.reason)
}

/** The result of an item that succeeded. */
export function fulfilled<Result>(value: Result): ItemResult<Result> {
  return { status: 'fulfilled', value }
}

/** The result of an item that failed alone. */
export function rejected(reason: unknown): PromiseRejectedResult {
  return { status: 'rejected', reason }
}
