import {
  instantText,
  inTransaction,
  placeholder,
  Statement,
  writeTogether
} from '@open-payments-server/database'
import type { FoundPacket, PaymentCredits } from '@open-payments-server/interledger'
import { newId } from '@open-payments-server/value-types/identifiers'
import { roomOf } from '../../domain/receiver.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import {
  findReceivingState,
  frozenReceivers,
  lockedReceivers,
  type LockedReceiverRow,
  readLockedReceiver,
  received,
  receivedEvents,
  receipts
} from '../../modules/incoming-payments/index.js'
import {
  findReceivedPacket,
  type KnownPacketRow,
  knownPackets,
  packetsReceived,
  readKnownPackets,
  recordedPackets
} from '../../modules/interledger/index.js'
import { accountById, lockedAccounts, moved, movements } from '../../modules/ledger/index.js'
import {
  type AcceptedTokenRow,
  acceptedTokens,
  lowLiquidities,
  lowLiquidityEvents,
  peerBounds,
  type PeerBoundsRow,
  readPeerBounds
} from '../../modules/peers/index.js'
import type { PeerArrival } from './arrival.js'
import {
  creditBatch,
  type CreditedBatch,
  type CreditState,
  type LockedReceiverInAsset,
  type PacketResult,
  type PeerPacket
} from './credit-batch.js'
import type { CreditDependencies } from './dependencies.js'

/** A packet whose peer may no longer present its token: nothing was credited for it. */
export class TokenEnded extends Error {}

/**
 * Credits packets of peers in the ledger: those that arrive while others are credited share the next transaction. Crediting throws {@link
 * TokenEnded}, too.
 */
export function createPacketCredits(dependencies: CreditDependencies): PaymentCredits<PeerArrival> {
  const { database, clock, counters, onEventsAppended } = dependencies
  const credit = writeTogether(async (packets: readonly PeerPacket[]): Promise<readonly PacketResult[]> => {
    const batch = await creditTogether(packets, dependencies)
    // After the commit: a batch that is rolled back credited nothing.
    counters.countIncomingCompleted(batch.filledCount)
    if (batch.packets.length > 0) onEventsAppended()
    return batch.results
  })
  return {
    async credit(packet) {
      const result = await credit(packet)
      if (result.outcome === 'token-ended') throw new TokenEnded('the token is no longer accepted')
      return result
    },
    async find({ from, condition, paymentId }): Promise<FoundPacket> {
      const known = await findReceivedPacket(database, condition)
      if (known?.peerId === from.peer.id) return { outcome: 'credited', value: known.value }
      const state = await findReceivingState(database, paymentId)
      if (state === undefined) return { outcome: 'over' }
      const { completed, expired } = roomOf(state, clock.now())
      return { outcome: completed || expired ? 'over' : 'open' }
    }
  }
}

// Incoming payments are locked first, then accounts, each kind in the order of ids, as wherever money moves. What the packets meet
// is read when everything is locked: a packet that comes twice at once is found the second time.
function creditTogether(
  packets: readonly PeerPacket[],
  { database, providerAccounts, clock, random }: CreditDependencies
): Promise<CreditedBatch> {
  return inTransaction(database, async (transaction: Queries) => {
    const paymentIds = [...new Set(packets.map(({ paymentId }) => paymentId))]
    const peers = packets.map(({ from }) => from.peer)
    const receivers = await lockReceivers(transaction, {
      paymentIds,
      peerAccountIds: [...new Set(peers.map(({ receivableAccountId }) => receivableAccountId))]
    })
    // The time is taken after the locks, so that nothing arrives after an expiry by waiting for one.
    const nowMs = clock.now()
    const met = await readMet(transaction, {
      paymentIds,
      now: instantText(nowMs),
      tokenHashes: [...new Set(peers.map(({ tokenHash }) => tokenHash))],
      conditions: packets.map(({ condition }) => condition.toString('hex')),
      peerIds: [...new Set(peers.map(({ id }) => id))]
    })
    const provider = await providerAccounts.find(transaction, [
      ...peers.map(({ assetId }) => assetId),
      ...[...receivers.values()].map(({ assetId }) => assetId)
    ])
    const state = { ...met, receivers, provider, nowMs }
    const batch = creditBatch(packets, state, () => newId(clock, random))
    if (batch.packets.length > 0) await writeBatch(transaction, batch, nowMs)
    return batch
  })
}

