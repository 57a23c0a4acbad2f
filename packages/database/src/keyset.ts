import type { Sql } from '@prisma/client/runtime/client'
import { empty, sqltag as sql } from '@prisma/client/runtime/client'
import { instantText } from './instant.js'
import type { RawQueries } from './raw-queries.js'
import { placeholder, Statement, type StatementValues } from './statement.js'

/** A list to read in parts, ordered by `created_at` and `id`, newest first. */
export interface KeysetList {
  /** Prefix of the names of its statements. */
  readonly name: string
  /** Columns of a row; must include `created_at` and `id` under these names. */
  readonly columns: Sql
  /** Table by which the list is ordered. */
  readonly table: Sql
  /** Joins other tables to its rows `p`, one row each; empty without. */
  readonly joins: Sql
  /** Condition for the rows of `p` that belong to the list; its values are placeholders. */
  readonly where: Sql
}

/** The requested part of the list. */
export interface KeysetRange {
  /** `forward`: older than the position; `backward`: newer than it. */
  readonly direction: 'forward' | 'backward'
  /** One row more is read, which shows whether there is more. */
  readonly limit: number
  /** Undefined starts with the newest. */
  readonly position: { readonly createdAtMs: number; readonly id: string } | undefined
}

/** The rows found. */
export interface KeysetRows<Row> {
  /** Up to `limit + 1` rows going away from the position: backward, the oldest is first. */
  readonly rows: readonly Row[]
  /** Whether the list has rows at the position or on its other side; false without a position. */
  readonly hasOpposite: boolean
}

/** Reads a part of a list, whose placeholders have these values. */
export type ReadKeyset<Row> = (values: StatementValues, range: KeysetRange) => Promise<KeysetRows<Row>>

/**
 * Creates a reader of parts of a list by keyset, never by offset: one statement, whose cost does not grow with the distance
 * from the list's beginning.
 */
export function createKeyset<Row extends { readonly id: string }>(
  on: RawQueries,
  list: KeysetList
): ReadKeyset<Row> {
  type Found = (Row | { readonly id: null }) & { readonly opposite?: string | null }
  const statement = (part: string, text: Sql): Statement<Found> => new Statement(`${list.name}-${part}`, text)
  const newest = statement('newest', partOf(list, 'forward', empty))
  const beyond = {
    forward: statement('forward', withOpposite(list, 'forward')),
    backward: statement('backward', withOpposite(list, 'backward'))
  }
  return async (values, { direction, limit, position }) => {
    const count = { ...values, limit: limit + 1 }
    const rows = await (position === undefined
      ? newest.rows(on, count)
      : beyond[direction].rows(on, {
          ...count,
          createdAt: instantText(position.createdAtMs),
          id: position.id
        }))
    return {
      // An empty part is one row of nulls beside `opposite`.
      rows: rows.filter((row): row is Row & Found => row.id !== null),
      hasOpposite: typeof rows[0]?.opposite === 'string'
    }
  }
}

const ASCENDING = sql`asc`
const DESCENDING = sql`desc`
const OPERATORS = {
  forward: { beyond: sql`<`, opposite: sql`>=`, order: DESCENDING, back: ASCENDING },
  backward: { beyond: sql`>`, opposite: sql`<=`, order: ASCENDING, back: DESCENDING }
}

function compare(operator: Sql): Sql {
  return sql`and (p.created_at, p.id) ${operator} (${placeholder('createdAt')}::timestamptz, ${placeholder('id')}::uuid)`
}

/** Related rows are joined only after the page is found: otherwise PostgreSQL may read and sort the whole list. */
function partOf(list: KeysetList, direction: KeysetRange['direction'], beyond: Sql): Sql {
  const { order } = OPERATORS[direction]
  const inOrder = sql`order by p.created_at ${order}, p.id ${order}`
  return sql`select ${list.columns}
        from (select * from ${list.table} p where ${list.where} ${beyond} ${inOrder} limit ${placeholder('limit')}::integer) p
        ${list.joins}
       ${inOrder}`
}

function withOpposite(list: KeysetList, direction: KeysetRange['direction']): Sql {
  const { beyond, opposite, order, back } = OPERATORS[direction]
  // The nearest one, by the index that orders the list. With `exists`, PostgreSQL may look for any: in a wallet with many
  // payments it expects to find one soon by reading the table from its beginning.
  const nearest = sql`select 'some' from ${list.table} p where ${list.where} ${compare(opposite)}
    order by p.created_at ${back}, p.id ${back} limit 1`
  return sql`select part.*, o.opposite
    from (select (${nearest}) as opposite) o
    left join lateral (${partOf(list, direction, compare(beyond))}) part on true
    order by part.created_at ${order}, part.id ${order}`
}
