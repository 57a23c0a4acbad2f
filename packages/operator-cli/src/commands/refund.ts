import { randomUUID } from 'node:crypto'
import { describeAmount } from '@open-payments-server/value-types/amounts'
import { Command, InvalidArgumentError } from 'commander'
import { limitOption, parseUrl } from '../arguments.js'
import { namingRepetition } from '../movements.js'
import { amountCell, amountJson, instantText } from '../output.js'
import type { OperatorRefund } from '../refunds.js'
import type { RunSession } from '../session.js'

interface CreateOptions {
  readonly value: string
  readonly key?: string
  readonly returnFee?: boolean
}

/** `refund create | list` */
export function refundCommand(run: RunSession): Command {
  const refund = new Command('refund').description('give back what outgoing payments delivered')
  refund
    .command('create')
    .description('take what a payment delivered, or a part of it, from the receiver and give it to the payer')
    .argument('<payment>', 'URL of the outgoing payment', parseUrl)
    .requiredOption('--value <units>', "what to take, in the smallest units of the receiver's asset")
    .option('--key <key>', 'key that makes repeating safe: the same key has effect only once', parseKey)
    .option('--return-fee', 'return the fee too, in proportion')
    .action((refundOf: string, options: CreateOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const key = options.key ?? randomUUID()
        const order = { refundOf, value: options.value, key, returnsFee: options.returnFee === true }
        const made = await namingRepetition(`--key ${key}`, () => client.createRefund(order))
        print.result(
          { id: made.id, refundOf: made.refundOf, value: made.amount.value },
          `Took ${describeAmount(made.amount)} from the receiver and gave ${givenBy(made)} to the payer (refund ${made.id}).`
        )
      })
    )
  refund
    .command('list')
    .description('list refunds, newest first')
    .argument('[payment]', 'URL of an outgoing payment: only its refunds', parseUrl)
    .addOption(limitOption())
    .action((payment: string | undefined, { limit }: { limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more } = await client.listRefunds(payment, limit)
        print.list(items, {
          name: 'refunds',
          more,
          columns: [
            ['Created', ({ createdAt }) => instantText(createdAt)],
            ['Refund', ({ id }) => id],
            ['Of payment', (item) => item.refundOf],
            ['State', ({ state }) => state],
            ['Taken', ({ amount, settled }) => amountCell(settled ?? amount), 'right'],
            ['Returned', ({ returned }) => amountCell(returned), 'right'],
            ['Of the fee', ({ returnedFee }) => amountCell(returnedFee), 'right'],
            ['By', ({ createdBy }) => createdBy ?? '']
          ],
          json: refundJson
        })
      })
    )
  return refund
}

function parseKey(text: string): string {
  if (text === '') throw new InvalidArgumentError('Expected a key.')
  return text
}

function givenBy({ returned, returnedFee }: OperatorRefund): string {
  const fee = returnedFee.value === 0n ? '' : `, and ${describeAmount(returnedFee)} of the fee,`
  return `${amountCell(returned)}${fee}`
}

function refundJson(refund: OperatorRefund): unknown {
  return {
    id: refund.id,
    refundOf: refund.refundOf,
    payment: refund.payment ?? null,
    state: refund.state,
    value: refund.amount.value,
    refundAmount: amountJson(refund.settled ?? refund.amount),
    returnedAmount: amountJson(refund.returned),
    returnedFeeAmount: amountJson(refund.returnedFee),
    createdAt: refund.createdAt ?? null,
    createdBy: refund.createdBy ?? null
  }
}
