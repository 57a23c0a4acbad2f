import { randomUUID } from 'node:crypto'
import { describeAmount, formatAmount } from '@open-payments-server/value-types/amounts'
import { Command } from 'commander'
import { findAccountAmount, parseUuid } from '../arguments.js'
import { namingRepetition } from '../movements.js'
import type { OperatorAccount, OperatorClient } from '../operator-client.js'
import type { RunSession } from '../session.js'
import { accountJson } from './account.js'

/** `deposit <account> <amount>` */
export function depositCommand(run: RunSession): Command {
  return moneyCommand(run, {
    name: 'deposit',
    description: 'bring money into an account from outside',
    past: 'Deposited',
    move: (client, id, account, value) => client.deposit(id, account, value)
  })
}

/** `withdraw <account> <amount>` */
export function withdrawCommand(run: RunSession): Command {
  return moneyCommand(run, {
    name: 'withdraw',
    description: 'take money out of an account',
    past: 'Withdrew',
    move: (client, id, account, value) => client.withdraw(id, account, value)
  })
}

interface Movement {
  readonly name: string
  readonly description: string
  readonly past: string
  readonly move: (
    client: OperatorClient,
    id: string,
    account: string,
    value: bigint
  ) => Promise<OperatorAccount>
}

function moneyCommand(run: RunSession, { name, description, past, move }: Movement): Command {
  return new Command(name)
    .description(description)
    .argument('<account>', 'name of the account')
    .argument('<amount>', "in units of the account's asset, such as 1000.00")
    .option('--id <uuid>', 'id that makes repeating safe: the same id has effect only once', parseUuid)
    .action((accountName: string, text: string, options: { id?: string }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { amount } = await findAccountAmount(client, accountName, text)
        const id = options.id ?? randomUUID()
        const account = await namingRepetition(`--id ${id}`, () =>
          move(client, id, accountName, amount.value)
        )
        print.result(
          { id, amount: formatAmount(amount), account: accountJson(account) },
          `${past} ${describeAmount(amount)}. ${account.name} now has ${describeAmount(account.balance)} (id ${id}).`
        )
      })
    )
}
