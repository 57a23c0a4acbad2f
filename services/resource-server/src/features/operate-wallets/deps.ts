import type { Clock, Random } from '@open-payments-server/runtime'
import type { PublishedKeyDirectory } from '../../domain/client-keys.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Database } from '../../modules/database.js'

/** What operators' calls need. */
export interface OperatorDeps {
  readonly database: Database
  readonly publishedKeys: Pick<PublishedKeyDirectory, 'forget'>
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
}
