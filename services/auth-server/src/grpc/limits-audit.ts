import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { oneAtATime } from '@open-payments-server/runtime'
import { tellAudit, type TellAuditDependencies } from '../features/audit-limits/audit-limits.js'

/** Maximum number of violations that one audit reports. One is too many already; this limits the answer. */
export const VIOLATIONS_MAX = 1000

/** `GrantOperatorService.AuditLimits`. */
export function auditLimitsRpc(
  dependencies: TellAuditDependencies
): UnaryHandler<auth.AuditLimitsRequest, auth.AuditLimitsResponse> {
  // It reads all there is, on one of the few connections for that: whoever asks meanwhile gets the same answer.
  const audit = oneAtATime((violationsMax: number) => tellAudit(violationsMax, dependencies))
  return async (_request, { signal }) => {
    const { windowCount, reservationCount, violations } = await audit(VIOLATIONS_MAX + 1, signal)
    const told = violations.slice(0, VIOLATIONS_MAX)
    if (violations.length > told.length) told.push('There are more violations than can be listed here.')
    return { windowCount, reservationCount, violations: told }
  }
}
