import { placeholder, Statement } from '@open-payments-server/database'
import { LRUCache } from 'lru-cache'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import {
  findPathProblem,
  type WalletAddress,
  type WalletAddressDirectory
} from '../../domain/wallet-address.js'
import { Prisma, type Queries } from '../database.js'
import { ASSET_OF_ACCOUNT } from '../ledger/index.js'

/** Maximum number of cached wallet addresses. */
const REMEMBERED_MAX = 10_000

/** How long one is cached. Only the public name can change meanwhile. */
const REMEMBERED_MS = 60_000

/**
 * Fragment: joins the wallet address `w` (`path`), its account `a` and the account's asset `s` (`id`, `code`, `scale`) to
 * whatever belongs to a wallet address: one row each.
 *
 * @param walletAddressId names the wallet address, such as `p.wallet_address_id`
 */
export const WALLET_ADDRESS = (walletAddressId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  ${accountOf(walletAddressId)} ${ASSET_OF_ACCOUNT(Prisma.sql`w.account_id`)}`

/**
 * Fragment: joins the wallet address `w` (`path`, `account_id`): its account alone, without the asset that {@link
 * WALLET_ADDRESS} joins too.
 *
 * @param walletAddressId names the wallet address, such as `p.wallet_address_id`
 */
export function accountOf(walletAddressId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`join wallet_address w on w.id = ${walletAddressId}`
}

/**
 * Fragment, an expression: the path of a wallet address; null if there is none.
 *
 * @param walletAddressId an expression
 */
export function pathOf(walletAddressId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select w.path from wallet_address w where w.id = ${walletAddressId})`
}

interface WalletAddressRow {
  readonly id: string
  readonly path: string
  readonly public_name: string | null
  readonly account_id: string
  readonly updated_at: Date
  readonly asset_id: number
  readonly code: string
  readonly scale: number
}

/** Finds wallet addresses in the database, with one statement each, and caches them. */
export function createWalletAddressDirectory(dependencies: {
  database: Queries
  urls: ResourceUrls
}): WalletAddressDirectory {
  const remembered = new LRUCache<string, WalletAddress>({ max: REMEMBERED_MAX, ttl: REMEMBERED_MS })

  const lookUp = async (path: string): Promise<WalletAddress | undefined> => {
    // Text that cannot be a path is not looked up: PostgreSQL might not even accept it.
    if (findPathProblem(path) !== undefined) return undefined
    const found = await queryByPath(dependencies.database, path)
    if (found === undefined) return undefined
    const walletAddress = fromRow(found, dependencies.urls)
    remembered.set(path, walletAddress)
    return walletAddress
  }

  const findByPath = (path: string): WalletAddress | Promise<WalletAddress | undefined> =>
    remembered.get(path) ?? lookUp(path)

  return {
    findByPath,
    async findByUrl(url) {
      const path = dependencies.urls.walletAddressPathOf(url)
      return path === undefined ? undefined : findByPath(path)
    }
  }
}

/** One statement over three tables: Prisma's models would send three, and every request may need it. */
const BY_PATH = new Statement<WalletAddressRow>(
  'wallet-address-by-path',
  Prisma.sql`select w.id, w.path, w.public_name, w.account_id, w.updated_at, s.id as asset_id, s.code, s.scale
               from wallet_address w ${ASSET_OF_ACCOUNT(Prisma.sql`w.account_id`)}
              where w.path = ${placeholder('path')}`
)

async function queryByPath(on: Queries, path: string): Promise<WalletAddressRow | undefined> {
  const [row] = await BY_PATH.rows(on, { path })
  return row
}

function fromRow(row: WalletAddressRow, urls: ResourceUrls): WalletAddress {
  return {
    id: row.id,
    path: row.path,
    url: urls.ofWalletAddress(row.path),
    publicName: row.public_name ?? undefined,
    accountId: row.account_id,
    assetId: row.asset_id,
    asset: { code: row.code, scale: row.scale },
    updatedAtMs: row.updated_at.getTime()
  }
}
