import { BATCH_PATIENCE_MS, fulfilled, gather } from '@open-payments-server/runtime'

/** Most rows that are looked up together. */
const TOGETHER_MAX = 64

/**
 * Makes what looks rows up by their ids. Those that are asked for while a statement is under way share the next one: at a busy
 * service a statement costs more on both sides than the row that it reads.
 *
 * @param read answers the rows of some ids, each with its `id` in the form in which it was asked for
 * @returns finds a row; undefined when there is none
 */
export function createLookup<Row extends { readonly id: string }>(
  read: (ids: readonly string[]) => Promise<readonly Row[]>
): (id: string) => Promise<Row | undefined> {
  return gather<string, Row | undefined>({
    itemsMax: TOGETHER_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(ids) {
      const found = new Map((await read(ids)).map((row) => [row.id, row]))
      return ids.map((id) => fulfilled(found.get(id)))
    }
  })
}
