import { isUuid } from '@open-payments-server/runtime'
import type { PageEnd } from '../domain/page-end.js'
import { invalidField } from './request-fields.js'

/** Latest instant of a JavaScript date, in milliseconds since 1970. */
const INSTANT_MAX_MS = 8.64e15

/** Longest page token, in characters: longer than any that is made. */
const PAGE_TOKEN_LENGTH_MAX = 128

/** Makes a token of where a page ended. Callers must not look into it. */
export function writePageToken({ createdAt, id }: PageEnd): string {
  return Buffer.from(`${String(createdAt.getTime())}.${id}`).toString('base64url')
}

/**
 * Reads a token that {@link writePageToken} made.
 *
 * @throws RpcError INVALID_ARGUMENT for any other text
 */
export function readPageToken(token: string): PageEnd {
  const text = token.length > PAGE_TOKEN_LENGTH_MAX ? '' : Buffer.from(token, 'base64url').toString('utf8')
  const [createdAtMs = '', id = '', ...others] = text.split('.')
  const isInstant = /^\d{1,16}$/.test(createdAtMs) && Number(createdAtMs) <= INSTANT_MAX_MS
  if (!isInstant || !isUuid(id) || others.length > 0) {
    throw invalidField('page_token', 'must be a next_page_token')
  }
  return { createdAt: new Date(Number(createdAtMs)), id }
}

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** Asks for the next page; empty on the last. */
  readonly nextPageToken: string
}

/**
 * Cuts a page out of what was found.
 *
 * @param found up to `pageSize + 1` items, in order: one more than the page tells that there is another
 */
export function cutPage<Item>(
  found: readonly Item[],
  pageSize: number,
  endOf: (item: Item) => PageEnd
): Page<Item> {
  const items = found.slice(0, pageSize)
  const last = items.at(-1)
  const hasMore = found.length > pageSize && last !== undefined
  return { items, nextPageToken: hasMore ? writePageToken(endOf(last)) : '' }
}
