import type { CallObserver } from '@open-payments-server/grpc-transport'
import type { Logger } from '@open-payments-server/runtime'
import type { Operators } from '@open-payments-server/service-kit/operators'
import type { Telling } from '@open-payments-server/service-kit/webhooks'
import type { ResourceServerConfig } from '../config.js'
import type { AuditMoneyDependencies } from '../features/audit-money/audit-money.js'
import type { GiveUpLostDependencies } from '../features/audit-money/lost-payments.js'
import type { DecideDependencies, RuleDependencies } from '../features/approve-payments/dependencies.js'
import type { FreezeDependencies } from '../features/operate-wallets/freeze.js'
import type { PeerDependencies } from '../features/operate-peers/dependencies.js'
import type { RefundDependencies } from '../features/refund-payments/dependencies.js'
import type { AskingDependencies } from '../features/serve-holders/receivers.js'
import type { OwnershipDependencies } from '../features/state-ownership/state-ownership.js'
import type { Database } from '../modules/database.js'

/** The dependencies of the gRPC services. */
export interface GrpcDependencies
  extends
    FreezeDependencies,
    AuditMoneyDependencies,
    GiveUpLostDependencies,
    DecideDependencies,
    RuleDependencies,
    PeerDependencies,
    RefundDependencies,
    AskingDependencies,
    OwnershipDependencies {
  readonly database: Database
  readonly counters: DecideDependencies['counters'] & GiveUpLostDependencies['counters']
  readonly logger: Logger
  readonly telling: Telling
  /** Who operates. */
  readonly operators: Operators
  /** Observes every call; none unless given. */
  readonly callObserver?: CallObserver | undefined
  /** Who may operate when clients present certificates, and what audits regard as lost. */
  readonly config: Pick<
    ResourceServerConfig,
    | 'GRPC_OPERATOR_CLIENTS'
    | 'GRPC_EVENT_CLIENTS'
    | 'GRPC_HOLDER_CLIENTS'
    | 'ORPHAN_AGE_SECONDS'
    | 'FREEZE_PENDING_PAYMENTS'
    | 'OPERATOR_ISSUERS'
    | 'OPERATOR_SECOND_PERSON_FOR'
    | 'OPERATOR_SECOND_PERSON_FROM'
    | 'OPERATOR_PROPOSAL_HOURS'
  >
}
