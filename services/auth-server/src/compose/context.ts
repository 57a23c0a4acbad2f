import type { Clock, Lifecycle, Logger, Random } from '@open-payments-server/runtime'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { AuthServerConfig } from '../config.js'

/** What tests, and those who embed the service, may put in the place of the real thing. What is given here is not closed. */
export interface AuthServerOverrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
  readonly sharedStore?: SharedStore
}

/** What everything is made with. */
export interface Context {
  readonly config: AuthServerConfig
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly random: Random
}
