import { BATCH_PATIENCE_MS, fulfilled, gather } from '@open-payments-server/runtime'

/** Maximum number of rows that are looked up together. */
const TOGETHER_MAX = 64

/**
 * Creates a lookup of rows by their ids. Lookups that arrive while a statement is running share the next one: on a busy
 * service a statement costs both sides more than the row that it reads.
 *
 * @param read returns the rows of some ids, each with its `id` in the form in which it was requested
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
