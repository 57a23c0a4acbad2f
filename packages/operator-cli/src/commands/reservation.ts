import { Command } from 'commander'
import { parseUuids } from '../arguments.js'
import { CommandError } from '../command-error.js'
import type { RunSession } from '../session.js'
import {
  acceptAllPayments,
  acceptPayments,
  type RefusedReservation,
  type RestoredReservations,
  restoreReservations
} from '../reservations.js'
import { amountCell, amountJson } from '../output.js'

/** Maximum number of refused payments that are shown to people; `--json` shows all that are told. */
const REFUSED_SHOWN_MAX = 20

/** The auth server did not record some reservations. They have been printed. */
export class ReservationsRefused extends Error {
  override readonly name = 'ReservationsRefused'
}

/** `reservation restore|accept` */
export function reservationCommand(run: RunSession): Command {
  const reservation = new Command('reservation').description('what the auth server counts for payments')
  reservation
    .command('restore')
    .description(
      "record at the auth server what its database lost when it was restored to an earlier moment, from the resource server's payments; repeating it has no effect"
    )
    .addHelpText(
      'after',
      '\nLet no client in before: what is paid meanwhile is not counted with what was lost. Exit status: 0 all is recorded, 1 some is not.'
    )
    .action((_options, command: Command) =>
      run(command, async ({ client, print }) => {
        const told = await restoreReservations(client)
        print.result(toJson(told), describe(told))
        if (told.refusedCount > 0n) throw new ReservationsRefused()
      })
    )
  reservation
    .command('accept')
    .description(
      'accept payments that no grant counts, because the auth server lost their grants: the audit counts them and names them no longer; for good'
    )
    .argument('[payment-id...]', 'their ids', parseUuids)
    .option('--all', 'all whose grants are lost; what can be recorded at the auth server is recorded before')
    .requiredOption('--reason <text>', 'why; it is kept with your name')
    .action((ids: readonly string[], { all, reason }: { all?: boolean; reason: string }, command: Command) =>
      run(command, async ({ client, print }) => {
        if ((all === true) === ids.length > 0)
          throw new CommandError('say which payments: their ids, or --all', 'payment-id')
        const accepted =
          all === true ? await acceptAllPayments(client, reason) : await acceptPayments(client, ids, reason)
        print.result({ accepted }, `Accepted ${String(accepted.length)} payments.`)
      })
    )
  return reservation
}

function toJson({ restoredCount, outcomeCount, refusedCount, refused }: RestoredReservations): unknown {
  return {
    restored: String(restoredCount),
    outcomes: String(outcomeCount),
    refused: String(refusedCount),
    refusedPayments: refused.map(({ debitAmount, ...named }) => ({
      ...named,
      debitAmount: amountJson(debitAmount)
    }))
  }
}

function describe({ restoredCount, outcomeCount, refusedCount, refused }: RestoredReservations): string {
  const shown = refused.slice(0, REFUSED_SHOWN_MAX)
  const hidden = refusedCount - BigInt(shown.length)
  return [
    `Recorded ${String(restoredCount)} reservations. ${String(outcomeCount)} outcomes are delivered again.`,
    ...(refusedCount > 0n ? [`${String(refusedCount)} payments are not counted under their grants:`] : []),
    ...shown.map(describeRefused),
    ...(hidden > 0n ? [`  and ${String(hidden)} more: --json names more, and the audit`] : [])
  ].join('\n')
}

function describeRefused({ id, grantId, walletAddress, debitAmount, reason }: RefusedReservation): string {
  return `  ${id} of grant ${grantId}, ${amountCell(debitAmount)} from ${walletAddress}: ${reason}`
}
