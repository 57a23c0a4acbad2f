import { createHandlers, type GrpcService } from '@open-payments-server/grpc-transport'
import { auth, events } from '@open-payments-server/proto'
import { createEventService } from '@open-payments-server/service-kit/events'
import {
  admitOperators,
  createActionService,
  type OperatorActs
} from '@open-payments-server/service-kit/operators'
import { createWebhookService } from '@open-payments-server/service-kit/webhooks'
import { allowedClients } from '../grpc/allowed-clients.js'
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
  resumeGrantRpc,
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
import { createReserveTogether } from '../modules/limits/index.js'
import { createActs } from './acts.js'
import type { GrpcDependencies } from './grpc-dependencies.js'

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
  const proving = { ...dependencies, ...dependencies.consentProofs }
  return {
    listAllowedGrants: handlers.unary(answer(listAllowedGrantsRpc(dependencies))),
    getAllowedGrant: handlers.unary(answer(getAllowedGrantRpc(proving))),
    pauseGrant: handlers.unary(answer(pauseGrantRpc(dependencies))),
    resumeGrant: handlers.unary(answer(resumeGrantRpc(proving))),
    lowerGrant: handlers.unary(answer(lowerGrantRpc(dependencies))),
    stopGrant: handlers.unary(answer(stopGrantRpc(dependencies)))
  }
}
