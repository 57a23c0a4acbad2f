import { Sql } from '@prisma/client/runtime/client'
import type { RawQueries } from './raw-queries.js'

/** A placeholder in a statement that is composed before its values are known. */
export class Placeholder {
  constructor(
    readonly name: string,
    readonly read?: () => unknown
  ) {}
}

/**
 * A placeholder for a value that each call of a {@link Statement} gives. Each placeholder is a separate parameter, even if
 * two have the same name: a value that several parts need is best provided by its own part.
 *
 * @param name of the value among those that a call gives
 */
export function placeholder(name: string): Placeholder {
  return new Placeholder(name)
}

/**
 * A placeholder for a value that no call gives: it is read whenever the statement is sent.
 *
 * @param name what it is, for whoever reads the statement
 */
export function supplied(name: string, read: () => unknown): Placeholder {
  return new Placeholder(name, read)
}

/** Values of placeholders by name: text, numbers, booleans, bytes, null, or an array of these. Instants go as ISO 8601 text. */
export type StatementValues = Readonly<Record<string, unknown>>

/**
 * A statement that is composed once, possibly from fragments of several modules, and sent often. Its text does not depend
 * on its values, so each connection prepares it once, under its name.
 *
 * The rows of its main `select` travel as one JSON text: Prisma then converts one value instead of one for each column of
 * each row, which costs several times as much (21 rows of 13 columns: 442 µs of CPU time as columns, 179 µs as JSON, 81 µs of
 * it without Prisma). So columns must be selected as what JSON can hold: whole numbers beyond 2^53 and `numeric` as text. Bytes come as text for
 * {@link readBytes}. Columns whose names end in `at`, `after`, `before` or `until` (`created_at`,
 * `continueAfter`) are instants, and become dates.
 */
export class Statement<Row, Values extends StatementValues = StatementValues> {
  readonly #strings: readonly string[]
  readonly #places: readonly unknown[]
  readonly #isJson: boolean

  /**
   * @param name unique among the statements of a service: PostgreSQL prepares it under this name, traces show it, and
   *   `pg_stat_activity` begins with it, as a comment
   * @param composed the whole statement; its values are placeholders, or values that never change
   * @param options.prepared false for rare statements that PostgreSQL should plan anew
   */
  constructor(
    readonly name: string,
    composed: Sql,
    { prepared = true }: { readonly prepared?: boolean } = {}
  ) {
    const strings = rowsAsJson(composed.strings)
    const [first = '', ...others] = strings ?? composed.strings
    this.#isJson = strings !== undefined
    this.#strings = [`${commentOf(name, prepared)} ${first}`, ...others]
    this.#places = composed.values
  }

  /**
   * Sends it.
   *
   * @throws Error for a missing value, and the database's errors
   */
  async rows(on: RawQueries, values: Values): Promise<readonly Row[]> {
    const statement = new Sql(
      this.#strings,
      this.#places.map((place) => valueAt(place, values, this.name))
    )
    if (!this.#isJson) return on.$queryRaw<Row[]>(statement)
    const [found] = await on.$queryRaw<{ readonly rows: string }[]>(statement)
    if (found === undefined) throw new Error(`the statement ${this.name} was answered without its one row`)
    return readInstants(JSON.parse(found.rows) as Row[])
  }
}

function valueAt(place: unknown, values: StatementValues, name: string): unknown {
  if (!(place instanceof Placeholder)) return place
  const value = place.read === undefined ? values[place.name] : place.read()
  if (value === undefined) throw new Error(`the statement ${name} is sent without ${place.name}`)
  return value
}

/**
 * Lets the main `select` of a statement, which is the first outside of parentheses, answer one row: `rows`, a JSON array.
 *
 * @returns undefined for a statement without a main `select`: the rows of its `returning`, if it has one, travel as columns
 */
function rowsAsJson(strings: readonly string[]): readonly string[] | undefined {
  let depth = 0
  for (const [index, text] of strings.entries()) {
    for (const { 0: token, index: at } of text.matchAll(TOKEN)) {
      if (token === '(') depth += 1
      else if (token === ')') depth -= 1
      else if (depth === 0 && token === 'select') {
        const wrapped = strings.with(
          index,
          `${text.slice(0, at)}select coalesce(json_agg(found.*), '[]')::text as rows from (${text.slice(at)}`
        )
        return wrapped.with(-1, `${wrapped.at(-1) ?? ''}\n) found`)
      } else if (depth === 0 && WRITES.has(token)) return undefined
    }
  }
  return undefined
}

/** Comments and quoted texts, which are passed over, and what decides where the main part of a statement begins. */
const TOKEN = /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|[()]|\b[a-z_]+\b/g
/** Main parts that answer rows only by `returning`, or none. */
const WRITES: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'declare', 'fetch', 'set'])

/** What instants are called. */
const INSTANT = /(?:_at|At|_after|After|_before|Before|_until|Until)$/

/**
 * Makes dates of the instants of rows that came as JSON, in place: of a {@link Statement}, or of a column that has rows itself.
 * PostgreSQL writes them in the time zone of the session, with its offset.
 */
export function readInstants<Row>(rows: readonly Row[]): readonly Row[] {
  const [first] = rows as readonly Record<string, unknown>[]
  if (first === undefined) return rows
  const names = Object.keys(first).filter((name) => INSTANT.test(name))
  for (const row of rows as readonly Record<string, unknown>[])
    for (const name of names) if (typeof row[name] === 'string') row[name] = new Date(row[name])
  return rows
}

/** Bytes as the JSON of a parameter has them, for a column or a value of type `bytea`: `\x` and hexadecimal digits. */
export function bytesText(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`
}

/** The bytes of a column, as the JSON of a {@link Statement} has them: `\x` and hexadecimal digits. */
export function readBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

const NAME = /^[a-z][a-z0-9-]*$/
const COMMENT = /^\/\* ([a-z][a-z0-9-]*) \*\//

function commentOf(name: string, prepared: boolean): string {
  if (!NAME.test(name))
    throw new Error(`${name} does not name a statement: lower case letters, digits and dashes do`)
  return prepared ? `/* ${name} */` : `/* ${name}, planned anew */`
}

/** The name that a {@link Statement} is prepared under; undefined for any other text. */
export function statementNameOf(text: string): string | undefined {
  return COMMENT.exec(text)?.[1]
}
