import type { WalletAddress } from '../../domain/wallet-address.js'
import type { Queries } from '../../modules/database.js'
import { findFirstAsset } from '../../modules/ledger/index.js'

/** A wallet address as it is served. */
export interface ServedWalletAddress extends Pick<WalletAddress, 'url' | 'publicName' | 'asset'> {
  /** In milliseconds since the Unix epoch; undefined where it is not known. */
  readonly updatedAtMs?: number
}

/** The wallet address of this provider itself, as a client of others. It has no account: nobody can pay it, or pay from it. */
export interface ProviderWalletAddress {
  /** Undefined while there is no asset. */
  find(): Promise<ServedWalletAddress | undefined>
}

/**
 * Creates the wallet address of this provider. Its asset, which others read and nothing is ever paid in, is the one that was created first.
 *
 * @param dependencies.url of the wallet address
 */
export function createProviderWalletAddress({
  database,
  url
}: {
  readonly database: Queries
  readonly url: string
}): ProviderWalletAddress {
  let known: ServedWalletAddress | undefined
  return {
    async find() {
      if (known !== undefined) return known
      const asset = await findFirstAsset(database)
      known = asset && { url, publicName: new URL(url).host, asset }
      return known
    }
  }
}
