import { BATCH_PATIENCE_MS, fulfilled, gather } from '@open-payments-server/runtime'
import { isTransient } from './errors.js'

/** Maximum number of items that one statement writes. */
const TOGETHER_MAX = 64
/**
 * Creates a writer of items: those that arrive while a statement is running share the next one, and its commit. An item
 * that the database refuses does not affect the others: then each is written alone.
 *
 * @param write writes some items with one statement, all or none, and returns the result of each, in order
 * @returns writes one item
 */
export function writeTogether<Item, Result>(
  write: (items: readonly Item[]) => Promise<readonly Result[]>
): (item: Item) => Promise<Result> {
  const writeOne = async (item: Item): Promise<Result> => {
    const [result] = await write([item])
    return result as Result // one for each item
  }
  return gather({
    itemsMax: TOGETHER_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(items) {
      try {
        return (await write(items)).map(fulfilled)
      } catch (error) {
        if (items.length === 1 || isTransient(error)) throw error
        return Promise.allSettled(items.map(writeOne))
      }
    }
  })
}
