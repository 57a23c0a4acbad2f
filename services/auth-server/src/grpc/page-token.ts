import { isUuid } from '@open-payments-server/value-types/identifiers'
import type { PageEnd } from '../domain/page-end.js'
import { invalidField } from './request-fields.js'

/** Latest instant of a JavaScript date, in milliseconds since 1970. */
const INSTANT_MAX_MS = 8.64e15

/** Maximum length of a page token, in characters: longer than any that is issued. */
const PAGE_TOKEN_LENGTH_MAX = 128

/** Creates a token for the end of a page. It is opaque to callers. */
export function writePageToken({ createdAtMs, id }: PageEnd): string {
  return Buffer.from(`${String(createdAtMs)}.${id}`).toString('base64url')
}

/**
 * Reads a token that {@link writePageToken} created.
 *
 * @throws CallRefused `invalid` for any other text
 */
export function readPageToken(token: string): PageEnd {
  const text = token.length > PAGE_TOKEN_LENGTH_MAX ? '' : Buffer.from(token, 'base64url').toString('utf8')
  const [createdAtMs = '', id = '', ...others] = text.split('.')
  const isInstant = /^\d{1,16}$/.test(createdAtMs) && Number(createdAtMs) <= INSTANT_MAX_MS
  if (!isInstant || !isUuid(id) || others.length > 0) {
    throw invalidField('page_token', 'must be a next_page_token')
  }
  return { createdAtMs: Number(createdAtMs), id }
}

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** Token of the next page; empty on the last. */
  readonly nextPageToken: string
}

/**
 * Cuts a page out of the found items.
 *
 * @param found up to `pageSize + 1` items, in order: the extra item shows that there is another page
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
