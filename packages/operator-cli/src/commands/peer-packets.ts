import { type Command, Option } from 'commander'
import { limitOption, parseValue } from '../arguments.js'
import { CommandError } from '../command-error.js'
import { amountCell, instantText } from '../output.js'
import type { RunSession } from '../session.js'

/** Adds `peer unknown-packets` and `peer decide-packet`. */
export function addUnknownPackets(peer: Command, run: RunSession): void {
  peer
    .command('unknown-packets')
    .description('list packets to a peer of which it is not known whether they arrived, the oldest first')
    .argument('<name>', 'its name')
    .addOption(limitOption())
    .action((name: string, { limit }: { readonly limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { asset } = await client.peers.show(name)
        const { items, more } = await client.peers.unknownPackets(name, limit)
        print.list(items, {
          name: 'packets',
          more,
          columns: [
            ['Sent', ({ sentAt }) => instantText(sentAt)],
            ['Value', ({ value }) => amountCell({ value, asset }), 'right'],
            ['Condition', ({ condition }) => condition],
            ['Payment', ({ payment }) => payment],
            ['Stands for', ({ standsForLost }) => (standsForLost ? 'what was lost' : 'itself')]
          ],
          json: ({ value, ...packet }) => ({ ...packet, value: value.toString() })
        })
      })
    )
  addDecidePacket(peer, run)
}

interface DecideOptions {
  readonly condition: string
  readonly arrived?: boolean
  readonly fulfillment?: string
  readonly lost?: boolean
  readonly value?: bigint
}

function addDecidePacket(peer: Command, run: RunSession): void {
  peer
    .command('decide-packet')
    .description('say whether such a packet arrived; its payment goes on')
    .argument('<name>', 'its name')
    // No argument: one of 64 conditions begins with a minus.
    .requiredOption('--condition <condition>', 'execution condition of the packet, in base64url')
    .addOption(
      new Option(
        '--arrived',
        'the peer shows its fulfillment, or the receiver says that it received it'
      ).conflicts('lost')
    )
    .addOption(
      new Option(
        '--fulfillment <fulfillment>',
        'its fulfillment, in base64url: with it nobody must be believed'
      ).conflicts(['lost', 'value'])
    )
    .option('--lost', 'neither is shown: the peer is owed nothing for it, and what it sent may be sent again')
    .addOption(
      new Option('--value <number>', 'only so much of what it stands for, in the smallest unit of the asset')
        .argParser(parseValue)
        .conflicts('lost')
    )
    .addHelpText(
      'after',
      '\nAsk the peer for the fulfillment of the packet. That its statement has the condition proves nothing: it saw that when the packet came.' +
        '\nWithout a fulfillment, believe only what the receiver says that it received.'
    )
    .action((name: string, { condition, arrived = false, ...decision }: DecideOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const { fulfillment, lost, value: arrivedValue } = decision
        if (!arrived && lost !== true) {
          throw new CommandError('say what became of it: --arrived or --lost', 'arrived')
        }
        await client.peers.decidePacket(name, condition, { arrived, arrivedValue, fulfillment })
        const outcome = arrived ? 'arrived' : 'lost'
        print.result({ condition, outcome }, `Decided: the packet ${arrived ? 'arrived' : 'was lost'}.`)
      })
    )
}
