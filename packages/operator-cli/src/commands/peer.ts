import { type Amount, describeAmount } from '@open-payments-server/value-types/amounts'
import { Command, InvalidArgumentError, Option } from 'commander'
import { limitOption, parseScale, parseUrl, parseValue } from '../arguments.js'
import { namingRepetition } from '../movements.js'
import { amountCell, amountJson, balanceCell, instantText, type Printer } from '../output.js'
import type { NewBound, OperatorPeer, OperatorPeerToken, SettlementDirection } from '../peer-client.js'
import { readToken, requireToken } from '../peer-tokens.js'
import type { RunSession } from '../session.js'
import { addUnknownPackets } from './peer-packets.js'
import { addStatements } from './peer-statements.js'

/** Maximum number of hours that tokens overlap: 31 days. */
const OVERLAP_HOURS_MAX = 744
const OVERLAP_HOURS_DEFAULT = 24
const SECONDS_PER_HOUR = 3_600
/** What removes a bound, or all routes. */
const NONE = 'none'

interface OutgoingTokenOptions {
  readonly outgoingToken?: string
  readonly outgoingTokenFile?: string
}

interface IncomingTokenOptions {
  readonly incomingToken?: string
  readonly incomingTokenFile?: string
}

interface CreateOptions extends OutgoingTokenOptions, IncomingTokenOptions {
  readonly assetCode: string
  readonly assetScale: number
  readonly ilpAddress: string
  readonly endpoint: string
  readonly limit: bigint
  readonly weOweLimit?: bigint
  readonly packetLimit?: bigint
  readonly lowAlert?: bigint
  readonly highAlert?: bigint
  readonly route?: readonly string[]
}

interface UpdateOptions extends OutgoingTokenOptions {
  readonly ilpAddress?: string
  readonly endpoint?: string
  readonly limit?: NewBound
  readonly weOweLimit?: NewBound
  readonly packetLimit?: NewBound
  readonly lowAlert?: NewBound
  readonly highAlert?: NewBound
  readonly route?: readonly string[]
}

interface RotateOptions extends IncomingTokenOptions {
  readonly overlapHours: number
}

interface SettleOptions {
  readonly value: bigint
  readonly reference: string
  readonly key: string
  readonly direction: SettlementDirection
  readonly anotherWithReference?: boolean
}

/** `peer create|list|show|update|rotate-token|settle|statement|reconcile|unknown-packets|decide-packet` */
export function peerCommand(run: RunSession): Command {
  const peer = new Command('peer').description(
    'other providers that payments come from and go to over Interledger, and what is owed'
  )
  addCreate(peer, run)
  addReads(peer, run)
  addUpdate(peer, run)
  addRotateToken(peer, run)
  addSettle(peer, run)
  addStatements(peer, run)
  addUnknownPackets(peer, run)
  return peer
}

function addCreate(peer: Command, run: RunSession): void {
  const create = peer
    .command('create')
    .description('create a peer, and give it access')
    .argument('<name>', 'name: 1 to 64 of a-z, 0-9, "-", "_" and "."')
    .requiredOption('--asset-code <code>', 'code of the asset that its packets are counted in, such as USD')
    .requiredOption('--asset-scale <scale>', 'decimal places of that asset', parseScale)
    .requiredOption('--ilp-address <address>', 'its ILP address')
    .requiredOption('--endpoint <url>', 'URL that packets to it are posted to', parseUrl)
    .requiredOption(
      '--limit <value>',
      "the most that it may owe, in the asset's smallest unit: packets above it are refused",
      parseValue
    )
    .option('--we-owe-limit <value>', 'the most that may be owed to it; any amount by default', parseValue)
    .option('--packet-limit <value>', 'the largest packet that is taken from it; any by default', parseValue)
    .option(
      '--low-alert <value>',
      'an event tells when less than this is left of --limit; never by default',
      parseValue
    )
    .option(
      '--high-alert <value>',
      'an event tells when more than this is owed to it; never by default',
      parseValue
    )
    .option('--route <address...>', 'further ILP addresses that are reached through it')
  addOutgoingToken(create)
  addIncomingToken(create)
  create.action((name: string, options: CreateOptions, command: Command) =>
    run(command, async ({ client, print }) => {
      const created = await client.peers.create({
        name,
        asset: { code: options.assetCode, scale: options.assetScale },
        ilpAddress: options.ilpAddress,
        routes: options.route ?? [],
        endpoint: options.endpoint,
        outgoingToken: await requireToken('outgoing-token', outgoingTokenOf(options)),
        incomingToken: await requireToken('incoming-token', incomingTokenOf(options)),
        receivableLimitValue: options.limit,
        payableLimitValue: options.weOweLimit,
        packetLimitValue: options.packetLimit,
        lowAlertValue: options.lowAlert,
        highAlertValue: options.highAlert
      })
      print.result(
        peerJson(created),
        `Created the peer ${created.name} at ${created.ilpAddress}, which may owe ${amountCell(created.receivableLimit)}.`
      )
    })
  )
}

