import { placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { type AccountHolding, type HolderColumns, readHolder } from '../../domain/holder.js'
import { Prisma, type Queries } from '../database.js'
import { ACCOUNT_HOLDER, accountById, ASSET_OF_ACCOUNT } from '../ledger/index.js'

/** One statement over two tables: Prisma's models would send two. */
const BY_PATH = new Statement<HolderColumns & { readonly name: string }>(
  'holding-by-path',
  Prisma.sql`select ${ACCOUNT_HOLDER} from wallet_address w ${accountById(Prisma.sql`w.account_id`)}
              where w.path = ${placeholder('path')}`
)

/** Finds by whom the wallet address with a path is held: whoever holds the account behind it. undefined when there is none. */
export async function findHolding(on: Queries, path: string): Promise<AccountHolding | undefined> {
  const [row] = await BY_PATH.rows(on, { path })
  return row && { accountName: row.name, holder: readHolder(row) }
}

/** A wallet address as its holder sees it. */
export interface HeldWalletAddress {
  readonly path: string
  readonly publicName: string | undefined
  /** Whether it is frozen itself. */
  readonly isFrozen: boolean
  /** Id (UUID) of the account behind it. */
  readonly accountId: string
}

/** Lists the wallet addresses of some accounts (UUID), by path. */
export async function listHeldWalletAddresses(
  on: Queries,
  accountIds: readonly string[]
): Promise<readonly HeldWalletAddress[]> {
  const found = await on.walletAddress.findMany({
    where: { accountId: { in: [...accountIds] } },
    select: { path: true, publicName: true, frozenAt: true, accountId: true },
    orderBy: { path: 'asc' }
  })
  return found.map(({ path, publicName, frozenAt, accountId }) => ({
    path,
    publicName: publicName ?? undefined,
    isFrozen: frozenAt !== null,
    accountId
  }))
}

/**
 * Fragment, a query: the ids of the wallet addresses of some accounts.
 *
 * @param accountIds an array of their ids
 */
export function walletAddressesOf(accountIds: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`select w.id from wallet_address w where w.account_id = any (${accountIds})`
}

/**
 * Fragment, a query: the id of the wallet address with a path.
 *
 * @param path an expression
 */
export function walletAddressAt(path: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`select w.id from wallet_address w where w.path = ${path}`
}

/** A wallet address as people know it. */
export interface NamedWalletAddress {
  readonly path: string
  readonly publicName: string | undefined
  readonly asset: Asset
}

const NAMES = new Statement<{
  readonly path: string
  readonly public_name: string | null
  readonly code: string
  readonly scale: number
}>(
  'name-wallet-addresses',
  Prisma.sql`select w.path, w.public_name, s.code, s.scale
               from wallet_address w ${ASSET_OF_ACCOUNT(Prisma.sql`w.account_id`)}
              where w.path = any (${placeholder('paths')}::text[])`
)

/** Finds the wallet addresses with some paths, in no order. */
export async function nameWalletAddresses(
  on: Queries,
  paths: readonly string[]
): Promise<readonly NamedWalletAddress[]> {
  if (paths.length === 0) return []
  const rows = await NAMES.rows(on, { paths })
  return rows.map(({ path, public_name: publicName, ...asset }) => ({
    path,
    publicName: publicName ?? undefined,
    asset
  }))
}
