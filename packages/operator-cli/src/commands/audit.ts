import { Command, CommanderError, InvalidArgumentError } from 'commander'
import type { AuditCheck } from '../operator-client.js'
import type { Printer } from '../output.js'
import type { RunSession } from '../session.js'

/** Exit status of an audit that found violations. */
export const EXIT_VIOLATIONS = 1
/** Exit status of an audit that could not run: nothing is known then. */
export const EXIT_NOT_AUDITED = 2
/** Maximum number of violations of one invariant that are shown to people; `--json` shows all. */
const VIOLATIONS_SHOWN_MAX = 20

/** An audit found violations, which were already printed. */
export class ViolationsFound extends Error {
  override readonly name = 'ViolationsFound'
}

/** Exits for invalid arguments like for an audit that could not run. */
export function exitAsAudit(error: CommanderError): never {
  throw new CommanderError(error.exitCode === 0 ? 0 : EXIT_NOT_AUDITED, error.code, error.message)
}

/** `audit` */
export function auditCommand(run: RunSession): Command {
  return new Command('audit')
    .description('prove every invariant of money over both services, and name each violation')
    .option(
      '--open-reservation-age-max <seconds>',
      'how long a reservation may stay open before it counts as a violation; 600 by default',
      parseSeconds
    )
    .addHelpText('after', '\nExit status: 0 all hold, 1 violations were found, 2 it could not be run.')
    .action((options: { openReservationAgeMax?: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const checks = await client.audit(options.openReservationAgeMax ?? 0)
        // An audit that checked nothing proves nothing.
        if (checks.length === 0) throw new Error('the service answered without a single check')
        const broken = checks.filter(({ violations }) => violations.length > 0)
        print.result(auditJson(checks), describeAudit(checks, broken, print))
        if (broken.length > 0) throw new ViolationsFound()
      })
    )
}

function parseSeconds(text: string): number {
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (seconds < 1) throw new InvalidArgumentError('Expected a whole number of seconds above 0.')
  return seconds
}

function auditJson(checks: readonly AuditCheck[]): unknown {
  return { holds: checks.every(({ violations }) => violations.length === 0), checks }
}

function describeAudit(
  checks: readonly AuditCheck[],
  broken: readonly AuditCheck[],
  { colors }: Printer
): string {
  const lines = checks.flatMap(({ invariant, checkedCount, violations }) => {
    const mark = violations.length === 0 ? colors.green('✓') : colors.red('✗')
    const shown = violations.slice(0, VIOLATIONS_SHOWN_MAX).map((violation) => `    ${violation}`)
    const hidden = violations.length - shown.length
    return [
      `${mark} ${invariant} ${colors.dim(`(${String(checkedCount)} checked)`)}`,
      ...shown,
      ...(hidden > 0 ? [`    and ${String(hidden)} more: --json names them all`] : [])
    ]
  })
  const summary =
    broken.length === 0
      ? colors.green(`All ${String(checks.length)} invariants hold.`)
      : colors.red(`${String(broken.length)} of ${String(checks.length)} invariants are violated.`)
  return [...lines, '', summary].join('\n')
}
