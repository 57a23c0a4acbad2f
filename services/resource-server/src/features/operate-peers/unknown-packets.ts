import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import { conditionOf } from '@open-payments-server/interledger'
import { type PageEnd, readBase64url } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import * as interledger from '../../modules/interledger/index.js'
import {
  arrivedValueFits,
  deliveredWithDecided,
  packetDecided,
  type SentPacket,
  undecidedPacket,
  type UnknownPacket,
  unknownPacketCount
} from '../../modules/interledger/index.js'
import { dispatchPosted, holdOf } from '../../modules/ledger/index.js'
import {
  isAwaitingApproval,
  partiallySentEvents,
  progressed,
  sendingResumed,
  unleasedSending
} from '../../modules/outgoing-payments/index.js'
import { findSendingPeers, highLiquidityEvents } from '../../modules/peers/index.js'
import type { PeerDependencies } from './dependencies.js'
import { requirePeer } from './peers.js'

/** Who decided, if nobody knows the operator. */
const ANONYMOUS = 'operator'
const ANSWERED_WITHIN_MS = interledger.ANSWERED_WITHIN_SECONDS * 1_000
const CONDITION_BYTES = 32
const FULFILLMENT_BYTES = 32
const COUNTED_MAX = 1_000

/**
 * Lists packets to a peer of which it is not known what became of them, the oldest first: those that are no longer under way.
 *
 * @throws CallRefused `invalid`, or `not-found`
 */
export async function listUnknownPackets(
  order: { readonly name: string; readonly after: PageEnd | undefined; readonly limit: number },
  { database, clock }: Pick<PeerDependencies, 'database' | 'clock'>
): Promise<readonly UnknownPacket[]> {
  const { id: peerId } = await requirePeer(order.name, database)
  const { after, limit } = order
  const expiredBeforeMs = clock.now() - ANSWERED_WITHIN_MS
  return interledger.listUnknownPackets(database, { peerId, expiredBeforeMs, after, limit })
}

const COUNT = new Statement<{ readonly count: number }>(
  'count-unknown-packets',
  Prisma.sql`select ${unknownPacketCount(COUNTED_MAX, Prisma.sql`${placeholder('before')}::timestamptz`)} as count`,
  { prepared: false }
)

/** Counts the packets to all peers of which it is not known what became of them, up to 1000: those that are no longer under way. */
export async function countUnknownPackets({
  database,
  clock
}: Pick<PeerDependencies, 'database' | 'clock'>): Promise<number> {
  const [row] = await COUNT.rows(database, { before: instantText(clock.now() - ANSWERED_WITHIN_MS) })
  if (row === undefined) throw new Error('a statement that counts answered no row')
  return row.count
}

/**
 * Finds a packet, also one about which nobody decides yet: whether it is somebody's own matter does not depend on the time.
 *
 * @returns undefined when there is no such packet
 * @throws CallRefused `invalid`, or `not-found` for the peer
 */
export async function findPacket(
  { name, condition }: Pick<PacketDecision, 'name' | 'condition'>,
  { database }: Pick<PeerDependencies, 'database'>
): Promise<SentPacket | undefined> {
  const bytes = readCondition(condition)
  const { id: peerId } = await requirePeer(name, database)
  return interledger.findSentPacket(database, { condition: bytes, peerId })
}

// What arrived of a payment for which no money is held is not told: nobody pays for it.
const DELIVERED_OF_COVERED = Prisma.sql`
  select delivered.* from (${deliveredWithDecided}) delivered ${holdOf(Prisma.sql`delivered.payment_id`)} where hold.id is not null`

// Its payment is locked among those that are being sent, so that no attempt begins meanwhile; then it goes on with what is known.
const DECIDE = new Statement<{
  readonly known: boolean
  readonly fits: boolean
  readonly decided: boolean
  readonly awaiting: boolean
  readonly whole: boolean
}>(
  'decide-packet',
  Prisma.sql`
  with ${undecidedPacket}, ${unleasedSending}, ${packetDecided}, ${dispatchPosted}, ${progressed(DELIVERED_OF_COVERED)}, ${sendingResumed},
       ${appended(Prisma.sql`${highLiquidityEvents} union all ${partiallySentEvents}`)}
  select exists (select 1 from undecided) as known, coalesce((select ${arrivedValueFits} from undecided), false) as fits,
         exists (select 1 from decided) as decided,
         ${isAwaitingApproval(Prisma.sql`(select payment_id from undecided)`)} as awaiting,
         (select count(*) from decided) = (select count(*) from resumed)
         and (select count(*) from dispatched) = (select count(*) from dispatch) as whole
    from (select ${placeholder('arrived')}::boolean) as asked`
)

