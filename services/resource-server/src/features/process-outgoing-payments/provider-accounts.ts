import type { PoolClient } from 'pg'
import type { ProviderAccounts } from './settle-batch.js'

/** Finds the provider's accounts. */
export interface ProviderAccountDirectory {
  /** The provider's accounts in each of these assets, by asset id. Assets that have none are missing. */
  find(client: PoolClient, assetIds: Iterable<number>): Promise<ReadonlyMap<number, ProviderAccounts>>
}

/** Looks the provider's accounts up once: they are made with their asset and never change, and assets are few. */
export function createProviderAccountDirectory(): ProviderAccountDirectory {
  const known = new Map<number, ProviderAccounts>()
  return {
    async find(client, assetIds) {
      const missing = [...new Set(assetIds)].filter((id) => !known.has(id))
      if (missing.length > 0) {
        const { rows } = await client.query<ProviderAccounts & { asset_id: number }>(
          `select clearing.asset_id, clearing.id as clearing, exchange.id as exchange, fees.id as fees
             from account clearing
             join account exchange on exchange.asset_id = clearing.asset_id and exchange.kind = 'exchange'
             join account fees on fees.asset_id = clearing.asset_id and fees.kind = 'fees'
            where clearing.kind = 'clearing' and clearing.asset_id = any($1)`,
          [missing]
        )
        for (const { asset_id, ...accounts } of rows) known.set(asset_id, accounts)
      }
      return known
    }
  }
}
