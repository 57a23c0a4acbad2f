import type { CustomTypesConfig, Pool } from 'pg'

/** A list to read a part of, ordered by `created_at` and `id`, newest first. */
export interface KeysetList {
  /** Name that its prepared statements begin with. */
  readonly name: string
  /** Columns of a row: `created_at` and `id` must be among them under these names. */
  readonly columns: string
  /** Table that the list is ordered by. */
  readonly table: string
  /** What joins others to its rows `p`, one row of each to each of them; empty without. */
  readonly joins: string
  /** Which rows of `p` belong to the list, with parameters from `$1` on. The same text for the same `name`. */
  readonly where: string
  readonly values: readonly unknown[]
  /** Whether each value is wanted as PostgreSQL writes it, rather than parsed. */
  readonly rowsAsText: boolean
}

/** Leaves values as they come. */
const AS_TEXT: CustomTypesConfig = { getTypeParser: () => (text: string) => text }

/** Which part of the list. */
export interface KeysetRange {
  /** `forward`: older than the position; `backward`: newer than it. */
  readonly direction: 'forward' | 'backward'
  /** One row more is read, which tells whether there is more. */
  readonly limit: number
  /** Undefined begins with the newest. */
  readonly position: { readonly createdAtMs: number; readonly id: string } | undefined
}

/** What was found. */
export interface KeysetRows<Row> {
  /** Up to `limit + 1` rows going away from the position: backward, the oldest is first. */
  readonly rows: readonly Row[]
  /** Whether the list has rows at the position or on its other side; false without a position. */
  readonly hasOpposite: boolean
}

/**
 * Reads a part of a list by keyset, never by offset: one statement, whose cost does not grow with the distance from the
 * list's beginning.
 */
export async function queryKeyset<Row extends { readonly id: string }>(
  pool: Pool,
  list: KeysetList,
  range: KeysetRange
): Promise<KeysetRows<Row>> {
  const { position } = range
  const { rows } = await pool.query<(Row | { readonly id: null }) & { readonly opposite: string | null }>({
    name: `${list.name}-${position === undefined ? 'newest' : range.direction}`,
    text: keysetText(list, range),
    values: [
      ...list.values,
      range.limit + 1,
      ...(position === undefined ? [] : [new Date(position.createdAtMs), position.id])
    ],
    ...(list.rowsAsText ? { types: AS_TEXT } : {})
  })
  return {
    // An empty part is one row of nulls beside `opposite`.
    rows: rows.filter((row) => row.id !== null),
    hasOpposite: typeof rows[0]?.opposite === 'string'
  }
}

function keysetText(list: KeysetList, range: KeysetRange): string {
  const limit = list.values.length + 1
  const [beyond, opposite, order, back] =
    range.direction === 'forward' ? ['<', '>=', 'desc', 'asc'] : ['>', '<=', 'asc', 'desc']
  const compare = (operator: string): string =>
    range.position === undefined
      ? ''
      : `and (p.created_at, p.id) ${operator} ($${String(limit + 1)}::timestamptz, $${String(limit + 2)}::uuid)`
  // The nearest one, by the index that the list is in order by. `exists` would let PostgreSQL look for any, and in a wallet
  // with many payments it hopes to find one soon by reading the table from its beginning.
  const nearest = `select 'some' from ${list.table} p where ${list.where} ${compare(opposite)}
    order by p.created_at ${back}, p.id ${back} limit 1`
  const inOrder = `order by p.created_at ${order}, p.id ${order}`
  // What belongs to the rows is looked for once they are found: joined at once, PostgreSQL may read and sort the whole list.
  const part = `select ${list.columns}
        from (select * from ${list.table} p where ${list.where} ${compare(beyond)} ${inOrder} limit $${String(limit)}) p
        ${list.joins}
       ${inOrder}`
  if (range.position === undefined) return part
  return `select part.*, o.opposite
    from (select (${nearest}) as opposite) o
    left join lateral (${part}) part on true
    order by part.created_at ${order}, part.id ${order}`
}
