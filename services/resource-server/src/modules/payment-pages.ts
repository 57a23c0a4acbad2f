import { createKeyset, type KeysetList } from '@open-payments-server/database'
import type { ListPayments } from '../domain/pagination.js'
import type { WalletAddress } from '../domain/wallet-address.js'
import type { Queries } from './database.js'

const OF_ALL = { wallet_address_id: 'uuid' } as const
const OF_CLIENT = { wallet_address_id: 'uuid', client: 'text' } as const

/** A kind of payment whose pages are read. */
export interface PagedPayments<Row, Payment> extends Omit<KeysetList<Record<string, string>>, 'owner'> {
  /** Reads a row. The wallet address is not among its columns: it is the same for all of a page, and known. */
  readonly readRow: (row: Row, walletAddress: WalletAddress) => Payment
}

/**
 * The factory of a function that lists payments of one kind. Pages that are requested at the same time share a statement.
 */
export function createPaymentPages<Row, Payment>({
  name,
  readRow,
  ...list
}: PagedPayments<Row, Payment>): (dependencies: { readonly database: Queries }) => ListPayments<Payment> {
  const allPages = { ...list, name: `list-${name}`, owner: OF_ALL }
  const ownPages = { ...list, name: `list-own-${name}`, owner: OF_CLIENT }
  return ({ database }) => {
    const all = createKeyset<Row, typeof OF_ALL>(database, allPages)
    const own = createKeyset<Row, typeof OF_CLIENT>(database, ownPages)
    return async (walletAddress, client, page) => {
      const { rows, hasOpposite } = await (client === undefined
        ? all({ wallet_address_id: walletAddress.id }, page)
        : own({ wallet_address_id: walletAddress.id, client }, page))
      return { rows: rows.map((row) => readRow(row, walletAddress)), hasOpposite }
    }
  }
}
