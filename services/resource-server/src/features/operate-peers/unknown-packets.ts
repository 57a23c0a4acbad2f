import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import { type PageEnd, readBase64url } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import * as interledger from '../../modules/interledger/index.js'
import {
  deliveredWithDecided,
  packetDecided,
  undecidedPacket,
  type UnknownPacket
} from '../../modules/interledger/index.js'
import { dispatchPosted } from '../../modules/ledger/index.js'
import {
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

// Its payment is locked among those that are being sent, so that no attempt begins meanwhile; then it goes on with what is known.
const DECIDE = new Statement<{ readonly known: boolean; readonly decided: boolean; readonly whole: boolean }>(
  'decide-packet',
  Prisma.sql`
  with ${undecidedPacket}, ${unleasedSending}, ${packetDecided}, ${dispatchPosted}, ${progressed(deliveredWithDecided)}, ${sendingResumed},
       ${appended(Prisma.sql`${highLiquidityEvents} union all ${partiallySentEvents}`)}
  select exists (select 1 from undecided) as known, exists (select 1 from decided) as decided,
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
  /** Whether it arrived, as the peer's statement says. */
  readonly arrived: boolean
  /** Names of whoever decides it; undefined if they are not known. */
  readonly by: string | undefined
}

/**
 * Decides what became of a packet: one that arrived is owed to the peer, and what did not may be sent again. Its payment goes on.
 *
 * @throws CallRefused `invalid`; `not-found` for a packet of which everything is known, or that is still under way; `not-possible` while its
 *   payment is being sent
 */
export async function decidePacket(
  { name, condition, arrived, by = ANONYMOUS }: PacketDecision,
  { database, clock, onPaymentCreated }: Pick<PeerDependencies, 'database' | 'clock' | 'onPaymentCreated'>
): Promise<void> {
  const bytes = readCondition(condition)
  const { id: peerId } = await requirePeer(name, database)
  const [peer] = await findSendingPeers(database, [peerId])
  if (peer === undefined) throw new Error(`peer ${name} is there and is not`)
  const nowMs = clock.now()
  const { known, decided } = await decide(database, {
    condition: bytesText(bytes),
    peerId,
    payableAccountId: peer.payableAccountId,
    arrived,
    by,
    before: instantText(nowMs - ANSWERED_WITHIN_MS),
    now: instantText(nowMs)
  })
  if (decided) {
    onPaymentCreated()
    return
  }
  throw known
    ? new CallRefused('not-possible', 'its payment is being sent now: try again in a moment')
    : new CallRefused('not-found', 'no such packet to this peer is to be decided', { field: 'condition' })
}

async function decide(
  on: Queries,
  values: Record<string, string | boolean>
): Promise<{ readonly known: boolean; readonly decided: boolean }> {
  const [row] = await DECIDE.rows(on, values)
  if (row?.whole !== true) throw new Error('a packet was decided in part')
  return row
}

function readCondition(text: string): Buffer {
  const bytes = readBase64url(text, CONDITION_BYTES)
  if (bytes !== undefined) return bytes
  throw invalidCallField('condition', 'must be an execution condition: 32 bytes in base64url')
}
