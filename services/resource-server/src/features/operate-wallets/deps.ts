import type { Clock, Random } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { PublishedKeyDirectory } from '../../domain/client-keys.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { WalletRepository } from './repository.js'

/** What operators' calls need. */
export interface OperatorDeps {
  readonly wallets: WalletRepository
  readonly publishedKeys: Pick<PublishedKeyDirectory, 'forget'>
  readonly pool: Pool
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
}
