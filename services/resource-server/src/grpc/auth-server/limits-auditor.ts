import { callUnary } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import type { LimitsAuditor } from '../../domain/audit.js'
import { failureOf } from './messages.js'

/** Maximum duration of the auth server's audit, in milliseconds: it reads whole tables. */
const AUDIT_TIMEOUT_MS = 300_000

/** The auth server's audit of itself over gRPC. */
export function createLimitsAuditor(client: auth.GrantOperatorServiceClient): LimitsAuditor {
  return {
    async audit() {
      try {
        return await callUnary(client, 'auditLimits', {}, { idempotent: true, deadlineMs: AUDIT_TIMEOUT_MS })
      } catch (error) {
        throw failureOf(error)
      }
    }
  }
}
