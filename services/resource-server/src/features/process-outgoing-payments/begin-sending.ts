import { inTransaction } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { frozenTooLong, insufficientFunds, notBegun, type Settlement } from '../../domain/settlement.js'
import type { Database, Queries } from '../../modules/database.js'
import type { ProviderAccountDirectory } from '../../modules/ledger/index.js'
import {
  beginSending,
  beginSendingAtOnce,
  type ClaimedSending,
  claimToSend,
  type LeasedSending,
  readValuesBeingSent,
  type SendingClaim,
  type SendingRoom
} from '../../modules/outgoing-payments/index.js'
import { type PayableBound, readPayableBounds } from '../../modules/peers/index.js'
import { lockPayable } from './lock-payable.js'
import { writeEndings } from './process-batch.js'
import { LEASE_MS } from './send-payments.js'
import { settleLeaving } from './settle-batch.js'

/**
 * For how long payments are left alone that are more than their peer may still be owed, in milliseconds: they must not keep others from beginning,
 * nor smaller ones to the same peer.
 */
const FULL_MS = 1_000
/** Maximum number of peers whose payments are left alone. */
const FULL_MAX = 10_000

/** What beginning to send payments needs. */
export interface BeginDependencies {
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
  readonly providerAccounts: ProviderAccountDirectory
  readonly counters: Pick<PaymentCounters, 'countEnded'>
  /** Whether a freeze holds the pending payments that it is about. */
  readonly holdsFrozen: boolean
}

/** The result of a round. */
export interface BegunRound {
  /** Payments that this process sends from now on. */
  readonly leased: readonly LeasedSending[]
  /** Number of those that any process may send. */
  readonly due: number
  /** Number of those that ended, because they can no longer begin. */
  readonly ended: number
  /** Whether there may be more that can begin. */
  readonly isMore: boolean
}

/** Begins to send payments, of which this process takes up to `limit`, and no more to a peer than the room allows. */
export type BeginSending = (limit: number, room: SendingRoom) => Promise<BegunRound>

/**
 * Begins to send pending payments to receivers that are hosted elsewhere, the oldest first.
 *
 * @returns begins some. No process takes those that could be too much for their peers yet.
 */
export function createBeginSending(dependencies: BeginDependencies): BeginSending {
  const { database, clock, random, counters, holdsFrozen } = dependencies
  const full = new LRUCache<string, bigint>({ max: FULL_MAX, ttl: FULL_MS })
  return async (limit, room) => {
    const nowMs = clock.now()
    const claim = { mostTo: new Map(full.entries()), holdsFrozen, nowMs }
    const lease = { leaseId: newId(clock, random), leasedUntilMs: nowMs + LEASE_MS }
    const { found, hasOthers, begun } =
      limit === 0 ? NOTHING_AT_ONCE : await beginSendingAtOnce(database, { ...claim, ...lease, limit, room })
    if (!hasOthers) return { leased: begun, due: 0, ended: 0, isMore: found === limit && begun.length > 0 }
    const passed: string[] = []
    const judged = await judge({ ...claim, limit: JUDGED_MAX }, dependencies, (peerId, room) => {
      full.set(peerId, room)
      passed.push(peerId)
    })
    for (const { settlement } of judged.endings) counters.countEnded(settlement.state)
    const ended = judged.endings.length
    const due = judged.begun
    // Others may come after those that are more than their peer may be owed: these are passed over in the next round.
    const isMore =
      (found === limit || judged.found === JUDGED_MAX) &&
      (passed.length > 0 || begun.length + due + ended > 0)
    return { leased: begun, due, ended, isMore }
  }
}

/** When this process can send nothing now: others may. */
const NOTHING_AT_ONCE = { found: 0, hasOthers: true, begun: [] } as const

/** Told of a peer (id, UUID) that may be owed so much more, and no payment of more than that. */
type OnFull = (peerId: string, room: bigint) => void

/** Maximum number of payments that one transaction judges. */
const JUDGED_MAX = 200

