import type { auth } from '@open-payments-server/proto'
import { EVENT_ROLES, type RolesOf, WEBHOOK_ROLES } from '@open-payments-server/service-kit/operators'

const GRANT_OPERATOR_ROLES: RolesOf<typeof auth.GrantOperatorServiceService> = {
  listGrants: 'viewer',
  getGrant: 'viewer',
  getReservation: 'viewer',
  revokeGrant: 'operator',
  getConsentRecord: 'viewer',
  freezeClient: 'operator',
  unfreezeClient: 'operator',
  listFrozenClients: 'viewer',
  auditLimits: 'viewer'
}

/** The role that each call of an operator needs. */
export const OPERATOR_ROLES = {
  grants: GRANT_OPERATOR_ROLES,
  events: EVENT_ROLES,
  webhooks: WEBHOOK_ROLES
} as const
