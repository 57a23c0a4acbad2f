import type { Readiness } from '@open-payments-server/health'
import type { Metrics } from '@open-payments-server/metrics'
import type { RateLimits } from '@open-payments-server/rate-limits'
import type { Lifecycle } from '@open-payments-server/runtime'
import { type Logger } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import { type Counters } from './counters.js'
import type { measureTransports } from './transports.js'
import type { AuthServerConfig } from '../config.js'
import type { ClientAuthenticator, HolderAuthorizer } from '../domain/authentication.js'
import type { ClientDirectory } from '../domain/clients.js'
import type { HeldTokens } from '../domain/held-tokens.js'
import type { InteractionReader } from '../domain/interactions.js'
import type { TokenMaker } from '../domain/issued-token.js'
import type { RevocationBus } from '../domain/revocations.js'
import type { PrismaClient } from '../generated/prisma/client.js'

/** What the features are made of. */
export interface Foundations {
  readonly config: AuthServerConfig
  readonly lifecycle: Lifecycle
  readonly logger: Logger
  readonly metrics: Metrics
  readonly counters: Counters
  /** Who is told of requests and calls; undefined where nobody may ask. */
  readonly transports: ReturnType<typeof measureTransports>
  readonly readiness: Readiness
  /** How often things may be asked for; undefined where that is not limited. */
  readonly rateLimits: RateLimits | undefined
  readonly pool: Pool
  readonly prisma: PrismaClient
  /** Reads whole tables: its statements may take long. */
  readonly patientDatabase: PrismaClient
  readonly revocations: RevocationBus
  readonly directory: ClientDirectory
  readonly authenticator: ClientAuthenticator
  readonly holders: HolderAuthorizer
  readonly heldTokens: HeldTokens
  readonly interactions: InteractionReader
  readonly tokens: TokenMaker
}