// Begins payments within what their peers may be owed, and ends those that cannot begin. Payments are locked first, then accounts, as wherever
// money moves.
function judge(
  claim: SendingClaim,
  { database, clock, random, providerAccounts }: BeginDependencies,
  onFull: OnFull
): Promise<{
  /** Number of payments that were found, up to the limit. */
  readonly found: number
  readonly begun: number
  readonly endings: readonly { readonly settlement: Settlement }[]
}> {
  return inTransaction(database, async (transaction: Queries) => {
    const { nowMs } = claim
    const payments = await claimToSend(transaction, claim)
    const late = payments.filter(({ beginUntilMs }) => beginUntilMs <= nowMs)
    const room = await readRoom(transaction, await readPayableBounds(transaction, peersOf(late)), nowMs)
    const judged = payments.map((payment) => ({ payment, settlement: hindrance(payment, room, nowMs) }))
    const over = judged.flatMap(({ payment, settlement }) => (settlement ? [{ payment, settlement }] : []))
    if (over.length > 0) {
      const provider = await providerAccounts.find(
        transaction,
        over.map(({ payment }) => payment.debitAssetId)
      )
      await writeEndings(transaction, settleLeaving(over, provider), () => newId(clock, random), nowMs)
    }
    const ready = judged.flatMap(({ payment, settlement }) => (settlement ? [] : [payment]))
    const begun = await withinLimits(transaction, { payments: ready, nowMs }, onFull)
    if (begun.length > 0) await beginSending(transaction, begun, nowMs)
    return { found: payments.length, begun: begun.length, endings: over }
  })
}

/**
 * How a payment ends that cannot begin; undefined if it can.
 *
 * @param room how much more the peers of those that are late may be owed, by their ids
 */
function hindrance(
  { held, frozen, beginUntilMs, sending }: ClaimedSending,
  room: ReadonlyMap<string, bigint>,
  nowMs: number
): Settlement | undefined {
  if (!held) return insufficientFunds()
  if (beginUntilMs > nowMs) return undefined
  if (frozen) return frozenTooLong()
  const left = room.get(sending.peerId)
  return notBegun(left !== undefined && left < sending.sendMaxValue)
}

/**
 * Those of some payments that may begin: so that the provider never owes a peer more than its limit, whatever arrives of those that are
 * being sent. The others stay pending.
 */
async function withinLimits(
  transaction: Queries,
  { payments, nowMs }: { readonly payments: readonly ClaimedSending[]; readonly nowMs: number },
  onFull: OnFull
): Promise<readonly ClaimedSending[]> {
  if (payments.length === 0) return []
  const bounds = await lockPayable(transaction, peersOf(payments))
  if (bounds.size === 0) return payments
  const left = new Map(await readRoom(transaction, bounds, nowMs))
  const full = new Set<string>()
  const ready = payments.filter(({ sending: { peerId, sendMaxValue } }) => {
    const room = left.get(peerId)
    if (room === undefined) return true
    if (room < sendMaxValue) {
      full.add(peerId)
      return false
    }
    left.set(peerId, room - sendMaxValue)
    return true
  })
  for (const peerId of full) onFull(peerId, left.get(peerId) ?? 0n)
  return ready
}

function peersOf(payments: readonly ClaimedSending[]): string[] {
  return [...new Set(payments.map(({ sending }) => sending.peerId))]
}

/** How much more may be sent to peers, by their ids (UUID), whatever arrives of what is being sent. Those without a limit are missing. */
async function readRoom(
  transaction: Queries,
  bounds: ReadonlyMap<string, PayableBound>,
  nowMs: number
): Promise<ReadonlyMap<string, bigint>> {
  if (bounds.size === 0) return new Map()
  const sent = await readValuesBeingSent(transaction, { peerIds: [...bounds.keys()], nowMs })
  return new Map(
    [...bounds].flatMap(([id, { limitValue, payableValue }]) =>
      limitValue === undefined ? [] : [[id, limitValue - payableValue - (sent.get(id) ?? 0n)]]
    )
  )
}
