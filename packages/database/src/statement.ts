import { Sql } from '@prisma/client/runtime/client'
import type { RawQueries } from './raw-queries.js'

/** A placeholder in a statement that is composed before its values are known. */
export class Placeholder {
  constructor(readonly name: string) {}
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

/** Values of placeholders by name: text, numbers, booleans, bytes, null, or an array of these. Instants go as ISO 8601 text. */
export type StatementValues = Readonly<Record<string, unknown>>

/**
 * A statement that is composed once, possibly from fragments of several modules, and sent often. Its text does not depend
 * on its values, so each connection prepares it once, under its name.
 */
export class Statement<Row, Values extends StatementValues = StatementValues> {
  readonly #strings: readonly string[]
  readonly #places: readonly unknown[]

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
    const [first = '', ...others] = composed.strings
    this.#strings = [`${commentOf(name, prepared)} ${first}`, ...others]
    this.#places = composed.values
  }

  /**
   * Sends it.
   *
   * @throws Error for a missing value, and the database's errors
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
