import { type CallObserver, createHandlers, type GrpcService } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { counting } from '@open-payments-server/service-kit/metrics'
import type { ClientDirectory } from '../domain/clients.js'
import type {
  GrantCounters,
  IntrospectionAnswer,
  ReservationAnswer,
  RpcCounters
} from '../domain/counters.js'
import type { RevocationBus } from '../domain/revocations.js'
import { createLimitsAuditRepository } from '../features/audit-limits/audit-limits.js'
import { auditLimitsRpc } from '../grpc/limits-audit.js'
import { endRpc } from '../grpc/end.js'
import { createEndReservations } from '../features/end-reservations/end-reservations.js'
import { getSpentAmountsRpc } from '../grpc/spent-amounts.js'
import { createGetSpentAmounts } from '../features/get-spent-amounts/get-spent-amounts.js'
import { createRevokeGrant } from '../features/end-grant/revoke-grant.js'
import { createIntrospectToken, type TokenWorth } from '../features/introspect-token/introspect-token.js'
import { listOpenReservationsRpc, listReservationsRpc } from '../grpc/reservations.js'
import { reserveRpc } from '../grpc/reserve.js'
import {
  createReserveLimits,
  type ReserveLimits,
  type ReserveResult
} from '../features/reserve-limits/reserve-limits.js'
import type { Database } from '../modules/database.js'
import type { TokenReader } from '../modules/tokens/index.js'
import { answer } from '../grpc/answer.js'
import { allowedClients, type GrpcClientLists } from '../grpc/allowed-clients.js'
import { listGrantsRpc, revokeGrantRpc } from '../grpc/grant-operator.js'
import { introspectRpc } from '../grpc/introspection.js'
import { watchRevocationsRpc } from '../grpc/revocation-watch.js'

/** The dependencies of the gRPC services. */
export interface GrpcDependencies {
  readonly database: Database
  /** For reading whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly clock: Clock
  readonly logger: Logger
  /** Observes every call; none unless given. */
  readonly callObserver?: CallObserver | undefined
  readonly revocations: RevocationBus
  readonly directory: Pick<ClientDirectory, 'findKey'>
  readonly tokens: TokenReader
  /** Who may call what when clients present certificates. */
  readonly config?: GrpcClientLists | undefined
  readonly counters: RpcCounters & Pick<GrantCounters, 'countGrant'>
}

/** Everything the auth server serves over gRPC. */
export function createGrpcServices(dependencies: GrpcDependencies): GrpcService[] {
  const clients = allowedClients(dependencies.config)
  return [
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
      implementation: grantOperatorService(dependencies),
      clients: clients.operator
    }
  ]
}

function introspectionService({
  tokens,
  directory: clientDirectory,
  clock,
  logger,
  callObserver,
  revocations,
  counters
}: GrpcDependencies): auth.IntrospectionServiceServer {
  const handlers = createHandlers(logger, callObserver)
  const introspectToken = counting(
    createIntrospectToken({ tokens, clientDirectory, clock, logger }),
    (worth) => {
      counters.countIntrospection(answerAbout(worth))
    }
  )
  return {
    introspect: handlers.unary(answer(introspectRpc({ introspectToken }))),
    watchRevocations: handlers.serverStreaming(answer(watchRevocationsRpc({ revocations })))
  }
}

function grantLimitsService({
  database,
  tokens: tokenAccess,
  clock,
  logger,
  callObserver,
  counters
}: GrpcDependencies): auth.GrantLimitsServiceServer {
  const handlers = createHandlers(logger, callObserver)
  const reserveLimits = countingReservations(createReserveLimits({ database, tokenAccess, clock }), counters)
  const endReservations = createEndReservations({ database })
  const getSpentAmounts = createGetSpentAmounts({ database, tokenAccess, clock })
  return {
    reserve: handlers.unary(answer(reserveRpc({ reserveLimits, logger }))),
    end: handlers.unary(answer(endRpc({ endReservations, logger }))),
    getSpentAmounts: handlers.unary(answer(getSpentAmountsRpc({ getSpentAmounts }))),
    listOpenReservations: handlers.unary(answer(listOpenReservationsRpc({ database }))),
    listReservations: handlers.unary(answer(listReservationsRpc({ database })))
  }
}

function grantOperatorService({
  patientDatabase,
  database,
  clock,
  logger,
  callObserver,
  revocations,
  counters
}: GrpcDependencies): auth.GrantOperatorServiceServer {
  const handlers = createHandlers(logger, callObserver)
  const repository = createLimitsAuditRepository({ patientDatabase })
  const revokeGrant = createRevokeGrant({ database, revocations, clock })
  const revokeAndCount = counting(revokeGrantRpc({ revokeGrant }), () => {
    counters.countGrant('revoked')
  })
  return {
    listGrants: handlers.unary(answer(listGrantsRpc({ database }))),
    revokeGrant: handlers.unary(answer(revokeAndCount)),
    auditLimits: handlers.unary(answer(auditLimitsRpc({ repository })))
  }
}

function answerAbout(worth: TokenWorth): IntrospectionAnswer {
  return worth.status === 'active' && worth.key === 'unavailable' ? 'key-unavailable' : worth.status
}

/** Counts the answers to reservations. */
function countingReservations(
  reserveLimits: ReserveLimits,
  counters: Pick<RpcCounters, 'countReservation'>
): ReserveLimits {
  return counting(reserveLimits, (results) => {
    for (const result of results) {
      if (result.status === 'fulfilled') counters.countReservation(answerTo(result.value))
    }
  })
}

function answerTo(result: ReserveResult): ReservationAnswer {
  switch (result.kind) {
    case 'reserved':
      return result.wasReservedBefore ? 'repeated' : 'reserved'
    case 'refused':
      return result.reason
    case 'mismatch':
    case 'other-amounts':
      return result.kind
  }
}
