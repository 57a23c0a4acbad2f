import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'

/** What the provider's refunds need. */
export interface RefundDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
  /** Signals that there are events to publish. */
  readonly onEventsAppended: () => void
}
