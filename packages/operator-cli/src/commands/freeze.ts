import { Argument, Command } from 'commander'
import type { OperatorClient, OperatorFreeze } from '../operator-client.js'
import { instantText } from '../output.js'
import type { RunSession } from '../session.js'

/** What can be frozen, and how the command names it afterwards. */
const KINDS = ['account', 'wallet-address', 'client'] as const

type Kind = (typeof KINDS)[number]

/** Something that can be frozen, as both commands print it. */
interface Freezable {
  readonly name: string
  /** undefined unless it is frozen. */
  readonly freeze: OperatorFreeze | undefined
}

/** `freeze account|wallet-address|client <name>` */
export function freezeCommand(run: RunSession): Command {
  return orderCommand(run, true, 'freeze', 'stop what is new: payments, quotes, and grants of a client')
}

/** `unfreeze account|wallet-address|client <name>` */
export function unfreezeCommand(run: RunSession): Command {
  return orderCommand(run, false, 'unfreeze', 'end a freeze: payments that it holds go on')
}

function orderCommand(run: RunSession, freezes: boolean, name: string, description: string): Command {
  return new Command(name)
    .description(`${description}; repeating it has no effect`)
    .addArgument(new Argument('<kind>', 'what is named').choices(KINDS))
    .argument(
      '<name>',
      "name of the account, URL of the wallet address, or URL of the client's wallet address (the thumbprint of its key, if it has none)"
    )
    .option('--reason <text>', 'why, for other operators', '')
    .action((kind: Kind, thing: string, { reason }: { reason: string }, command: Command) =>
      run(command, async ({ client, print }) => {
        const found = await order(client, kind, thing, { freezes, reason })
        const standing = found.freeze === undefined ? 'is not frozen' : 'is frozen'
        print.result(
          { kind, name: found.name, ...freezeJson(found.freeze) },
          `The ${kind.replace('-', ' ')} ${found.name} ${standing}.`
        )
      })
    )
}

async function order(
  client: OperatorClient,
  kind: Kind,
  name: string,
  order: { readonly freezes: boolean; readonly reason: string }
): Promise<Freezable> {
  switch (kind) {
    case 'account':
      return client.freezeAccount(name, order)
    case 'wallet-address': {
      const { url, freeze } = await client.freezeWalletAddress(name, order)
      return { name: url, freeze }
    }
    case 'client':
      return client.freezeClient(name, order)
  }
}

/** A freeze in the output of `--json`. */
export function freezeJson(freeze: OperatorFreeze | undefined): {
  readonly frozen: boolean
  readonly freeze: unknown
} {
  return {
    frozen: freeze !== undefined,
    freeze: freeze === undefined ? null : { ...freeze, since: instantText(freeze.since) }
  }
}

/** A freeze for a table; a dash for none. */
export function freezeCell(freeze: OperatorFreeze | undefined): string {
  if (freeze === undefined) return '-'
  return [`since ${instantText(freeze.since)}`, freeze.reason].filter((line) => line !== '').join('\n')
}
