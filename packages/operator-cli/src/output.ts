import type { Writable } from 'node:stream'
import { type Amount, describeAmount, formatAmount } from '@open-payments-server/value-types/amounts'
import Table from 'cli-table3'
import pc from 'picocolors'

/** The outputs of a command. */
export interface Output {
  /** Results. */
  readonly stdout: (text: string) => void
  /** Everything else than results. */
  readonly stderr: (text: string) => void
  /** Whether results may carry colours. */
  readonly colors: boolean
}

/**
 * Writes to a stream until its reader goes away, as `head` does when it has read enough. What comes afterwards is dropped: what a
 * command does, and its exit status, do not depend on who reads its output.
 */
export function writerTo(stream: Writable): (text: string) => void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  return (text) => {
    stream.write(text)
  }
}

/** A column of a table. */
export type Column<Item> = readonly [title: string, cell: (item: Item) => string, align?: 'right']

/** A property of a thing. */
export type Fact = readonly [name: string, fact: string]

/** Prints results, as JSON for programs or as text and tables for people. */
export class Printer {
  readonly #output: Output
  readonly #json: boolean
  /** Colours, or none if not supported. */
  readonly colors: ReturnType<typeof pc.createColors>

  constructor(output: Output, json: boolean) {
    this.#output = output
    this.#json = json
    this.colors = pc.createColors(output.colors && !json)
  }

  /** Whether results are printed as JSON. */
  get isJson(): boolean {
    return this.#json
  }

  /** Prints one result: its JSON, or a sentence. */
  result(value: unknown, sentence: string): void {
    this.#output.stdout(this.#json ? toJson(value) : `${printable(sentence)}\n`)
  }

  /** Prints the properties of one thing. */
  facts(value: unknown, facts: readonly Fact[]): void {
    if (this.#json) this.#output.stdout(toJson(value))
    else this.#lines(facts)
  }

  /** Prints one thing with a list in it: its JSON, or its properties and a table. */
  report<Item>(
    value: unknown,
    {
      facts,
      items,
      columns
    }: {
      readonly facts: readonly Fact[]
      readonly items: readonly Item[]
      readonly columns: readonly Column<Item>[]
    }
  ): void {
    this.facts(value, facts)
    if (!this.#json && items.length > 0) this.#output.stdout(`\n${this.#table(items, columns)}\n`)
  }

  /** Prints the content of a file exactly as it is, control characters included. */
  file(content: string): void {
    this.#output.stdout(content)
  }

  /** Prints a list, or a page of it: one array in JSON, or a table. `more` says that the list was cut off at its limit. */
  list<Item>(
    items: readonly Item[],
    options: {
      /** The name of the listed things, in the plural. */
      name: string
      more?: boolean
      columns: readonly Column<Item>[]
      json: (item: Item) => unknown
    }
  ): void {
    if (this.#json) {
      this.#output.stdout(toJson(items.map(options.json)))
    } else if (items.length === 0) {
      this.#output.stdout(`No ${options.name}.\n`)
    } else {
      this.#output.stdout(`${this.#table(items, options.columns)}\n`)
    }
    if (options.more === true) {
      this.note(`There are more ${options.name}: ask for them with a higher --limit.`)
    }
  }

  /** Prints what is not a result. */
  note(sentence: string): void {
    this.#output.stderr(`${printable(sentence)}\n`)
  }

  /** Prints one item of what has no end: a line of JSON, or a line for people. */
  line(value: unknown, sentence: string): void {
    this.#output.stdout(`${printable(this.#json ? JSON.stringify(value) : sentence)}\n`)
  }

  #lines(facts: readonly Fact[]): void {
    const width = Math.max(...facts.map(([name]) => name.length))
    for (const [name, fact] of facts) {
      this.#output.stdout(`${this.colors.dim(name.padEnd(width))}  ${printable(fact)}\n`)
    }
  }

  #table<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string {
    const table = new Table({
      head: columns.map(([title]) => this.colors.bold(title)),
      colAligns: columns.map(([, , align]) => align ?? 'left'),
      // The library's own colours would appear even where none are supported.
      style: { head: [], border: [], compact: true }
    })
    for (const item of items) table.push(columns.map(([, cell]) => printable(cell(item))))
    return table.toString()
  }
}

/** An amount for a table; a dash for none. */
export function amountCell(amount: Amount | undefined): string {
  return amount === undefined ? '-' : describeAmount(amount)
}

/** A balance for a table. Unlike an amount, it may be below 0. */
export function balanceCell({ value, asset }: Amount): string {
  return value < 0n ? `-${describeAmount({ value: -value, asset })}` : describeAmount({ value, asset })
}

/** An amount in JSON, as on the wire; null for none. */
export function amountJson(amount: Amount | undefined): unknown {
  return amount === undefined ? null : formatAmount(amount)
}

/** An instant in JSON and tables: ISO 8601, in UTC. */
export function instantText(instant: Date | undefined): string {
  return instant?.toISOString() ?? '-'
}

/**
 * A text for a terminal. Names and reasons come from others: control characters in them must not reach it. In JSON text they are only
 * in strings, so it stays JSON, with the same content.
 */
export function printable(text: string): string {
  return text.replace(/(?!\n)[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** What JSON prints of a value: lines that end with a line break. */
export function toJson(value: unknown): string {
  return `${printable(JSON.stringify(value, writeBigint, 2))}\n`
}

/** Whole numbers of arbitrary size are text. */
function writeBigint(_key: string, member: unknown): unknown {
  return typeof member === 'bigint' ? member.toString() : member
}
