import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import {
  findPathProblem,
  type WalletAddress,
  type WalletAddressDirectory
} from '../../domain/wallet-address.js'

/** Most wallet addresses that are remembered. */
const REMEMBERED_MAX = 10_000

/** How long one is remembered. Only the public name may change meanwhile. */
const REMEMBERED_MS = 60_000

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

/** Finds wallet addresses in the database, with one statement each, and remembers those it found. */
export function createWalletAddressDirectory(deps: {
  pool: Pool
  urls: ResourceUrls
}): WalletAddressDirectory {
  const remembered = new LRUCache<string, WalletAddress>({ max: REMEMBERED_MAX, ttl: REMEMBERED_MS })

  const lookUp = async (path: string): Promise<WalletAddress | undefined> => {
    // What cannot be a path is not looked for: it may be text that PostgreSQL does not even take.
    if (findPathProblem(path) !== undefined) return undefined
    const found = await queryByPath(deps.pool, path)
    if (found === undefined) return undefined
    const walletAddress = fromRow(found, deps.urls)
    remembered.set(path, walletAddress)
    return walletAddress
  }

  const findByPath = (path: string): WalletAddress | Promise<WalletAddress | undefined> =>
    remembered.get(path) ?? lookUp(path)

  return {
    findByPath,
    async findByUrl(url) {
      const path = deps.urls.walletAddressPathOf(url)
      return path === undefined ? undefined : findByPath(path)
    }
  }
}

/** One prepared statement over three tables: Prisma would send three, and every request may need it. */
async function queryByPath(pool: Pool, path: string): Promise<WalletAddressRow | undefined> {
  const { rows } = await pool.query<WalletAddressRow>({
    name: 'wallet-address-by-path',
    text: `select w.id, w.path, w.public_name, w.account_id, w.updated_at, s.id as asset_id, s.code, s.scale
             from wallet_address w join account a on a.id = w.account_id join asset s on s.id = a.asset_id
            where w.path = $1`,
    values: [path]
  })
  return rows[0]
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
