import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import { stringify } from 'csv-stringify/sync'

/** A file that is made while it is sent. */
export interface Download<Item> {
  /** Name of the file, without its ending. */
  readonly name: string
  readonly kind: 'csv' | 'json'
  /** Names of the columns of CSV. */
  readonly columns: readonly string[]
  /** The rows of an item. */
  readonly toRows: (item: Item) => readonly (readonly string[])[]
  /** An item as JSON. */
  readonly toJson: (item: Item) => unknown
  /** The items, page by page. */
  readonly pages: AsyncGenerator<readonly Item[]>
}

/** By which spreadsheets see that a file is UTF-8. */
const BYTE_ORDER_MARK = '\ufeff'

/** Where a formula would begin: with a cell, or after what ends one in spreadsheets of other languages. */
const BEFORE_FORMULA = /(?:^|[;\t\r\n])(?=\s*[=+\-@＝＋－＠])/gu

/**
 * Sends a file, page by page. If a page cannot be read, the file ends in the middle, and browsers see that it did.
 *
 * Spreadsheets take a cell for a formula that begins with certain signs: such cells of CSV get an apostrophe in front (OWASP, CSV
 * injection). So does what follows a semicolon or tab: in some languages spreadsheets begin another cell there, whatever is quoted.
 */
export async function sendDownload<Item>(
  request: HttpRequest,
  response: HttpResponse,
  download: Download<Item>
): Promise<void> {
  const { name, kind, pages } = download
  // Whatever is wrong from the beginning is told by a page.
  const first = await pages.next()
  response.addField('Content-Type', kind === 'csv' ? 'text/csv; charset=utf-8' : 'application/json')
  response.addField('Content-Disposition', `attachment; filename="${name}.${kind}"`)
  if (request.method === 'HEAD') {
    response.sendEmpty(200)
    return
  }
  const texts = kind === 'csv' ? csvOf(download, first) : jsonOf(download, first)
  try {
    await pipeline(Readable.from(texts, { objectMode: false }), response.release())
  } catch (error) {
    // Whoever does not want the rest closes the connection.
    if (!isClosed(error)) throw error
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

type FirstPage<Item> = IteratorResult<readonly Item[], unknown>

async function* csvOf<Item>(
  { columns, toRows, pages }: Download<Item>,
  first: FirstPage<Item>
): AsyncGenerator<string> {
  yield `${BYTE_ORDER_MARK}${csvLines([columns])}`
  for await (const page of withFirst(first, pages)) {
    const rows = page.flatMap(toRows)
    if (rows.length > 0) yield csvLines(rows)
  }
}

/** RFC 4180. */
function csvLines(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => row.map((text) => text.replace(BEFORE_FORMULA, "$&'"))),
    { record_delimiter: 'windows', quoted_match: /[\r\n]/, escape_formulas: true }
  )
}

async function* jsonOf<Item>(
  { toJson, pages }: Download<Item>,
  first: FirstPage<Item>
): AsyncGenerator<string> {
  let before = '['
  for await (const page of withFirst(first, pages)) {
    for (const item of page) {
      yield `${before}\n${JSON.stringify(toJson(item))}`
      before = ','
    }
  }
  yield before === '[' ? '[]\n' : '\n]\n'
}

async function* withFirst<Item>(
  first: FirstPage<Item>,
  pages: AsyncGenerator<readonly Item[]>
): AsyncGenerator<readonly Item[]> {
  if (first.done === true) return
  yield first.value
  yield* pages
}
