import { type AuditCheck, type LimitsAuditor, tellViolations } from '../../domain/audit.js'
import { OperationRefused } from '../../domain/operation-refused.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { AuthServerUnavailable, type GrantLimits } from '../../domain/ports.js'
import type { Database } from '../../modules/database.js'
import { checkLedger } from './ledger-checks.js'
import { checkReservations } from './reservation-checks.js'

/** How long a reservation may stay open where the operator does not say, in seconds. */
const OPEN_AGE_MAX_SECONDS = 600

/** What an audit needs. */
export interface AuditMoneyDeps {
  /** Reads whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly urls: ResourceUrls
  readonly grantLimits: GrantLimits
  readonly limitsAuditor: LimitsAuditor
  readonly clock: { now(): number }
}

/**
 * Proves every invariant of money over both services. Changes nothing, and lets payments go on.
 *
 * @param openAgeMaxSeconds a reservation may stay open this long; 0 means 600
 * @returns what was checked, in the order of checking
 * @throws OperationRefused `not-possible` when the auth server cannot be asked
 */
export async function auditMoney(openAgeMaxSeconds: number, deps: AuditMoneyDeps): Promise<AuditCheck[]> {
  try {
    const openAge = openAgeMaxSeconds === 0 ? OPEN_AGE_MAX_SECONDS : openAgeMaxSeconds
    return [
      ...(await checkLedger(deps.patientDatabase, deps.urls)),
      ...(await checkReservations({ ...deps, openAgeMaxSeconds: openAge })),
      await checkLimits(deps.limitsAuditor)
    ]
  } catch (error) {
    if (!(error instanceof AuthServerUnavailable)) throw error
    throw new OperationRefused('not-possible', 'auth_server', 'the auth server cannot be asked now')
  }
}

async function checkLimits(auditor: LimitsAuditor): Promise<AuditCheck> {
  const { windowCount, reservationCount, violations } = await auditor.audit()
  return {
    invariant: 'What every grant has spent equals its reservations, within its limits.',
    checkedCount: windowCount + reservationCount,
    violations: tellViolations(violations)
  }
}
