import { type CallObserver, createHandlers, type GrpcService } from '@open-payments-server/grpc-transport'
import { auth, events } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { createEventService } from '@open-payments-server/service-kit/events'
import {
  admitOperators,
  createActionService,
  type OperatorActs,
  type Operators,
  type SecondPersonConfig
} from '@open-payments-server/service-kit/operators'
import { createWebhookService, type Telling } from '@open-payments-server/service-kit/webhooks'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { ClientDirectory } from '../domain/clients.js'
import type { GrantCounters, RpcCounters } from '../domain/counters.js'
import type { RevocationBus } from '../domain/revocations.js'
import { allowedClients, type GrpcClientLists } from '../grpc/allowed-clients.js'
import { type ActingDependencies, GRANT_ACTS } from '../grpc/acts.js'
import { answer } from '../grpc/answer.js'
import { endRpc } from '../grpc/end.js'
import {
  freezeClientRpc,
  getConsentRecordRpc,
  listFrozenClientsRpc,
  getGrantRpc,
  listGrantsRpc,
  revokeGrantRpc
} from '../grpc/grant-operator.js'
import {
  getAllowedGrantRpc,
  listAllowedGrantsRpc,
  lowerGrantRpc,
  pauseGrantRpc,
  stopGrantRpc
} from '../grpc/holder-grants.js'
import { introspectRpc } from '../grpc/introspection.js'
import { auditLimitsRpc } from '../grpc/limits-audit.js'
import { OPERATOR_ROLES } from '../grpc/operator-roles.js'
import { getReservationRpc, listOpenReservationsRpc, listReservationsRpc } from '../grpc/reservations.js'
import { reserveRpc } from '../grpc/reserve.js'
import { restoreRpc } from '../grpc/restore.js'
import { watchRevocationsRpc } from '../grpc/revocation-watch.js'
import { getSpentAmountsRpc } from '../grpc/spent-amounts.js'
import type { Database } from '../modules/database.js'
import { createReserveTogether } from '../modules/limits/index.js'
import type { TokenReader } from '../modules/tokens/index.js'
import { createActs } from './acts.js'

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
  /** Signals that there are events to publish. */
  readonly onEventsAppended: () => void
}

/** Everything the auth server serves over gRPC. */
export function createGrpcServices(dependencies: GrpcDependencies): GrpcService[] {
  const { telling, config } = dependencies
  const clients = allowedClients(config)
  const ofOperators = { everyMethod: config.GRPC_OPERATOR_CLIENTS ?? [] }
  const acts = createActs(dependencies)
  const services = [
    {
      definition: auth.IntrospectionServiceService,
      implementation: introspectionService(dependencies),
      clients: clients.introspection
    },
    {
      definition: auth.GrantLimitsServiceService,
      implementation: grantLimitsService(dependencies),
      clients: clients.limits
    },
    {
      definition: auth.GrantOperatorServiceService,
      implementation: grantOperatorService(dependencies, acts),
      clients: clients.operator
    },
    {
      definition: auth.HolderGrantServiceService,
      implementation: holderGrantService(dependencies),
      clients: clients.holder
    },
    createEventService({
      ...dependencies,
      ...telling,
      service: 'auth-server',
      clients: clients.events,
      readers: config.GRPC_EVENT_CLIENTS ?? []
    }),
    createActionService({ ...dependencies, acts, answer, clients: ofOperators }),
    createWebhookService({ ...dependencies, ...telling, ...telling.webhooks, acts, clients: ofOperators })
  ]
  acts.begin([GRANTS, WEBHOOKS])
  return services
}

const GRANTS = { definition: auth.GrantOperatorServiceService, roles: OPERATOR_ROLES.grants }
const WEBHOOKS = { definition: events.WebhookServiceService, roles: OPERATOR_ROLES.webhooks }

function introspectionService(dependencies: GrpcDependencies): auth.IntrospectionServiceServer {
  const handlers = createHandlers(dependencies.logger, dependencies.callObserver)
  return {
    introspect: handlers.unary(answer(introspectRpc(dependencies))),
    watchRevocations: handlers.serverStreaming(answer(watchRevocationsRpc(dependencies)))
  }
}

function grantLimitsService(dependencies: GrpcDependencies): auth.GrantLimitsServiceServer {
  const handlers = createHandlers(dependencies.logger, dependencies.callObserver)
  const reserveTogether = createReserveTogether(dependencies)
  return {
    reserve: handlers.unary(answer(reserveRpc({ ...dependencies, reserveTogether }))),
    end: handlers.unary(answer(endRpc(dependencies))),
    getSpentAmounts: handlers.unary(answer(getSpentAmountsRpc(dependencies))),
    listOpenReservations: handlers.unary(answer(listOpenReservationsRpc(dependencies))),
    listReservations: handlers.unary(answer(listReservationsRpc(dependencies))),
    restore: handlers.unary(answer(restoreRpc(dependencies)))
  }
}

function grantOperatorService(
  dependencies: GrpcDependencies,
  acts: OperatorActs<ActingDependencies>
): auth.GrantOperatorServiceServer {
  const { logger, callObserver, operators, config } = dependencies
  const { definition } = GRANTS
  const service = { ...GRANTS, readers: config.GRPC_LIMITS_CLIENTS }
  const handlers = admitOperators(createHandlers(logger, callObserver), service, { ...operators, logger })
  return {
    listGrants: handlers.unary(answer(listGrantsRpc(dependencies))),
    getGrant: handlers.unary(answer(getGrantRpc(dependencies))),
    getReservation: handlers.unary(answer(getReservationRpc(dependencies))),
    revokeGrant: handlers.unary(
      answer(acts.unary(definition.revokeGrant, GRANT_ACTS.revokeGrant, revokeGrantRpc))
    ),
    getConsentRecord: handlers.unary(answer(getConsentRecordRpc(dependencies))),
    freezeClient: handlers.unary(
      answer(acts.unary(definition.freezeClient, GRANT_ACTS.freezeClient, (on) => freezeClientRpc(true, on)))
    ),
    unfreezeClient: handlers.unary(
      answer(
        acts.unary(definition.unfreezeClient, GRANT_ACTS.unfreezeClient, (on) => freezeClientRpc(false, on))
      )
    ),
    listFrozenClients: handlers.unary(answer(listFrozenClientsRpc(dependencies))),
    auditLimits: handlers.unary(answer(auditLimitsRpc(dependencies)))
  }
}

function holderGrantService(dependencies: GrpcDependencies): auth.HolderGrantServiceServer {
  const handlers = createHandlers(dependencies.logger, dependencies.callObserver)
  return {
    listAllowedGrants: handlers.unary(answer(listAllowedGrantsRpc(dependencies))),
    getAllowedGrant: handlers.unary(answer(getAllowedGrantRpc(dependencies))),
    pauseGrant: handlers.unary(answer(pauseGrantRpc('paused', dependencies))),
    resumeGrant: handlers.unary(answer(pauseGrantRpc('resumed', dependencies))),
    lowerGrant: handlers.unary(answer(lowerGrantRpc(dependencies))),
    stopGrant: handlers.unary(answer(stopGrantRpc(dependencies)))
  }
}