// The accounts of the receivers are found when these are locked, and every account is locked before the first row is answered.
const LOCK = new Statement<LockedReceiverRow & { readonly asset_id: number }>(
  'lock-for-packets',
  Prisma.sql`
  with ${lockedReceivers(Prisma.sql`${placeholder('paymentIds')}::uuid[]`)},
       ${lockedAccounts(Prisma.sql`array(select receiver_account_id from receiver) || ${placeholder('peerAccountIds')}::uuid[]`)}
  select receiver.*, a.asset_id from receiver ${accountById(Prisma.sql`receiver.receiver_account_id`)}
   where (select count(*) from locked_account) > 0`
)

/**
 * Locks incoming payments, and their accounts and those of peers (UUID), until the transaction ends.
 *
 * @returns those that exist, by their ids
 */
async function lockReceivers(
  transaction: Queries,
  locked: { readonly paymentIds: readonly string[]; readonly peerAccountIds: readonly string[] }
): Promise<ReadonlyMap<string, LockedReceiverInAsset>> {
  const rows = await LOCK.rows(transaction, locked)
  return new Map(rows.map((row) => [row.receiver_id, { ...readLockedReceiver(row), assetId: row.asset_id }]))
}

const rowsOf = (selected: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(select coalesce(json_agg(one), '[]') from (${selected}) one)`

const MET = new Statement<{
  readonly known: readonly KnownPacketRow[]
  readonly frozen: readonly { readonly id: string }[]
  readonly bounds: readonly PeerBoundsRow[]
  readonly tokens: readonly AcceptedTokenRow[]
}>(
  'get-what-packets-meet',
  Prisma.sql`select ${rowsOf(knownPackets)} as known, ${rowsOf(frozenReceivers)} as frozen, ${rowsOf(peerBounds)} as bounds,
                    ${rowsOf(acceptedTokens)} as tokens`
)

async function readMet(
  transaction: Queries,
  packets: {
    readonly paymentIds: readonly string[]
    readonly conditions: readonly string[]
    readonly peerIds: readonly string[]
    readonly tokenHashes: readonly string[]
    readonly now: string
  }
): Promise<Pick<CreditState, 'known' | 'frozen' | 'bounds' | 'tokens'>> {
  const [met] = await MET.rows(transaction, packets)
  if (met === undefined) throw new Error('what packets meet has no row')
  return {
    known: readKnownPackets(met.known),
    frozen: new Set(met.frozen.map(({ id }) => id)),
    bounds: readPeerBounds(met.bounds),
    tokens: new Set(met.tokens.map(({ hash }) => hash))
  }
}

// As settling payments does: a number of changed rows that is wrong fails the statement, and nothing of it is kept.
const WRITE = new Statement(
  'credit-packets',
  Prisma.sql`
  with ${recordedPackets}, ${moved}, ${received}, ${appended(Prisma.sql`${receivedEvents} union all ${lowLiquidityEvents}`)}
  select string_agg(format('crediting must change %s %s, and would change %s', wanted, name, changed), '; ')::integer as wrong
    from (values ('packets', (select count(*) from arrived), (select count(*) from packet)),
                 ('transfers', (select count(*) from movement), (select count(*) from moved)),
                 ('totals', (select count(*) from change), (select count(*) from total)),
                 ('receivers', (select count(*) from receipt), (select count(*) from received))) as part (name, wanted, changed)
   where changed <> wanted`
)

async function writeBatch(on: Queries, batch: CreditedBatch, nowMs: number): Promise<void> {
  await WRITE.rows(on, {
    ...packetsReceived(batch.packets),
    ...movements(batch.transfers, batch.totals),
    ...receipts(batch.received),
    ...lowLiquidities(batch.low),
    now: instantText(nowMs)
  })
}
