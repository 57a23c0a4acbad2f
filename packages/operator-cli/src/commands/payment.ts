import { Command, Option } from 'commander'
import { limitOption, parseUrl } from '../arguments.js'
import { CommandError } from '../command-error.js'
import type { OperatorPayment } from '../operator-client.js'
import { amountCell, amountJson, instantText } from '../output.js'
import type { RunSession } from '../session.js'

interface ListOptions {
  readonly incoming?: boolean
  readonly outgoing?: boolean
  readonly walletAddress?: string
  readonly limit: number
}

/** `payment list` */
export function paymentCommand(run: RunSession): Command {
  const payment = new Command('payment').description('payments into and out of the wallets hosted here')
  payment
    .command('list')
    .description('list payments, newest first')
    .option('--incoming', 'list incoming payments')
    .addOption(new Option('--outgoing', 'list outgoing payments').conflicts('incoming'))
    .option('--wallet-address <url>', 'only those of this wallet address', parseUrl)
    .addOption(limitOption())
    .action((options: ListOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const { walletAddress, limit } = options
        const kind = kindOf(options)
        const { items, more } = await client.listPayments(kind, { walletAddress }, limit)
        print.list(items, {
          name: `${kind} payments`,
          more,
          columns: [
            ['Created', ({ createdAt }) => instantText(createdAt)],
            ['Payment', ({ id }) => id],
            ['Wallet address', (item) => item.walletAddress],
            [
              'State',
              (item) => (item.failure === undefined ? item.state : `${item.state}: ${item.failure.reason}`)
            ],
            [kind === 'incoming' ? 'Asked for' : 'Debit', ({ amount }) => amountCell(amount), 'right'],
            [kind === 'incoming' ? 'Received' : 'Sent', ({ moved }) => amountCell(moved), 'right'],
            ['Refunded', ({ refunded }) => (refunded.value === 0n ? '-' : amountCell(refunded)), 'right'],
            ...(kind === 'incoming'
              ? []
              : [['Why', ({ failure }: OperatorPayment) => failure?.meaning ?? '-'] as const])
          ],
          json: (item) => paymentJson(kind, item)
        })
      })
    )
  return payment
}

function kindOf({ incoming, outgoing }: ListOptions): 'incoming' | 'outgoing' {
  if (incoming === true) return 'incoming'
  if (outgoing === true) return 'outgoing'
  throw new CommandError('say which payments: --incoming or --outgoing')
}

function paymentJson(kind: 'incoming' | 'outgoing', payment: OperatorPayment): unknown {
  const amounts =
    kind === 'incoming'
      ? { incomingAmount: amountJson(payment.amount), receivedAmount: amountJson(payment.moved) }
      : {
          debitAmount: amountJson(payment.amount),
          sentAmount: amountJson(payment.moved),
          receiver: payment.receiver ?? null
        }
  return {
    id: payment.id,
    walletAddress: payment.walletAddress,
    state: payment.state,
    failureReason: payment.failure?.reason ?? null,
    failureMeaning: payment.failure?.meaning ?? null,
    ...amounts,
    refundedAmount: amountJson(payment.refunded),
    refundOf: payment.refundOf ?? null,
    createdAt: payment.createdAt ?? null,
    updatedAt: payment.updatedAt ?? null
  }
}
