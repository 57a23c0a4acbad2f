import { type AuditCheck, type LimitsAuditor, tellViolations } from '../../domain/audit.js'
import { checkLedger } from './ledger-checks.js'
import { type LossDeps, refusingWithoutAuthServer } from './lost-payments.js'
import { checkReservations } from './reservation-checks.js'

/** How long a reservation may stay open where the operator does not say, in seconds. */
const OPEN_AGE_MAX_SECONDS = 600

/** What an audit needs. */
export interface AuditMoneyDeps extends LossDeps {
  readonly limitsAuditor: LimitsAuditor
}

/**
 * Proves every invariant of money over both services. Changes nothing, and lets payments go on.
 *
 * @param openAgeMaxSeconds a reservation may stay open this long; 0 means 600
 * @returns what was checked, in the order of checking
 * @throws OperationRefused `not-possible` when the auth server cannot be asked
 */
export async function auditMoney(openAgeMaxSeconds: number, deps: AuditMoneyDeps): Promise<AuditCheck[]> {
  const openAge = openAgeMaxSeconds === 0 ? OPEN_AGE_MAX_SECONDS : openAgeMaxSeconds
  return refusingWithoutAuthServer(async () => [
    ...(await checkLedger(deps.patientDatabase, deps.urls)),
    ...(await checkReservations({ ...deps, openAgeMaxSeconds: openAge })),
    await checkLimits(deps.limitsAuditor)
  ])
}

async function checkLimits(auditor: LimitsAuditor): Promise<AuditCheck> {
  const { windowCount, reservationCount, violations } = await auditor.audit()
  return {
    invariant: 'What every grant has spent equals its reservations, within its limits.',
    checkedCount: windowCount + reservationCount,
    violations: tellViolations(violations)
  }
}
