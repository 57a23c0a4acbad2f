import { Sql } from '@prisma/client/runtime/client'
import type { RawQueries } from './raw-queries.js'

/** The place of a value in a statement that is composed before the value is known. */
export class Placeholder {
  constructor(readonly name: string) {}
}

/**
 * The place of a value that each call of a {@link Statement} gives. Each place is a parameter of its own, also where two have
 * one name: what several parts need is best a part itself, which they name.
 *
 * @param name of the value among those that a call gives
 */
export function placeholder(name: string): Placeholder {
  return new Placeholder(name)
}

/** Values of placeholders by name: text, numbers, booleans, bytes, null, or an array of these. Instants go as ISO 8601 text. */
export type StatementValues = Readonly<Record<string, unknown>>

/**
 * A statement that is composed once, possibly of the fragments of several modules, and sent often. Its text stays the same
 * whatever its values, so that each connection prepares it once, under its name.
 */
export class Statement<Row, Values extends StatementValues = StatementValues> {
  readonly #strings: readonly string[]
  readonly #places: readonly unknown[]

  /**
   * @param name unique among the statements of a service: PostgreSQL prepares it, traces show it and `pg_stat_activity` begins
   *   with it, as a comment
   * @param composed the whole statement; its values are placeholders, or values that never change
   * @param options.prepared false for what is so rare that PostgreSQL had better plan it anew
   */
  constructor(
    readonly name: string,
    composed: Sql,
    { prepared = true }: { readonly prepared?: boolean } = {}
  ) {
    const [first = '', ...others] = composed.strings
    this.#strings = [`${commentOf(name, prepared)} ${first}`, ...others]
    this.#places = composed.values
  }

  /**
   * Sends it.
   *
   * @throws Error for a value that is missing, and what the database answers
   */
  async rows(on: RawQueries, values: Values): Promise<readonly Row[]> {
    return on.$queryRaw<Row[]>(
      new Sql(
        this.#strings,
        this.#places.map((place) => valueAt(place, values, this.name))
      )
    )
  }
}

function valueAt(place: unknown, values: StatementValues, name: string): unknown {
  if (!(place instanceof Placeholder)) return place
  const value = values[place.name]
  if (value === undefined) throw new Error(`the statement ${name} is sent without ${place.name}`)
  return value
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
