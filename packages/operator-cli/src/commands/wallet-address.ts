import { Command } from 'commander'
import { limitOption } from '../arguments.js'
import type { OperatorWalletAddress } from '../operator-client.js'
import type { RunSession } from '../session.js'
import { freezeCell, freezeJson } from './freeze.js'

/** `wallet-address create|list` */
export function walletAddressCommand(run: RunSession): Command {
  const walletAddress = new Command('wallet-address').description('the public addresses of accounts')

  walletAddress
    .command('create')
    .description('create a wallet address on an account')
    .argument('<path>', 'path below the public URL, such as /alice; / for the one without a path')
    .requiredOption('--account <name>', 'account behind it')
    .option('--public-name <text>', 'name shown to counterparties')
    .action((path: string, options: { account: string; publicName?: string }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { account: accountName, publicName } = options
        const created = await client.createWalletAddress({ path, accountName, publicName })
        print.result(
          walletAddressJson(created),
          `Created ${created.url} on the account ${created.accountName}.`
        )
      })
    )

  walletAddress
    .command('list')
    .description('list wallet addresses, by path')
    .addOption(limitOption())
    .action((options: { limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more } = await client.listWalletAddresses(options.limit)
        print.list(items, {
          name: 'wallet addresses',
          more,
          columns: [
            ['Wallet address', ({ url }) => url],
            ['Public name', ({ publicName }) => publicName ?? '-'],
            ['Account', ({ accountName }) => accountName],
            ['Asset', ({ asset }) => asset.code],
            ['Keys', ({ keyIds }) => keyIds.join('\n')],
            ['Frozen', ({ freeze }) => freezeCell(freeze)]
          ],
          json: walletAddressJson
        })
      })
    )
  return walletAddress
}

function walletAddressJson(walletAddress: OperatorWalletAddress): unknown {
  const { publicName, freeze, ...others } = walletAddress
  return { ...others, publicName: publicName ?? null, ...freezeJson(freeze) }
}
