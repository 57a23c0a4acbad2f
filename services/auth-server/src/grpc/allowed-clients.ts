import type { AllowedClients } from '@open-payments-server/grpc-transport'
import type { AuthServerConfig } from '../config.js'

/** The settings that name clients. */
export type GrpcClientLists = Pick<
  AuthServerConfig,
  | 'GRPC_INTROSPECTION_CLIENTS'
  | 'GRPC_LIMITS_CLIENTS'
  | 'GRPC_OPERATOR_CLIENTS'
  | 'GRPC_HOLDER_CLIENTS'
  | 'GRPC_EVENT_CLIENTS'
>

/** Who may call each service when clients present certificates. */
export function allowedClients(
  config: GrpcClientLists = {}
): Record<'introspection' | 'limits' | 'operator' | 'holder' | 'events', AllowedClients> {
  const {
    GRPC_INTROSPECTION_CLIENTS: introspection = [],
    GRPC_LIMITS_CLIENTS: limits = [],
    GRPC_OPERATOR_CLIENTS: operator = [],
    GRPC_HOLDER_CLIENTS: holder = [],
    GRPC_EVENT_CLIENTS: events = []
  } = config
  return {
    introspection: { everyMethod: introspection },
    limits: { everyMethod: limits },
    // The resource server audits both sides when an operator requests it, and holds the payments of frozen clients. These only
    // read, and revoke nothing.
    operator: { everyMethod: operator, furtherOf: { AuditLimits: limits, ListFrozenClients: limits } },
    holder: { everyMethod: holder },
    events: { everyMethod: [...operator, ...events] }
  }
}
