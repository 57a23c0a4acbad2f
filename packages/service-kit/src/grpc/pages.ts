import type { RpcError } from '@open-payments-server/grpc-transport'
import { isUuid, type PageEnd } from '@open-payments-server/value-types/identifiers'
import { invalidField } from './fields.js'

/** Default number of items of a page. */
export const PAGE_SIZE_DEFAULT = 100

/** Maximum number of items of a page. */
export const PAGE_SIZE_MAX = 1_000

/** Latest instant of a JavaScript date, in milliseconds since 1970. */
const INSTANT_MAX_MS = 8.64e15

/** Maximum length of a page token, in characters: longer than any that is issued. */
const PAGE_TOKEN_LENGTH_MAX = 1_024

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** Token of the next page; empty on the last. */
  readonly nextPageToken: string
}

/**
 * Reads the size of a page; 0 stands for {@link PAGE_SIZE_DEFAULT}.
 *
 * @param max the largest size, at least that
 * @throws RpcError INVALID_ARGUMENT for more than `max`
 */
export function readPageSize(size: number, max = PAGE_SIZE_MAX): number {
  if (size > max) throw invalidField('page_size', `must be at most ${String(max)}`)
  return size === 0 ? PAGE_SIZE_DEFAULT : size
}

/** Creates a token for the end of a page, in a list ordered by instant and id. It is opaque to callers. */
export function writePageToken({ createdAtMs, id }: PageEnd): string {
  return writeTextToken(`${String(createdAtMs)}.${id}`)
}

/**
 * Reads a token that {@link writePageToken} created.
 *
 * @returns undefined for the empty text: the first page
 * @throws RpcError INVALID_ARGUMENT for any other text
 */
export function readPageToken(token: string): PageEnd | undefined {
  if (token === '') return undefined
  const [createdAtMs = '', id = '', ...others] = decode(token).split('.')
  const isInstant = /^\d{1,16}$/.test(createdAtMs) && Number(createdAtMs) <= INSTANT_MAX_MS
  if (!isInstant || !isUuid(id) || others.length > 0) throw unknownPageToken()
  return { createdAtMs: Number(createdAtMs), id }
}

/** Creates a token for the end of a page, in a list ordered by one text. */
export function writeTextToken(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64url')
}

/**
 * Reads a token that {@link writeTextToken} created.
 *
 * @returns the empty text for the first page
 * @throws RpcError INVALID_ARGUMENT for any other text
 */
export function readTextToken(token: string): string {
  const text = decode(token)
  if (writeTextToken(text) !== token || text.includes('\u0000')) throw unknownPageToken()
  return text
}

/** The refusal of a page token that no list returned. */
export function unknownPageToken(): RpcError {
  return invalidField('page_token', 'must be a next_page_token')
}

/**
 * Cuts a page out of the found items.
 *
 * @param found up to `pageSize + 1` items, in order: the extra item shows that there is another page
 * @param tokenAfter the token of the page that follows an item
 */
export function cutPage<Item>(
  found: readonly Item[],
  pageSize: number,
  tokenAfter: (item: Item) => string
): Page<Item> {
  const items = found.slice(0, pageSize)
  const last = items.at(-1)
  const hasMore = found.length > pageSize && last !== undefined
  return { items, nextPageToken: hasMore ? tokenAfter(last) : '' }
}

function decode(token: string): string {
  return token.length > PAGE_TOKEN_LENGTH_MAX ? '' : Buffer.from(token, 'base64url').toString('utf8')
}