function addReads(peer: Command, run: RunSession): void {
  peer
    .command('list')
    .description('list peers with what they owe, by name')
    .addOption(limitOption())
    .action(({ limit }: { readonly limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more } = await client.peers.list(limit)
        print.list(items, {
          name: 'peers',
          more,
          columns: [
            ['Peer', ({ name }) => name],
            ['ILP address', ({ ilpAddress }) => ilpAddress],
            ['Owes', ({ receivable }) => balanceCell(receivable), 'right'],
            ['At most', ({ receivableLimit }) => boundCell(receivableLimit), 'right'],
            ['Is owed', ({ payable }) => balanceCell(payable), 'right'],
            ['At most', ({ payableLimit }) => boundCell(payableLimit), 'right']
          ],
          json: peerJson
        })
      })
    )
  peer
    .command('show')
    .description('show one peer')
    .argument('<name>', 'its name')
    .action((name: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        printPeer(print, await client.peers.show(name))
      })
    )
}

function addUpdate(peer: Command, run: RunSession): void {
  const update = peer
    .command('update')
    .description('change a peer; what is not given stays as it is')
    .argument('<name>', 'its name')
    .option('--ilp-address <address>', 'its ILP address')
    .option('--endpoint <url>', 'URL that packets to it are posted to', parseUrl)
    .option(
      '--limit <value>',
      "the most that it may owe, in the asset's smallest unit; none for any amount",
      parseBound
    )
    .option('--we-owe-limit <value>', 'the most that may be owed to it; none for any amount', parseBound)
    .option('--packet-limit <value>', 'the largest packet that is taken from it; none for any', parseBound)
    .option(
      '--low-alert <value>',
      'an event tells when less than this is left of --limit; none for never',
      parseBound
    )
    .option(
      '--high-alert <value>',
      'an event tells when more than this is owed to it; none for never',
      parseBound
    )
    .option(
      '--route <address...>',
      'all further ILP addresses that are reached through it, in place of those before; none for none'
    )
  addOutgoingToken(update)
  update.action((name: string, options: UpdateOptions, command: Command) =>
    run(command, async ({ client, print }) => {
      const changed = await client.peers.update(name, {
        ilpAddress: options.ilpAddress,
        routes: routesOf(options),
        endpoint: options.endpoint,
        outgoingToken: await readToken('outgoing-token', outgoingTokenOf(options)),
        receivableLimitValue: options.limit,
        payableLimitValue: options.weOweLimit,
        packetLimitValue: options.packetLimit,
        lowAlertValue: options.lowAlert,
        highAlertValue: options.highAlert
      })
      printPeer(print, changed)
    })
  )
}

function addRotateToken(peer: Command, run: RunSession): void {
  const rotate = peer
    .command('rotate-token')
    .description('let a peer present another token; those before it are accepted for a while')
    .argument('<name>', 'its name')
  addIncomingToken(rotate)
  rotate
    .option(
      '--overlap-hours <hours>',
      'how long the tokens before it are still accepted; 0: no more from now on',
      parseOverlap,
      OVERLAP_HOURS_DEFAULT
    )
    .action((name: string, options: RotateOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const token = await requireToken('incoming-token', incomingTokenOf(options))
        const overlapSeconds = options.overlapHours * SECONDS_PER_HOUR
        printPeer(print, await client.peers.rotateToken(name, token, overlapSeconds))
      })
    )
}

