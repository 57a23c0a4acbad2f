import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { AuthServerConfig } from '../config.js'

/** Replacements that tests and embedding programs may provide. They are not closed here. */
export interface AuthServerOverrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
  readonly sharedStore?: SharedStore
}

/** The dependencies shared by all parts. */
export interface Context {
  readonly config: AuthServerConfig
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly random: Random
}
