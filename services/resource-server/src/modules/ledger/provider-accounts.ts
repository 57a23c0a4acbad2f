import { type Queries, Prisma } from '../database.js'

/** The kinds of the provider's own accounts: every asset has one of each. */
export const PROVIDER_ACCOUNT_KINDS = ['outside', 'clearing', 'exchange', 'fees'] as const

/** The provider's own accounts in one asset, by kind: ids (UUID). */
export interface ProviderAccounts {
  readonly clearing: string
  readonly exchange: string
  readonly fees: string
}

/** Finds the provider's accounts. */
export interface ProviderAccountDirectory {
  /** The provider's accounts in each of these assets, by asset id. Assets without accounts are missing. */
  find(on: Queries, assetIds: Iterable<number>): Promise<ReadonlyMap<number, ProviderAccounts>>
}

/**
 * The provider's accounts in an asset.
 *
 * @param found as a {@link ProviderAccountDirectory} finds them
 * @throws Error when the asset has none
 */
export function accountsIn(assetId: number, found: ReadonlyMap<number, ProviderAccounts>): ProviderAccounts {
  const accounts = found.get(assetId)
  if (accounts === undefined) throw new Error(`asset ${assetId} has no provider accounts`)
  return accounts
}

/** Looks up the provider's accounts once: they are created with their asset and never change, and there are few assets. */
export function createProviderAccounts(): ProviderAccountDirectory {
  const known = new Map<number, ProviderAccounts>()
  return {
    async find(on, assetIds) {
      const missing = [...new Set(assetIds)].filter((id) => !known.has(id))
      if (missing.length === 0) return known
      // Prisma's models would return one row per account. It is not a prepared statement, because it is sent once per asset.
      const rows = await on.$queryRaw<(ProviderAccounts & { asset_id: number })[]>(
        Prisma.sql`select clearing.asset_id, clearing.id as clearing, exchange.id as exchange, fees.id as fees
             from account clearing
             join account exchange on exchange.asset_id = clearing.asset_id and exchange.kind = 'exchange'
             join account fees on fees.asset_id = clearing.asset_id and fees.kind = 'fees'
            where clearing.kind = 'clearing' and clearing.asset_id = any(${missing}::integer[])`
      )
      for (const { asset_id, ...accounts } of rows) known.set(asset_id, accounts)
      return known
    }
  }
}
