import { placeholder, Statement } from '@open-payments-server/database'
import { type Holder, type HolderColumns, readHolder } from '../../domain/holder.js'
import { Prisma, type Queries } from '../database.js'
import { ACCOUNT_HOLDER, accountById } from '../ledger/index.js'

/** By whom a wallet address is held: whoever holds the account behind it. */
export interface Holding {
  readonly accountName: string
  /** undefined unless an operator said who it is. */
  readonly holder: Holder | undefined
}

/** One statement over two tables: Prisma's models would send two. */
const BY_PATH = new Statement<HolderColumns & { readonly name: string }>(
  'holding-by-path',
  Prisma.sql`select ${ACCOUNT_HOLDER} from wallet_address w ${accountById(Prisma.sql`w.account_id`)}
              where w.path = ${placeholder('path')}`
)

/** Finds by whom the wallet address with a path is held; undefined when there is none. */
export async function findHolding(on: Queries, path: string): Promise<Holding | undefined> {
  const [row] = await BY_PATH.rows(on, { path })
  return row && { accountName: row.name, holder: readHolder(row) }
}
