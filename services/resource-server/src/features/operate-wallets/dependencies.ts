import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { PublishedKeyDirectory } from '../../domain/client-keys.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Database } from '../../modules/database.js'

/** What operators' calls need. */
export interface OperatorDependencies {
  readonly database: Database
  readonly publishedKeys: Pick<PublishedKeyDirectory, 'forget'>
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
}
