import { isTransient } from '@open-payments-server/database'
import {
  type CallObserver,
  createHandlers,
  type GrpcService,
  RpcError,
  status,
  type UnaryHandler
} from '@open-payments-server/grpc-transport'
import { counting } from '@open-payments-server/metrics'
import { auth } from '@open-payments-server/proto'
import type { Clock, Logger } from '@open-payments-server/runtime'
import type pg from 'pg'
import type { ClientDirectory } from '../domain/clients.js'
import type { EndReservation } from '../domain/ends.js'
import type {
  GrantCounters,
  IntrospectionAnswer,
  ReservationAnswer,
  RpcCounters
} from '../domain/counters.js'
import type { RevocationBus } from '../domain/revocations.js'
import { createLimitsAuditRepository } from '../features/audit-limits/repository.js'
import { createAuditLimitsRpc } from '../features/audit-limits/rpc.js'
import { createEndReservationsRepository } from '../features/end-reservations/repository.js'
import { createEndManyRpc } from '../features/end-reservations/rpc.js'
import { createEndReservations } from '../features/end-reservations/service.js'
import { createSpentAmountsRepository } from '../features/get-spent-amounts/repository.js'
import { createGetSpentAmountsRpc } from '../features/get-spent-amounts/rpc.js'
import { createGetSpentAmounts } from '../features/get-spent-amounts/service.js'
import { createRevokeGrant } from '../features/end-grant/revoke-grant.js'
import { createIntrospectToken, type TokenWorth } from '../features/introspect-token/introspect-token.js'
import { createReservationRepository } from '../features/list-reservations/repository.js'
import {
  createListOpenReservationsRpc,
  createListReservationsRpc
} from '../features/list-reservations/rpc.js'
import { createReleaseReservationRepository } from '../features/release-reservation/repository.js'
import { createReleaseRpc } from '../features/release-reservation/rpc.js'
import { createReleaseReservation } from '../features/release-reservation/service.js'
import { createReserveManyRepository } from '../features/reserve-limits/many-repository.js'
import { createReserveLimitsRepository } from '../features/reserve-limits/repository.js'
import { createReserveManyRpc, createReserveRpc } from '../features/reserve-limits/rpc.js'
import {
  createReserveLimits,
  type ReserveLimits,
  type ReserveOutcome
} from '../features/reserve-limits/service.js'
import { createSettleReservationRepository } from '../features/settle-reservation/repository.js'
import { createSettleRpc } from '../features/settle-reservation/rpc.js'
import { createSettleReservation } from '../features/settle-reservation/service.js'
import type { Database } from '../modules/database.js'
import type { TokenReader } from '../modules/tokens/index.js'
import { allowedClients, type GrpcClientLists } from '../grpc/allowed-clients.js'
import { createListGrantsRpc, createRevokeGrantRpc } from '../grpc/grant-operator.js'
import { createIntrospectRpc } from '../grpc/introspection.js'
import { createWatchRevocationsRpc } from '../grpc/revocation-watch.js'

/** What the gRPC side stands on. */
export interface GrpcDependencies {
  /** For the hot statements; the same that Prisma uses. */
  readonly pool: pg.Pool
  readonly database: Database
  /** Reads whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly clock: Clock
  readonly logger: Logger
  /** Is told of every call; nobody unless given. */
  readonly callObserver?: CallObserver | undefined
  readonly revocations: RevocationBus
  readonly directory: Pick<ClientDirectory, 'findKey'>
  readonly tokens: TokenReader
  /** Who may call what where clients show certificates. */
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
    introspect: handlers.unary(retriable(createIntrospectRpc(introspectToken))),
    watchRevocations: handlers.serverStreaming(createWatchRevocationsRpc(revocations))
  }
}

function grantLimitsService({
  pool,
  tokens: tokenAccess,
  clock,
  logger,
  callObserver,
  counters
}: GrpcDependencies): auth.GrantLimitsServiceServer {
  const handlers = createHandlers(logger, callObserver)
  const limits = countingReservations(
    createReserveLimits({
      repository: createReserveLimitsRepository(pool),
      manyRepository: createReserveManyRepository(pool),
      tokenAccess,
      clock
    }),
    counters
  )
  const settle = createSettleReservation(createSettleReservationRepository(pool))
  const release = createReleaseReservation(createReleaseReservationRepository(pool))
  const end: EndReservation = ({ paymentId, spent }) =>
    spent === undefined ? release(paymentId) : settle(paymentId, spent)
  const endReservations = createEndReservations({ repository: createEndReservationsRepository(pool), end })
  const getSpent = createGetSpentAmounts({
    repository: createSpentAmountsRepository(pool),
    tokenAccess,
    clock
  })
  const reservations = createReservationRepository(pool)
  return {
    reserve: handlers.unary(retriable(createReserveRpc(limits))),
    settle: handlers.unary(retriable(createSettleRpc(settle))),
    release: handlers.unary(retriable(createReleaseRpc(release))),
    reserveMany: handlers.unary(retriable(createReserveManyRpc(limits, logger))),
    endMany: handlers.unary(retriable(createEndManyRpc({ endReservations, end, logger }))),
    getSpentAmounts: handlers.unary(retriable(createGetSpentAmountsRpc(getSpent))),
    listOpenReservations: handlers.unary(retriable(createListOpenReservationsRpc(reservations))),
    listReservations: handlers.unary(retriable(createListReservationsRpc(reservations)))
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
  const revokeGrant = createRevokeGrant({ database, revocations, clock })
  const revokeAndCount = counting(createRevokeGrantRpc(revokeGrant), () => {
    counters.countGrant('revoked')
  })
  return {
    listGrants: handlers.unary(retriable(createListGrantsRpc(database))),
    revokeGrant: handlers.unary(retriable(revokeAndCount)),
    auditLimits: handlers.unary(retriable(createAuditLimitsRpc(createLimitsAuditRepository(patientDatabase))))
  }
}

function answerAbout(worth: TokenWorth): IntrospectionAnswer {
  return worth.status === 'active' && worth.key === 'unavailable' ? 'key_unavailable' : worth.status
}

/** Counts what payments that ask for room are answered. */
function countingReservations(
  { reserve, reserveMany }: ReserveLimits,
  counters: Pick<RpcCounters, 'countReservation'>
): ReserveLimits {
  const count = (outcome: ReserveOutcome): void => {
    counters.countReservation(answerTo(outcome))
  }
  return {
    reserve: counting(reserve, count),
    reserveMany: counting(reserveMany, (outcomes) => {
      for (const outcome of outcomes) if (outcome.status === 'fulfilled') count(outcome.value)
    })
  }
}

function answerTo(outcome: ReserveOutcome): ReservationAnswer {
  switch (outcome.outcome) {
    case 'reserved':
      return outcome.repeated ? 'repeated' : 'reserved'
    case 'refused':
      return outcome.reason
    case 'mismatch':
    case 'other_amounts':
      return outcome.outcome
  }
}

/**
 * Says UNAVAILABLE when the database could not be asked, or gave up on a statement: every call may be repeated with the
 * effect of one, and callers repeat what is unavailable.
 */
function retriable<Request, Response>(
  handler: UnaryHandler<Request, Response>
): UnaryHandler<Request, Response> {
  return async (request, context) => {
    try {
      return await handler(request, context)
    } catch (error) {
      if (!isTransient(error)) throw error
      throw new RpcError({ code: status.UNAVAILABLE, message: 'Service unavailable', cause: error })
    }
  }
}
