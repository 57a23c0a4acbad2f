import { isUuid } from '@open-payments-server/value-types/identifiers'
import { invalidField } from './errors.js'

/** Default number of items of a page. */
export const PAGE_SIZE_DEFAULT = 20

/** Maximum number of items of a page. */
export const PAGE_SIZE_MAX = 100

/** Maximum length of a wallet address's URL in a query, in characters. */
const WALLET_ADDRESS_LENGTH_MAX = 2_048

/** Position of an item in a list, which is ordered by both fields, newest first. */
export interface Position {
  /** Milliseconds since the Unix epoch. */
  readonly createdAtMs: number
  /** Id (UUID). */
  readonly id: string
}

/** The requested part of a list. */
export interface PageRequest {
  /** `forward`: the items after the position; `backward`: the items before it. */
  readonly direction: 'forward' | 'backward'
  readonly limit: number
  /** Where to continue; undefined starts with the newest. */
  readonly position: Position | undefined
}

/** The query of a list. */
export interface ListQuery {
  /** URL of the wallet address, as given. */
  readonly walletAddress: string
  readonly page: PageRequest
}

/** The rows found for a {@link PageRequest}. */
export interface FoundPage<Row> {
  /** Up to `limit + 1` rows from the position on, in the order of the search: backward is oldest first. */
  readonly rows: readonly Row[]
  /** Whether there are items on the other side of the position, if one was given. */
  readonly hasOpposite: boolean
}

const PARAMETERS: ReadonlySet<string> = new Set(['wallet-address', 'first', 'last', 'cursor'])

/**
 * Reads the query of a list: `wallet-address` (required), `first` (1 to 100, default 20) after `cursor`, or `last` before
 * it.
 *
 * @throws Refusal `invalid-field` naming the parameter that is wrong
 */
export function parseListQuery(query: Readonly<Record<string, unknown>>): ListQuery {
  const unknown = Object.keys(query).find((name) => !PARAMETERS.has(name))
  if (unknown !== undefined) throw invalidField(unknown.slice(0, 64), 'unknown parameter')
  const walletAddress = readText(query, 'wallet-address')
  if (walletAddress === undefined) throw invalidField('wallet-address', 'required')
  if (walletAddress.length > WALLET_ADDRESS_LENGTH_MAX) {
    throw invalidField('wallet-address', `at most ${String(WALLET_ADDRESS_LENGTH_MAX)} characters`)
  }
  const first = readSize(query, 'first')
  const last = readSize(query, 'last')
  const cursor = readText(query, 'cursor')
  if (first !== undefined && last !== undefined) {
    throw invalidField('last', 'cannot be combined with first')
  }
  if (last !== undefined && cursor === undefined) throw invalidField('last', 'needs a cursor')
  return {
    walletAddress,
    page: {
      direction: last === undefined ? 'forward' : 'backward',
      limit: first ?? last ?? PAGE_SIZE_DEFAULT,
      position: cursor === undefined ? undefined : readCursor(cursor)
    }
  }
}

function readCursor(cursor: string): Position {
  const position = parseCursor(cursor)
  if (position === undefined) throw invalidField('cursor', 'not a cursor from a page of this list')
  return position
}

/**
 * Writes a page for a client (published API, `page-info`), as JSON.
 *
 * @param render renders an item
 */
export function writePage<Item extends Position>(
  request: PageRequest,
  found: FoundPage<Item>,
  render: (item: Item) => object
): string {
  const hasMore = found.rows.length > request.limit
  const items = found.rows.slice(0, request.limit)
  const forward = request.direction === 'forward'
  if (!forward) items.reverse()
  const [start, end] = [items[0], items.at(-1)]
  const pagination = {
    ...(start === undefined ? {} : { startCursor: formatCursor(start) }),
    ...(end === undefined ? {} : { endCursor: formatCursor(end) }),
    hasNextPage: forward ? hasMore : found.hasOpposite,
    hasPreviousPage: forward ? found.hasOpposite : hasMore
  }
  return JSON.stringify({ pagination, result: items.map(render) })
}

/** Bytes of a cursor: 6 of time, 16 of id. */
const CURSOR_TIME_BYTES = 6
const CURSOR_BYTES = 22

/** The cursor of a position: opaque to clients. */
export function formatCursor(position: Position): string {
  const time = Buffer.alloc(CURSOR_TIME_BYTES)
  time.writeUIntBE(position.createdAtMs, 0, CURSOR_TIME_BYTES)
  return Buffer.concat([time, Buffer.from(position.id.replaceAll('-', ''), 'hex')]).toString('base64url')
}

/** The position of a cursor; undefined for an invalid cursor. */
export function parseCursor(text: string): Position | undefined {
  const bytes = Buffer.from(text.slice(0, 2 * CURSOR_BYTES), 'base64url')
  const hex = bytes.toString('hex', CURSOR_TIME_BYTES)
  const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
    '-'
  )
  if (bytes.length !== CURSOR_BYTES || bytes.toString('base64url') !== text || !isUuid(id)) return undefined
  return { createdAtMs: bytes.readUIntBE(0, CURSOR_TIME_BYTES), id }
}

function readText(query: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = query[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw invalidField(name, 'must be given once')
  if (value === '') throw invalidField(name, 'must not be empty')
  return value
}

function readSize(query: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const text = readText(query, name)
  if (text === undefined) return undefined
  const size = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0
  if (size < 1 || size > PAGE_SIZE_MAX) {
    throw invalidField(name, `must be a whole number from 1 to ${String(PAGE_SIZE_MAX)}`)
  }
  return size
}
