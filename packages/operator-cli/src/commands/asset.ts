import { describeAmount } from '@open-payments-server/value-types/amounts'
import { Command } from 'commander'
import { parseScale } from '../arguments.js'
import type { RunSession } from '../session.js'

/** `asset create|list` */
export function assetCommand(run: RunSession): Command {
  const asset = new Command('asset').description('what money is counted in')

  asset
    .command('create')
    .description('create an asset')
    .argument('<code>', 'code in capitals, such as USD')
    .argument('<scale>', 'decimal places of its smallest unit, 0 to 255', parseScale)
    .action((code: string, scale: number, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        const created = await client.createAsset({ code, scale })
        const smallest = describeAmount({ value: 1n, asset: created })
        print.result(created, `Created the asset ${created.code}; its smallest unit is ${smallest}.`)
      })
    )

  asset
    .command('list')
    .description('list all assets')
    .action((_options, command: Command) =>
      run(command, async ({ client, print }) => {
        print.list(await client.listAssets(), {
          name: 'assets',
          columns: [
            ['Code', ({ code }) => code],
            ['Scale', ({ scale }) => String(scale), 'right']
          ],
          json: (item) => item
        })
      })
    )
  return asset
}