function addSettle(peer: Command, run: RunSession): void {
  peer
    .command('settle')
    .description('record that a peer paid what it owes, or was paid, outside: as through banks')
    .argument('<name>', 'its name')
    .requiredOption('--value <value>', "what was paid, in the asset's smallest unit", parseValue)
    .requiredOption('--reference <text>', 'what the bank calls it')
    .requiredOption('--key <key>', 'key that makes repeating safe: the same key has effect only once')
    .addOption(
      new Option('--direction <direction>', 'received: the peer paid; sent: the peer was paid')
        .choices(['received', 'sent'])
        .default('received')
    )
    .option(
      '--another-with-reference',
      'it is another one, though a settlement in this direction has the reference already; a program (--json) is not asked, since its key says which are one'
    )
    .action((name: string, options: SettleOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const { direction, value, reference, key } = options
        const { json = false } = command.optsWithGlobals<{ json?: boolean }>()
        const isAnother = options.anotherWithReference ?? json
        const settled = await namingRepetition(`--key ${key}`, () =>
          client.peers.settle(name, { direction, value, reference, key, isAnother })
        )
        const amount = describeAmount({ value, asset: settled.asset })
        const what = direction === 'received' ? `${amount} from` : `${amount} to`
        print.result(
          peerJson(settled),
          `Settled ${what} ${settled.name}. It owes ${balanceCell(settled.receivable)}, and is owed ${balanceCell(settled.payable)}.`
        )
      })
    )
}

function addOutgoingToken(command: Command): void {
  command
    .option('--outgoing-token <token>', 'token that is presented at its endpoint')
    .option('--outgoing-token-file <file>', 'file with that token, which other processes cannot see')
}

function addIncomingToken(command: Command): void {
  command
    .option('--incoming-token <token>', 'token that it presents here')
    .option('--incoming-token-file <file>', 'file with that token, which other processes cannot see')
}

function outgoingTokenOf({ outgoingToken, outgoingTokenFile }: OutgoingTokenOptions) {
  return { token: outgoingToken, file: outgoingTokenFile }
}

function incomingTokenOf({ incomingToken, incomingTokenFile }: IncomingTokenOptions) {
  return { token: incomingToken, file: incomingTokenFile }
}

function routesOf({ route }: UpdateOptions): readonly string[] | undefined {
  return route?.length === 1 && route[0] === NONE ? [] : route
}

function parseBound(text: string): NewBound {
  return text === NONE ? NONE : parseValue(text)
}

function parseOverlap(text: string): number {
  const hours = /^\d{1,3}$/.test(text) ? Number(text) : Infinity
  if (hours > OVERLAP_HOURS_MAX)
    throw new InvalidArgumentError(`Expected a whole number of hours from 0 to ${String(OVERLAP_HOURS_MAX)}.`)
  return hours
}

function printPeer(print: Printer, peer: OperatorPeer): void {
  print.facts(peerJson(peer), [
    ['Peer', peer.name],
    ['Id', peer.id],
    ['ILP address', peer.ilpAddress],
    ['Routes', peer.routes.length === 0 ? '-' : peer.routes.join(', ')],
    ['Endpoint', peer.endpoint],
    ['Owes', balanceCell(peer.receivable)],
    ['Owes at most', boundCell(peer.receivableLimit)],
    ['Low alert', peer.lowAlert === undefined ? 'never' : amountCell(peer.lowAlert)],
    ['High alert', peer.highAlert === undefined ? 'never' : amountCell(peer.highAlert)],
    ['Is owed', balanceCell(peer.payable)],
    ['Is owed at most', boundCell(peer.payableLimit)],
    ['Packets at most', boundCell(peer.packetLimit)],
    ['Incoming tokens', peer.incomingTokens.map(describeToken).join(', ')],
    ['Created', instantText(peer.createdAt)]
  ])
}

function describeToken({ hashPrefix, expiresAt }: OperatorPeerToken): string {
  return expiresAt === undefined ? hashPrefix : `${hashPrefix} until ${instantText(expiresAt)}`
}

function boundCell(bound: Amount | undefined): string {
  return bound === undefined ? 'any' : describeAmount(bound)
}

/** A peer in the output of `--json`. */
function peerJson(peer: OperatorPeer): unknown {
  return {
    id: peer.id,
    name: peer.name,
    asset: peer.asset,
    ilpAddress: peer.ilpAddress,
    routes: peer.routes,
    endpoint: peer.endpoint,
    receivableLimit: amountJson(peer.receivableLimit),
    payableLimit: amountJson(peer.payableLimit),
    packetLimit: amountJson(peer.packetLimit),
    lowAlert: amountJson(peer.lowAlert),
    highAlert: amountJson(peer.highAlert),
    receivable: amountJson(peer.receivable),
    payable: amountJson(peer.payable),
    incomingTokens: peer.incomingTokens.map(({ hashPrefix, createdAt, expiresAt }) => ({
      hashPrefix,
      createdAt: createdAt ?? null,
      expiresAt: expiresAt ?? null
    })),
    createdAt: peer.createdAt ?? null
  }
}
