import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { PublishedKeyDirectory } from '../../domain/client-keys.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'

/** Maximum length of the names of who orders something, in characters: what goes beyond that is cut off. */
const NAMES_LENGTH_MAX = 512

/** The names of who operates as they are recorded, separated by commas; empty for a machine in plain text. */
export function namesText(clientNames: readonly string[]): string {
  return clientNames.join(', ').slice(0, NAMES_LENGTH_MAX)
}

/** What operators' calls need. */
export interface OperatorDependencies {
  readonly database: Queries
  readonly publishedKeys: Pick<PublishedKeyDirectory, 'forget'>
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
}
