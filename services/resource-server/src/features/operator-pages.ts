import type { OperationRefused } from './operation-refused.js'
import { invalidField } from './operation-refused.js'

/** Default number of items of a page. */
const PAGE_SIZE_DEFAULT = 100

/** Maximum number of items of a page. */
const PAGE_SIZE_MAX = 1_000

/** Maximum length of a page token, in characters. */
const PAGE_TOKEN_LENGTH_MAX = 1_024

/** The requested part of an operator's list. */
export interface OperatorPage {
  /** 1 to 1000; 0 means 100. */
  readonly pageSize: number
  /** `nextPageToken` of the previous page; empty for the first. */
  readonly pageToken: string
}

/** A page of a list. */
export interface OperatorPageResult<Item> {
  readonly items: readonly Item[]
  /** Token of the next page; empty on the last. */
  readonly nextPageToken: string
}

/**
 * Number of items of a page.
 *
 * @throws OperationRefused for more than 1000
 */
export function readPageSize(page: OperatorPage): number {
  if (page.pageSize > PAGE_SIZE_MAX) {
    throw invalidField('page_size', `must be at most ${PAGE_SIZE_MAX}`)
  }
  return page.pageSize === 0 ? PAGE_SIZE_DEFAULT : page.pageSize
}

/**
 * The text after which a list that is ordered by one text continues; empty on the first page.
 *
 * @throws OperationRefused for a token that no list returned
 */
export function readTextToken(page: OperatorPage): string {
  const text = Buffer.from(page.pageToken.slice(0, PAGE_TOKEN_LENGTH_MAX), 'base64url').toString('utf8')
  if (writeTextToken(text) !== page.pageToken || text.includes('\u0000')) throw unknownPageToken()
  return text
}

/** The refusal of a page token that no list returned. */
export function unknownPageToken(): OperationRefused {
  return invalidField('page_token', 'must come from the page before')
}

/**
 * Cuts a page out of up to `size + 1` rows in order.
 *
 * @param tokenAfter the token of the page that follows a row
 */
export function cutPage<Row, Item>(
  rows: readonly Row[],
  size: number,
  tokenAfter: (row: Row) => string,
  toItem: (row: Row) => Item
): OperatorPageResult<Item> {
  const page = rows.slice(0, size)
  const last = page.at(-1)
  return {
    items: page.map(toItem),
    nextPageToken: rows.length > size && last !== undefined ? tokenAfter(last) : ''
  }
}

/** The token of the page that follows a text. */
export function writeTextToken(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64url')
}
