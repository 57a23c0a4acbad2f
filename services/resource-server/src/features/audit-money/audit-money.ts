import { type AuditCheck, type LimitsAuditor, tellViolations } from '../../domain/audit.js'
import type { Database } from '../../modules/database.js'
import { appendAudit } from '../../modules/events/index.js'
import { checkLedger } from './ledger-checks.js'
import { type LossDependencies, refusingWithoutAuthServer } from './lost-payments.js'
import { checkReservations } from './reservation-checks.js'

/** Default for how long a reservation may stay open, in seconds. */
const OPEN_AGE_MAX_SECONDS = 600

/** What an audit needs. */
export interface AuditMoneyDependencies extends LossDependencies {
  /** For the event that tells of it. */
  readonly database: Database
  readonly limitsAuditor: LimitsAuditor
  readonly config: LossDependencies['config'] & {
    /** What happens to pending payments that a freeze is about. */
    readonly FREEZE_PENDING_PAYMENTS: 'hold' | 'finish'
  }
}

/**
 * Checks every invariant of money across both services. Changes nothing, while payments continue. An event tells of the result.
 *
 * @param openAgeMaxSeconds a reservation may stay open this long; 0 means 600
 * @returns what was checked, in the order of checking
 * @throws CallRefused `not-possible` when the auth server cannot be reached
 */
export async function auditMoney(
  openAgeMaxSeconds: number,
  dependencies: AuditMoneyDependencies
): Promise<AuditCheck[]> {
  const openAge = openAgeMaxSeconds === 0 ? OPEN_AGE_MAX_SECONDS : openAgeMaxSeconds
  const holdsFrozen = dependencies.config.FREEZE_PENDING_PAYMENTS === 'hold'
  const checks = await refusingWithoutAuthServer(async () => [
    ...(await checkLedger(dependencies)),
    ...(await checkReservations({ ...dependencies, openAgeMaxSeconds: openAge, holdsFrozen })),
    await checkLimits(dependencies.limitsAuditor)
  ])
  await appendAudit(dependencies.database, checks, dependencies.clock.now())
  return checks
}

async function checkLimits(auditor: LimitsAuditor): Promise<AuditCheck> {
  const { windowCount, reservationCount, violations } = await auditor.audit()
  return {
    invariant: 'What every grant has spent equals its reservations, within its limits.',
    checkedCount: windowCount + reservationCount,
    violations: tellViolations(violations)
  }
}