/** What is decided about a packet. */
export interface PacketDecision {
  /** Name of the peer. */
  readonly name: string
  /** Its execution condition in base64url. */
  readonly condition: string
  /** Whether it arrived. */
  readonly arrived: boolean
  /** Of a stand-in that arrived: how much did, in the peer's asset; undefined for all of it. */
  readonly arrivedValue?: bigint | undefined
  /** The proof that it arrived, in base64url; undefined without one. */
  readonly fulfillment?: string | undefined
  /** Names of whoever decides it; undefined if they are not known. */
  readonly by: string | undefined
}

/**
 * Decides what became of a packet: one that arrived is owed to the peer, and what did not may be sent again. Its payment goes on. A fulfillment
 * is kept with it.
 *
 * @throws CallRefused `invalid`; `not-found` for a packet of which everything is known, or that is still under way; `not-possible` while its
 *   payment is being sent, and for one that arrived while its payment awaits approval
 */
export async function decidePacket(
  decision: PacketDecision,
  { database, clock, onPaymentCreated }: Pick<PeerDependencies, 'database' | 'clock' | 'onPaymentCreated'>
): Promise<void> {
  const { name, arrived, arrivedValue, by = ANONYMOUS } = decision
  const bytes = readCondition(decision.condition)
  const fulfillment = readProof(decision, bytes)
  const { id: peerId } = await requirePeer(name, database)
  const [peer] = await findSendingPeers(database, [peerId])
  if (peer === undefined) throw new Error(`peer ${name} is there and is not`)
  const nowMs = clock.now()
  const { known, fits, decided, awaiting } = await decide(database, {
    condition: bytesText(bytes),
    peerId,
    payableAccountId: peer.payableAccountId,
    arrived,
    arrivedValue: arrivedValue?.toString() ?? null,
    fulfillment: fulfillment ? bytesText(fulfillment) : null,
    by,
    before: instantText(nowMs - ANSWERED_WITHIN_MS),
    now: instantText(nowMs)
  })
  if (decided) {
    onPaymentCreated()
    return
  }
  if (known && !fits)
    throw invalidCallField(
      'arrived_value',
      'must be of a packet that stands for others, and at most what it sends'
    )
  if (known && arrived && awaiting)
    throw new CallRefused(
      'not-possible',
      'its payment awaits approval: what was sent had been approved, so approve it first'
    )
  throw known
    ? new CallRefused('not-possible', 'its payment is being sent now: try again in a moment')
    : new CallRefused('not-found', 'no such packet to this peer is to be decided', { field: 'condition' })
}

async function decide(
  on: Queries,
  values: Record<string, string | boolean | null>
): Promise<{
  readonly known: boolean
  readonly fits: boolean
  readonly decided: boolean
  readonly awaiting: boolean
}> {
  const [row] = await DECIDE.rows(on, values)
  if (row?.whole !== true) throw new Error('a packet was decided in part')
  return row
}

/**
 * Reads the proof that a packet arrived.
 *
 * @throws CallRefused `invalid` for that of another packet, and for what contradicts it
 */
function readProof(
  { arrived, arrivedValue, fulfillment }: PacketDecision,
  condition: Buffer
): Buffer | undefined {
  if (!arrived && arrivedValue !== undefined)
    throw invalidCallField('arrived_value', 'must be empty for a packet that did not arrive')
  if (fulfillment === undefined) return undefined
  if (!arrived) throw invalidCallField('fulfillment', 'must be unset for a packet that did not arrive')
  if (arrivedValue !== undefined)
    throw invalidCallField('arrived_value', 'must be empty with a fulfillment: all of the packet arrived')
  const proof = readBase64url(fulfillment, FULFILLMENT_BYTES)
  if (proof !== undefined && conditionOf(proof).equals(condition)) return proof
  throw invalidCallField('fulfillment', 'must be 32 bytes in base64url whose SHA-256 is the condition')
}

function readCondition(text: string): Buffer {
  const bytes = readBase64url(text, CONDITION_BYTES)
  if (bytes !== undefined) return bytes
  throw invalidCallField('condition', 'must be an execution condition: 32 bytes in base64url')
}
