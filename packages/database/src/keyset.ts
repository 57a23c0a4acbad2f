import { BATCH_PATIENCE_MS, fulfilled, gather, rejected } from '@open-payments-server/runtime'
import { empty, join, raw, sqltag as sql, type Sql } from '@prisma/client/runtime/client'
import { instantText } from './instant.js'
import type { RawQueries } from './raw-queries.js'
import { placeholder, readInstants, Statement } from './statement.js'

/** Lists to read in parts, each ordered by `created_at` and `id`, newest first. */
export interface KeysetList<Owner extends Readonly<Record<string, string>>> {
  /** Prefix of the names of its statements. */
  readonly name: string
  /** Columns of a row; must include `created_at` and `id` under these names. */
  readonly columns: Sql
  /** Table by which the list is ordered. */
  readonly table: Sql
  /** Joins other tables to its rows `p`, one row each; none unless given. */
  readonly joins?: Sql
  /** Columns of the table that say whose list it is, each with its type in PostgreSQL. An index begins with them. */
  readonly owner: Owner
}

/** The requested part of a list. */
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

/** Reads a part of the list whose owner has these values. */
export type ReadKeyset<Row, Owner> = (
  owner: Readonly<Record<keyof Owner, string>>,
  range: KeysetRange
) => Promise<KeysetRows<Row>>

/** Maximum number of parts that are read together: a part may have a hundred rows, and a row 16 KB of metadata. */
const TOGETHER_MAX = 8

/**
 * Creates a reader of parts of lists by keyset, never by offset: the cost does not grow with the distance from a list's
 * beginning. Parts that are requested while a statement is running share the next one.
 */
export function createKeyset<Row, Owner extends Readonly<Record<string, string>>>(
  on: RawQueries,
  list: KeysetList<Owner>
): ReadKeyset<Row, Owner> {
  const readerOf = (part: KeysetPart): ReadPart<Row> =>
    createPartReader<Row>(on, new Statement(`${list.name}-${part.name}`, partsOf(list, part)))
  const newest = readerOf(NEWEST)
  const beyond = { forward: readerOf(FORWARD), backward: readerOf(BACKWARD) }
  return async (owner, { direction, limit, position }) => {
    const range = { ...owner, row_count: limit + 1 }
    if (position === undefined) return newest(range)
    return beyond[direction]({ ...range, after_at: instantText(position.createdAtMs), after_id: position.id })
  }
}

/** Reads a part: the values of its owner, its limit and its position, named as the statement does. */
type ReadPart<Row> = (range: Readonly<Record<string, string | number>>) => Promise<KeysetRows<Row>>

/** A part as it is found. */
interface FoundPart<Row> {
  readonly place: number
  readonly rows: readonly Row[]
  readonly opposite: boolean
}

function createPartReader<Row>(
  on: RawQueries,
  statement: Statement<FoundPart<Row>, { readonly asked: string }>
): ReadPart<Row> {
  return gather({
    itemsMax: TOGETHER_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(ranges) {
      const asked = JSON.stringify(ranges.map((range, place) => ({ place, ...range })))
      const found = new Map((await statement.rows(on, { asked })).map((part) => [part.place, part]))
      return ranges.map((_, place) => {
        const part = found.get(place)
        if (part === undefined) return rejected(new Error(`${statement.name} did not return every part`))
        return fulfilled({ rows: readInstants(part.rows), hasOpposite: part.opposite })
      })
    }
  })
}

/** Which part of a list a statement reads. */
interface KeysetPart {
  readonly name: string
  readonly order: Sql
  /** Undefined for the newest rows. */
  readonly position?: {
    /** Compares the rows of the part with the position. */
    readonly beyond: Sql
    /** Compares the others with it. */
    readonly opposite: Sql
    /** The order that begins with the nearest of the others. */
    readonly back: Sql
  }
}

const ASCENDING = sql`asc`
const DESCENDING = sql`desc`
const NEWEST: KeysetPart = { name: 'newest', order: DESCENDING }
const FORWARD: KeysetPart = {
  name: 'forward',
  order: DESCENDING,
  position: { beyond: sql`<`, opposite: sql`>=`, back: ASCENDING }
}
const BACKWARD: KeysetPart = {
  name: 'backward',
  order: ASCENDING,
  position: { beyond: sql`>`, opposite: sql`<=`, back: DESCENDING }
}

/**
 * Reads a part of each list that was asked for. Related rows are joined only after the part is found: otherwise PostgreSQL may
 * read and sort the whole list.
 */
function partsOf<Owner extends Readonly<Record<string, string>>>(
  { columns, table, joins = empty, owner }: KeysetList<Owner>,
  { order, position }: KeysetPart
): Sql {
  const owners = Object.entries(owner).map(([name, type]) => [raw(name), raw(type)] as const)
  const positionColumns = position === undefined ? empty : sql`, after_at timestamptz, after_id uuid`
  const ofOwner = join(
    owners.map(([name]) => sql`p.${name} = asked.${name}`),
    ' and '
  )
  const compare = (operator: Sql): Sql =>
    sql`and (p.created_at, p.id) ${operator} (asked.after_at, asked.after_id)`
  const beyond = position === undefined ? empty : compare(position.beyond)
  const inOrder = sql`order by p.created_at ${order}, p.id ${order}`
  // The nearest one, by the index that orders the list. With `exists`, PostgreSQL may look for any: in a wallet with many
  // payments it expects to find one soon by reading the table from its beginning.
  const opposite =
    position === undefined
      ? sql`false`
      : sql`(select true from ${table} p where ${ofOwner} ${compare(position.opposite)}
              order by p.created_at ${position.back}, p.id ${position.back} limit 1) is not null`
  return sql`
    with asked as (
      select * from json_to_recordset(${placeholder('asked')}::json)
        as a(place integer, ${join(owners.map(([name, type]) => sql`${name} ${type}`))}, row_count integer ${positionColumns}))
    select asked.place, ${opposite} as opposite, (
        select coalesce(json_agg(part), '[]')
          from (select ${columns}
                  from (select * from ${table} p where ${ofOwner} ${beyond} ${inOrder} limit asked.row_count) p
                  ${joins}
                 ${inOrder}) part) as rows
      from asked`
}
