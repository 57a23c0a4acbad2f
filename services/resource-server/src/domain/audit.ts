/** An invariant, and the audit's result for it. */
export interface AuditCheck {
  /** What must hold, in a sentence. */
  readonly invariant: string
  /** Number of rows checked. */
  readonly checkedCount: bigint
  /** One sentence per violation; empty when the invariant holds. */
  readonly violations: readonly string[]
}

/** Lets the auth server audit itself. */
export interface LimitsAuditor {
  /**
   * Checks that what each window counts equals its reservations and stays within its limits.
   *
   * @throws AuthServerUnavailable
   */
  audit(): Promise<{
    readonly windowCount: bigint
    readonly reservationCount: bigint
    readonly violations: readonly string[]
  }>
}

/** Maximum number of violations reported for one invariant. */
const VIOLATIONS_MAX = 100

/** The violations to report, of all that were found. */
export function tellViolations(violations: readonly string[]): readonly string[] {
  const more = violations.length - VIOLATIONS_MAX
  return more > 0 ? [...violations.slice(0, VIOLATIONS_MAX), `and ${more} more`] : violations
}
