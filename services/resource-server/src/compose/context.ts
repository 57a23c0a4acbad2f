import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { ResourceServerConfig } from '../config.js'
import type { RateProvider } from '../domain/rates.js'

/** Replacements that tests and embedding programs may provide. */
export interface ResourceServerOverrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
  readonly sharedStore?: SharedStore
  readonly rates?: RateProvider
}

/** The dependencies shared by all parts. */
export interface Context {
  readonly config: ResourceServerConfig
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly random: Random
}
