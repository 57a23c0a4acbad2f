import type { wallet } from '@open-payments-server/proto'
import { Command, InvalidArgumentError, Option } from 'commander'
import { limitOption, parseInstant, parseUrl, parseUuid, parseValue } from '../arguments.js'
import { CommandError } from '../command-error.js'
import { ApprovalClient, type OperatorApproval, type OperatorOutgoingPayment } from '../approval-client.js'
import { LifeClient } from '../life-client.js'
import type { OperatorPayment } from '../operator-client.js'
import { amountCell, amountJson, instantText, type Printer } from '../output.js'
import type { RunSession } from '../session.js'

interface ListOptions {
  readonly incoming?: boolean
  readonly outgoing?: boolean
  readonly walletAddress?: string
  readonly client?: string
  readonly state?: string
  readonly amount?: bigint
  readonly from?: Date
  readonly until?: Date
  readonly limit: number
}

/** `payment list|life|hours|show|approve|decline` */
export function paymentCommand(run: RunSession): Command {
  const payment = new Command('payment').description('payments into and out of the wallets hosted here')
  payment
    .command('list')
    .description('list payments, newest first')
    .option('--incoming', 'list incoming payments')
    .addOption(new Option('--outgoing', 'list outgoing payments').conflicts('incoming'))
    .option('--wallet-address <url>', 'only those of this wallet address', parseUrl)
    .option(
      '--client <client>',
      'only those that this client created: its wallet address, or jwk: and a thumbprint'
    )
    .option('--state <state>', 'only those in this state, such as failed')
    .option('--amount <value>', 'only those for exactly this, in the smallest unit', parseValue)
    .option('--from <instant>', 'only those created from then on (ISO 8601)', parseInstant)
    .option('--until <instant>', 'only those created before then (ISO 8601)', parseInstant)
    .addOption(limitOption())
    .action((options: ListOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const { walletAddress, state, amount: value, from: fromTime, until: untilTime, limit } = options
        const kind = kindOf(options)
        const filter = { walletAddress, client: options.client, state, value, fromTime, untilTime }
        const { items, more } = await client.listPayments(kind, filter, limit)
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
  addLifeCommands(payment, run)
  payment
    .command('show')
    .description('show an outgoing payment, and what was decided about it')
    .argument('<outgoing-payment>', 'its URL')
    .action((url: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        printPayment(print, await new ApprovalClient(client).show(url))
      })
    )
  for (const answer of ['approve', 'decline'] as const) {
    payment
      .command(answer)
      .description(`${answer} an outgoing payment that awaits approval; repeating it has no effect`)
      .argument('<outgoing-payment>', 'its URL')
      .option('--reason <text>', 'why, for the record; clients are not told', '')
      .action((url: string, { reason }: { reason: string }, command: Command) =>
        run(command, async ({ client, print }) => {
          printPayment(print, await new ApprovalClient(client).decide(answer, url, reason))
        })
      )
  }
  return payment
}

function addLifeCommands(payment: Command, run: RunSession): void {
  payment
    .command('life')
    .description('show all that belongs to a payment: its grant, its ledger entries and its outcome')
    .argument('<id>', 'its id', parseUuid)
    .action((id: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        printLife(print, await new LifeClient(client).show(id))
      })
    )
  payment
    .command('hours')
    .description('count what happened to outgoing payments in each of the last hours')
    .option('--hours <count>', 'how many hours, at most 720', parseHours, 24)
    .action((options: { hours: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        print.list(await new LifeClient(client).hours(options.hours), {
          name: 'hours',
          columns: [
            ['Hour', ({ startTime }) => instantText(startTime)],
            ['Created', ({ createdCount }) => createdCount.toString(), 'right'],
            ['Completed', ({ completedCount }) => completedCount.toString(), 'right'],
            ['Failed', ({ failedCount }) => failedCount.toString(), 'right']
          ],
          json: (hour) => hour
        })
      })
    )
}

function printLife(print: Printer, life: wallet.GetPaymentLifeResponse): void {
  const { payment, outgoing, url, client, entries } = life
  print.facts(life, [
    ['Payment', url],
    [
      'State',
      `${payment?.state ?? ''}${payment?.failureReason === '' ? '' : `: ${payment?.failureReason ?? ''}`}`
    ],
    ['Wallet address', payment?.walletAddress ?? '-'],
    ['Client', client],
    ['Grant', outgoing?.grantId ?? '-'],
    [
      'Told to the auth server',
      outgoing === undefined || outgoing.outcome === ''
        ? '-'
        : `${outgoing.outcome}, acknowledged ${instantText(outgoing.outcomeTime)}`
    ],
    ['Created', instantText(payment?.createTime)],
    ['Updated', instantText(payment?.updateTime)],
    ...entries.map((entry): [string, string] => [
      `Entry ${entry.kind}`,
      `${entry.debitAccount} to ${entry.creditAccount}, ${entry.state}, ${entry.value} ${entry.asset?.code ?? ''} (smallest unit)`
    ])
  ])
}

function printPayment(print: Printer, payment: OperatorOutgoingPayment): void {
  const { approval, failure } = payment
  print.facts(outgoingPaymentJson(payment), [
    ['Payment', payment.url],
    ['Wallet address', payment.walletAddress],
    ['Client', payment.client],
    ['Receiver', payment.receiver ?? '-'],
    [
      'State',
      failure === undefined ? payment.state : `${payment.state}: ${failure.reason}. ${failure.meaning}`
    ],
    ['Debit', amountCell(payment.amount)],
    ['Receive', amountCell(payment.receiveAmount)],
    ['Sent', amountCell(payment.moved)],
    ['Created', instantText(payment.createdAt)],
    ['Updated', instantText(payment.updatedAt)],
    ['Approval', approval === undefined ? 'not asked for' : describeApproval(approval)]
  ])
}

function describeApproval({ decision, expiresAt, decidedAt, decidedBy, reason }: OperatorApproval): string {
  if (decision === undefined) return `awaited until ${instantText(expiresAt)}`
  const by = decidedBy === undefined ? '' : ` by ${decidedBy}`
  const why = reason === undefined ? '' : ` Reason: ${reason}`
  return `${decision.name} at ${instantText(decidedAt)}${by}. ${decision.meaning}${why}`
}

function outgoingPaymentJson(payment: OperatorOutgoingPayment): unknown {
  const { approval } = payment
  return {
    ...paymentJson('outgoing', payment),
    url: payment.url,
    client: payment.client,
    receiveAmount: amountJson(payment.receiveAmount),
    approval:
      approval === undefined
        ? null
        : {
            ruleId: approval.ruleId,
            requestedAt: approval.requestedAt ?? null,
            expiresAt: approval.expiresAt ?? null,
            decision: approval.decision?.name ?? null,
            decisionMeaning: approval.decision?.meaning ?? null,
            decidedAt: approval.decidedAt ?? null,
            decidedBy: approval.decidedBy ?? null,
            reason: approval.reason ?? null
          }
  }
}

function parseHours(text: string): number {
  const hours = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (hours < 1 || hours > 720) throw new InvalidArgumentError('Expected a whole number from 1 to 720.')
  return hours
}

function kindOf({ incoming, outgoing }: ListOptions): 'incoming' | 'outgoing' {
  if (incoming === true) return 'incoming'
  if (outgoing === true) return 'outgoing'
  throw new CommandError('say which payments: --incoming or --outgoing')
}

function paymentJson(kind: 'incoming' | 'outgoing', payment: OperatorPayment): object {
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
