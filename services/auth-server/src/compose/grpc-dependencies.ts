import type { CallObserver } from '@open-payments-server/grpc-transport'
import type { Logger } from '@open-payments-server/runtime'
import type { Operators, SecondPersonConfig } from '@open-payments-server/service-kit/operators'
import type { Telling } from '@open-payments-server/service-kit/webhooks'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { ClientDirectory } from '../domain/clients.js'
import type { GrantCounters, RpcCounters } from '../domain/counters.js'
import type { RevocationBus } from '../domain/revocations.js'
import type { GrpcClientLists } from '../grpc/allowed-clients.js'
import type { Database } from '../modules/database.js'
import type { TokenReader } from '../modules/tokens/index.js'
import type { ConsentProofs } from './consent-proofs.js'

/** The dependencies of the gRPC services. */
export interface GrpcDependencies {
  readonly database: Database
  /** For reading whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Observes every call; none unless given. */
  readonly callObserver?: CallObserver | undefined
  readonly revocations: RevocationBus
  readonly directory: Pick<ClientDirectory, 'findKey'>
  readonly tokens: TokenReader
  /** Who may call what when clients present certificates, and which acts need a second person. */
  readonly config: GrpcClientLists & SecondPersonConfig & { readonly OPERATOR_PROPOSAL_HOURS: number }
  /** Who operates. */
  readonly operators: Operators
  readonly counters: RpcCounters & Pick<GrantCounters, 'countGrant'>
  readonly telling: Telling
  readonly consentProofs: ConsentProofs
  /** The grant endpoint exactly as wallet addresses advertise it. */
  readonly grantEndpoint: string
  /** Signals that there are events to publish. */
  readonly onEventsAppended: () => void
}
