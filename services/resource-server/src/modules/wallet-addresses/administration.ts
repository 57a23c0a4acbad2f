import type { Asset } from '@open-payments-server/value-types/amounts'
import type { Database, Queries } from '../database.js'
import { unlessTaken } from '../unless-taken.js'

/** A wallet address to be created. */
export interface NewWalletAddress {
  /** Id (UUID). */
  readonly id: string
  readonly path: string
  readonly publicName: string | undefined
  /** Id (UUID) of the account behind it. */
  readonly accountId: string
  readonly createdAtMs: number
}

/** A wallet address in an operator's list. */
export interface StoredWalletAddress {
  readonly path: string
  readonly publicName: string | undefined
  readonly accountName: string
  readonly asset: Asset
  /** Ids of its keys that are not revoked. */
  readonly keyIds: readonly string[]
}

/**
 * Creates a wallet address.
 *
 * @returns false when its path is taken
 */
export function createWalletAddress(
  on: Database,
  { publicName, createdAtMs, ...walletAddress }: NewWalletAddress
): Promise<boolean> {
  const createdAt = new Date(createdAtMs)
  const data = { ...walletAddress, publicName: publicName ?? null, createdAt, updatedAt: createdAt }
  return unlessTaken(on.walletAddress.create({ data }))
}

/** Finds the id (UUID) of the wallet address with a path. */
export async function findWalletAddressId(on: Queries, path: string): Promise<string | undefined> {
  return (await on.walletAddress.findUnique({ where: { path }, select: { id: true } }))?.id
}

/**
 * Lists wallet addresses by path.
 *
 * @param page.after only those with paths after this one; all paths come after the empty one
 */
export async function listWalletAddresses(
  on: Queries,
  page: { readonly after: string; readonly limit: number }
): Promise<readonly StoredWalletAddress[]> {
  const walletAddresses = await on.walletAddress.findMany({
    where: { path: { gt: page.after } },
    include: {
      account: { include: { asset: true } },
      keys: { where: { revokedAt: null }, orderBy: { kid: 'asc' }, select: { kid: true } }
    },
    orderBy: { path: 'asc' },
    take: page.limit
  })
  return walletAddresses.map(({ path, publicName, account, keys }) => ({
    path,
    publicName: publicName ?? undefined,
    accountName: account.name ?? '',
    asset: { code: account.asset.code, scale: account.asset.scale },
    keyIds: keys.map(({ kid }) => kid)
  }))
}
