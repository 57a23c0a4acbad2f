/** One invariant, and what an audit found of it. */
export interface AuditCheck {
  /** What must hold, in a sentence. */
  readonly invariant: string
  /** How many rows were looked at. */
  readonly checkedCount: bigint
  /** One sentence for each violation; empty when it holds. */
  readonly violations: readonly string[]
}

/** Asks the auth server what it can prove of itself. */
export interface LimitsAuditor {
  /**
   * Checks that what each window counts equals its reservations and stays within its caps.
   *
   * @throws AuthServerUnavailable
   */
  audit(): Promise<{
    readonly windowCount: bigint
    readonly reservationCount: bigint
    readonly violations: readonly string[]
  }>
}

/** Most violations of one invariant that are told. */
const VIOLATIONS_MAX = 100

/** The violations that are told of all that were found. */
export function tellViolations(violations: readonly string[]): readonly string[] {
  const more = violations.length - VIOLATIONS_MAX
  return more > 0 ? [...violations.slice(0, VIOLATIONS_MAX), `and ${more} more`] : violations
}
