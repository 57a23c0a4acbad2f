import { Command } from 'commander'
import { findAsset, limitOption, parseUrl, unknownAccount } from '../arguments.js'
import type { OperatorAccount, OperatorHolder } from '../operator-client.js'
import { amountCell, amountJson, instantText } from '../output.js'
import { LifeClient } from '../life-client.js'
import type { RunSession } from '../session.js'
import { ENTRY_COLUMNS } from './entries.js'
import { freezeCell, freezeJson } from './freeze.js'

/** `account create|list|statement|show|set-holder|clear-holder` */
export function accountCommand(run: RunSession): Command {
  const account = new Command('account').description('wallet accounts, their balances and holders')

  account
    .command('create')
    .description('create an account')
    .argument('<name>', 'name: 1 to 64 of a-z, 0-9, "-", "_" and "."')
    .requiredOption('--asset <asset>', 'its asset: USD, or USD/2 where several have that code')
    .action((name: string, options: { asset: string }, command: Command) =>
      run(command, async ({ client, print }) => {
        const created = await client.createAccount(name, await findAsset(client, options.asset))
        print.result(accountJson(created), `Created the account ${created.name} in ${created.asset.code}.`)
      })
    )

  account
    .command('list')
    .description('list accounts with their balances, by name')
    .addOption(limitOption())
    .action((options: { limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more } = await client.listAccounts(options.limit)
        print.list(items, {
          name: 'accounts',
          more,
          columns: [
            ['Account', ({ name }) => name],
            ['Balance', ({ balance }) => amountCell(balance), 'right'],
            ['Held', ({ held }) => amountCell(held), 'right'],
            ['Available', ({ available }) => amountCell(available), 'right'],
            ['Frozen', ({ freeze }) => freezeCell(freeze)]
          ],
          json: accountJson
        })
      })
    )

  account
    .command('statement')
    .description('list what moved the money of an account, newest first')
    .argument('<name>', 'its name')
    .addOption(limitOption())
    .action((name: string, options: { limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more } = await new LifeClient(client).statement(name, options.limit)
        print.list(items, { name: 'entries', more, columns: ENTRY_COLUMNS, json: (entry) => entry })
      })
    )

  account
    .command('show')
    .description('show one account')
    .argument('<name>', 'its name')
    .action((name: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        const found = await client.findAccount(name)
        if (found === undefined) throw unknownAccount(name)
        print.facts(accountJson(found), [
          ['Account', found.name],
          ['Balance', amountCell(found.balance)],
          ['Held', amountCell(found.held)],
          ['Available', amountCell(found.available)],
          ['Frozen', freezeCell(found.freeze).replace('\n', ': ')],
          ['Holder', holderText(found.holder)],
          ['Created', instantText(found.createdAt)]
        ])
      })
    )

  addHolderCommands(account, run)
  return account
}

function addHolderCommands(account: Command, run: RunSession): void {
  account
    .command('set-holder')
    .description('say who holds an account, as ID tokens name them; repeating it has no effect')
    .argument('<name>', 'its name')
    .requiredOption('--issuer <url>', 'the OpenID Connect issuer: iss of its ID tokens', parseUrl)
    .requiredOption('--sub <sub>', 'the person: sub of these ID tokens')
    .action((name: string, holder: OperatorHolder, command: Command) =>
      run(command, async ({ client, print }) => {
        const { issuer, sub } = holder
        const changed = await client.setAccountHolder(name, { issuer, sub })
        print.result(accountJson(changed), `${holderText(changed.holder)} holds the account ${changed.name}.`)
      })
    )

  account
    .command('clear-holder')
    .description('say that nobody is known to hold an account; repeating it has no effect')
    .argument('<name>', 'its name')
    .action((name: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        const changed = await client.setAccountHolder(name, undefined)
        print.result(accountJson(changed), `Nobody is known to hold the account ${changed.name}.`)
      })
    )
}

/** A holder for people; a dash for none. */
function holderText(holder: OperatorHolder | undefined): string {
  return holder === undefined ? '-' : `${holder.sub} at ${holder.issuer}`
}

/** An account in the output of `--json`. */
export function accountJson(account: OperatorAccount): unknown {
  return {
    name: account.name,
    asset: account.asset,
    balance: amountJson(account.balance),
    held: amountJson(account.held),
    available: amountJson(account.available),
    createdAt: account.createdAt ?? null,
    holder: account.holder ?? null,
    ...freezeJson(account.freeze)
  }
}
