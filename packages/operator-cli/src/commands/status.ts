import { Command } from 'commander'
import type { OperatorClient } from '../operator-client.js'
import type { OperatorPeer } from '../peer-client.js'
import type { RunSession } from '../session.js'

/** Maximum number of things of a kind that are counted. */
const COUNTED_MAX = 1_000

/** The exit status if something awaits an operator. */
export const EXIT_AWAITING = 3

/** Something awaits an operator. It has been printed. */
export class OperatorAwaited extends Error {
  override readonly name = 'OperatorAwaited'
}

/** Something that may await an operator. */
interface Matter {
  readonly what: string
  /** Counted up to {@link COUNTED_MAX}. */
  readonly count: number
  /** The command that shows them, or says what to do. */
  readonly see: string
}

/** `status` */
export function statusCommand(run: RunSession): Command {
  return new Command('status')
    .description(
      `whether both services answer, and what awaits an operator: exit status 0 for nothing, ${String(EXIT_AWAITING)} for something, 1 if a service does not answer`
    )
    .action((_options, command: Command) =>
      run(command, async ({ client, print }) => {
        const matters = await findMatters(client)
        const awaiting = matters.filter(({ count }) => count > 0)
        print.list(matters, {
          name: 'matters',
          columns: [
            ['Awaits an operator', ({ what }) => what],
            [
              'Number',
              ({ count }) => (count === COUNTED_MAX ? `${String(count)} or more` : String(count)),
              'right'
            ],
            ['See', ({ count, see }) => (count === 0 ? '-' : see)]
          ],
          json: (matter) => matter
        })
        if (awaiting.length > 0) throw new OperatorAwaited()
      })
    )
}

async function findMatters(client: OperatorClient): Promise<readonly Matter[]> {
  const [lost, peers, unknownCount, endpoints] = await Promise.all([
    client.listLostPayments(COUNTED_MAX),
    client.peers.list(COUNTED_MAX),
    client.peers.countUnknownPackets(),
    client.webhooks.countAwaiting()
  ])
  return [
    { what: 'lost payments', count: lost.items.length, see: 'lost-payment list' },
    {
      what: 'packets of which it is not known whether they arrived',
      count: unknownCount,
      see: 'peer unknown-packets'
    },
    { what: 'peers that can pay little more', count: peers.items.filter(isLow).length, see: 'peer list' },
    { what: 'peers that are owed much', count: peers.items.filter(isHigh).length, see: 'peer list' },
    { what: 'webhook endpoints that are disabled', count: endpoints.disabledCount, see: 'webhook list' },
    { what: 'webhook endpoints that fail', count: endpoints.failingCount, see: 'webhook list' }
  ]
}

function isLow({ receivableLimit, receivable, lowAlert }: OperatorPeer): boolean {
  return (
    lowAlert !== undefined &&
    receivableLimit !== undefined &&
    receivableLimit.value - receivable.value < lowAlert.value
  )
}

function isHigh({ payable, highAlert }: OperatorPeer): boolean {
  return highAlert !== undefined && payable.value > highAlert.value
}
