import type { Clock, Lifecycle, Logger, Random } from '@open-payments-server/runtime'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { ResourceServerConfig } from '../config.js'
import type { RateProvider } from '../domain/rates.js'

/** What tests, and those who embed the service, may put in the place of the real thing. */
export interface ResourceServerOverrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
  readonly sharedStore?: SharedStore
  readonly rates?: RateProvider
}

/** What everything is made with. */
export interface Context {
  readonly config: ResourceServerConfig
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly random: Random
}
