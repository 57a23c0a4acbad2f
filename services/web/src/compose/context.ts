import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { WebConfig } from '../config.js'

/** Replacements that tests and embedding programs may provide. They are not closed here. */
export interface WebOverrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
  readonly sharedStore?: SharedStore
}

/** The dependencies shared by all parts. */
export interface Context {
  readonly config: WebConfig
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly random: Random
}
