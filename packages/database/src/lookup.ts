import { BATCH_PATIENCE_MS, fulfilled, gather } from '@open-payments-server/runtime'
import type { Pool } from 'pg'

/** Most rows that are looked up together. */
const TOGETHER_MAX = 64
/** How rows are looked up. */
export interface LookupOptions {
  readonly pool: Pool
  /** Name of the prepared statement. */
  readonly name: string
  /** Answers the rows whose ids are in the array `$1`, and with each its `id`. */
  readonly text: string
}

/**
 * Makes what looks rows up by their ids, in the form in which the database writes them. Those that are asked for while a statement is under way share the next one: at
 * a busy service a statement costs more on both sides than the row that it reads.
 *
 * @returns finds a row; undefined when there is none
 */
export function createLookup<Row extends { readonly id: string }>({
  pool,
  name,
  text
}: LookupOptions): (id: string) => Promise<Row | undefined> {
  return gather<string, Row | undefined>({
    itemsMax: TOGETHER_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(ids) {
      const { rows } = await pool.query<Row>({ name, text, values: [ids] })
      const found = new Map(rows.map((row) => [row.id, row]))
      return ids.map((id) => fulfilled(found.get(id)))
    }
  })
}
