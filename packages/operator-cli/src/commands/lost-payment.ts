import { Command } from 'commander'
import { limitOption, parseUuids } from '../arguments.js'
import { CommandError } from '../command-error.js'
import type { OperatorLostPayment } from '../lost-payments.js'
import { amountCell, amountJson, instantText } from '../output.js'
import type { RunSession } from '../session.js'

/** Maximum number of lost payments that `--all` gives up: as many as a list shows. */
const ALL_MAX = 100_000

/** `lost-payment list|give-up` */
export function lostPaymentCommand(run: RunSession): Command {
  const lostPayment = new Command('lost-payment').description(
    'payments that the database lost in a failover, and that are to be decided about'
  )

  lostPayment
    .command('list')
    .description(
      'list payments that were reserved before the database changed its timeline, and are unknown now'
    )
    .addOption(limitOption())
    .action(({ limit }: { limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more } = await client.listLostPayments(limit)
        print.list(items, {
          name: 'lost payments',
          more,
          columns: [
            ['Reserved', ({ createdAt }) => instantText(createdAt)],
            ['Payment', ({ id }) => id],
            ['Grant', ({ grantId }) => grantId],
            ['State', ({ state }) => state],
            ['Wallet address', ({ walletAddress }) => walletAddress],
            ['Receiver', ({ receiver }) => receiver],
            ['Debit', ({ debitAmount }) => amountCell(debitAmount), 'right'],
            ['Receive', ({ receiveAmount }) => amountCell(receiveAmount), 'right']
          ],
          json: lostPaymentJson
        })
      })
    )

  lostPayment
    .command('give-up')
    .description(
      'give lost payments up for good: nothing is paid under their ids, and what is reserved for them is released; repeating it has no effect'
    )
    .argument('[payment-id...]', 'their ids', parseUuids)
    .option('--all', 'all that are lost now')
    .action((ids: readonly string[], { all }: { all?: boolean }, command: Command) =>
      run(command, async ({ client, print }) => {
        if ((all === true) === ids.length > 0) {
          throw new CommandError('say which payments: their ids, or --all', 'payment-id')
        }
        const asked = all === true ? (await client.listLostPayments(ALL_MAX)).items.map(({ id }) => id) : ids
        const givenUp = await client.giveUpLostPayments(asked)
        print.result({ givenUp }, `Gave up ${String(givenUp.length)} lost payments.`)
      })
    )
  return lostPayment
}

function lostPaymentJson(lost: OperatorLostPayment): unknown {
  return {
    id: lost.id,
    grantId: lost.grantId,
    client: lost.client,
    state: lost.state,
    walletAddress: lost.walletAddress,
    receiver: lost.receiver,
    debitAmount: amountJson(lost.debitAmount),
    receiveAmount: amountJson(lost.receiveAmount),
    createdAt: lost.createdAt ?? null
  }
}
