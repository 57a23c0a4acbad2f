import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { invalidField } from '../../domain/errors.js'
import { type PageRequest, parseCursor } from '../../domain/pagination.js'

/** Default number of items of a page. */
const PAGE_SIZE_DEFAULT = 20

/** Maximum number of items of a page. */
const PAGE_SIZE_MAX = 100

/** Maximum length of a wallet address's URL in a query, in characters. */
const WALLET_ADDRESS_LENGTH_MAX = 2_048

/** The query of a list. */
export interface ListQuery {
  /** URL of the wallet address, as given. */
  readonly walletAddress: string
  readonly page: PageRequest
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

function readCursor(cursor: string): PageEnd {
  const position = parseCursor(cursor)
  if (position === undefined) throw invalidField('cursor', 'not a cursor from a page of this list')
  return position
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
