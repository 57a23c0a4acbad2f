import {
  isLess,
  NO_PROGRESS,
  type PacketPath,
  pay,
  type PayEnd,
  type PaymentProgress,
  probe,
  type ProbedPath,
  type SendTerms
} from '@open-payments-server/interledger'
import { isSameAsset } from '@open-payments-server/value-types/amounts'
import type { FailureReason } from '../../domain/failure-reasons.js'
import type { OutgoingMethod, SendOrder, SendResult } from '../../domain/outgoing-method.js'
import { roomOf } from '../../domain/receiver.js'
import { readProgress } from '../../modules/interledger/index.js'
import type { SendPacketsDependencies } from './dependencies.js'
import { ANY_RATE } from './path-rate.js'
import { pathOver } from './peer-path.js'
import { logUnread, type PayableReceiver, stateOf } from './receiver.js'

/** How long a packet may be under way, in milliseconds. */
export const PACKET_LIFETIME_MS = 20_000

/** How long an attempt goes on, in milliseconds: what is left is sent in another one, so that others have their turn. */
const ATTEMPT_MAX_MS = 60_000

/** Codes with which a receiver does not take what the terms let a packet ask for. */
const TOO_LITTLE: ReadonlySet<string> = new Set(['F99', 'F04', 'F05', 'R01'])

/**
 * The most packets of a payment, through all attempts: a receiver that takes a unit at a time must not fill the journal. What was delivered
 * by then is what the payment costs.
 */
const PACKETS_MAX = 100_000
/**
 * The part of a payment that an attempt must deliver to be tried as often again, as a divisor: a receiver that takes a unit now and then
 * must not keep it from ending.
 */
const PROGRESS_DIVISOR = 100n

/**
 * Sends a payment over Interledger, or what is left of one: reads the receiver, probes the way, and pays what the journal says is missing.
 *
 * @throws what the database throws
 */
export async function send(
  order: SendOrder,
  signal: AbortSignal,
  dependencies: SendPacketsDependencies
): Promise<SendResult> {
  const { logger, clock } = dependencies
  const isStopped = (): boolean => signal.aborted
  if (isStopped()) return { kind: 'stopped' }
  const progress = order.isNew ? NO_PROGRESS : await progressOf(order, dependencies)
  if (missingOf(order, progress) <= 0n) return over(progress, 'partially_delivered')
  if (clock.now() >= order.sendUntilMs) return over(progress, 'rate_changed')
  if (progress.nextSequence >= PACKETS_MAX) return over(progress, 'receiver_unreachable')
  const peer = await dependencies.findPeer(order.sending.peerId)
  if (peer === undefined) throw new Error(`no peer ${order.sending.peerId} of a payment that is sent to it`)
  const sending = { ...dependencies, path: await pathOver(peer, dependencies) }
  const found = await findWay({ order, progress }, sending)
  if ('kind' in found) return found
  if (isStopped()) return { kind: 'stopped' }
  const result = await pay(
    {
      destination: found.receiver.credentials,
      terms: termsOf(order),
      path: found.path,
      progress,
      packetLifetimeMs: PACKET_LIFETIME_MS,
      untilMs: Math.min(clock.now() + ATTEMPT_MAX_MS, order.sendUntilMs),
      signal
    },
    { ...sending, journal: dependencies.journals.of(order, peer) }
  )
  if (result.progress.deliveredValue > progress.deliveredValue)
    dependencies.receivers.vouchFor(order.receiver)
  if (result.unknownPackets.length > 0) {
    const unknown = result.unknownPackets.map(({ sequence, because }) => ({ sequence, because }))
    logger.error({ paymentId: order.paymentId, unknown }, 'it is not known whether packets arrived')
  }
  const ended = readEnd(result.end, order, progress, result.progress)
  return REFUSALS.has(result.end.outcome) && ended.kind === 'ended' && ended.deliveredValue === 0n
    ? { ...ended, reason: await whyRefused(order, ended.reason, dependencies) }
    : ended
}

/**
 * Looks whether a payment of which nothing may be sent now could go on, as far as its receiver and its terms go.
 *
 * @returns ends it as one that was frozen too long, with what was delivered before
 * @throws what the database throws
 */
export async function hold(
  order: SendOrder,
  dependencies: SendPacketsDependencies
): ReturnType<OutgoingMethod['hold']> {
  const progress = await progressOf(order, dependencies)
  if (dependencies.clock.now() >= order.sendUntilMs) return over(progress, 'account_frozen')
  const receiver = await findReceiver(order, progress, dependencies)
  return 'kind' in receiver && receiver.kind !== 'later'
    ? over(progress, 'account_frozen')
    : { kind: 'stopped' }
}

/**
 * Ends a payment of which nothing more is to be sent, with what was delivered before.
 *
 * @throws what the database throws
 */
export async function conclude(
  order: SendOrder,
  reason: FailureReason,
  dependencies: Pick<SendPacketsDependencies, 'database'>
): ReturnType<OutgoingMethod['conclude']> {
  return over(await progressOf(order, dependencies), reason)
}

function termsOf({ sending, receiveValue }: SendOrder): SendTerms {
  return { sendMaxValue: sending.sendMaxValue, deliverValue: receiveValue }
}

function progressOf(
  order: SendOrder,
  { database }: Pick<SendPacketsDependencies, 'database'>
): Promise<PaymentProgress> {
  return readProgress(database, { paymentId: order.paymentId, terms: termsOf(order) })
}

/** Ends by which a receiver, or the way to it, says no more than that it takes nothing. */
const REFUSALS: ReadonlySet<PayEnd['outcome']> = new Set(['closed', 'rejected'])

/** Why a receiver takes nothing more, as its provider says; `otherwise` when it does not. */
async function whyRefused(
  order: SendOrder,
  otherwise: FailureReason,
  dependencies: SendPacketsDependencies
): Promise<FailureReason> {
  dependencies.recentReceivers.forget(order.receiver)
  const receiver = await findReceiver(order, NO_PROGRESS, dependencies)
  return 'kind' in receiver && receiver.kind === 'ended' ? receiver.reason : otherwise
}

/** What is missing of a payment. */
interface Rest {
  readonly order: SendOrder
  readonly progress: PaymentProgress
}

/**
 * The receiver, and the way to it as it is now; or how the payment goes on if there is none. A receiver that was read a moment ago, when
 * the payment was priced, is only read again if no packet reaches it like that.
 */
async function findWay(
  rest: Rest,
  dependencies: SendPacketsDependencies & { readonly path: PacketPath }
): Promise<{ readonly receiver: PayableReceiver; readonly path: ProbedPath } | SendResult> {
  const { order, progress } = rest
  const { recentReceivers } = dependencies
  const remembered = progress.nextSequence === 0 ? recentReceivers.find(order.receiver) : undefined
  if (remembered !== undefined) {
    const way = await probeWay(remembered, rest, dependencies)
    if ('path' in way) return way
    recentReceivers.forget(order.receiver)
  }
  const receiver = await findReceiver(order, progress, dependencies)
  return 'kind' in receiver ? receiver : probeWay(receiver, rest, dependencies)
}

async function probeWay(
  receiver: PayableReceiver,
  { order, progress }: Rest,
  dependencies: SendPacketsDependencies & { readonly path: PacketPath }
): Promise<{ readonly receiver: PayableReceiver; readonly path: ProbedPath } | SendResult> {
  const probed = await probe(receiver.credentials, ANY_RATE, dependencies)
  if (probed.outcome === 'failed') {
    return probed.because === 'closed'
      ? over(progress, 'receiver_completed')
      : later(order, progress, progress, 'receiver_unreachable')
  }
  return isTooBad(probed.path, order, progress)
    ? over(progress, 'rate_changed')
    : { receiver, path: probed.path }
}

/** The receiver as it is now; or how the payment goes on if it cannot be paid now. */
async function findReceiver(
  order: SendOrder,
  progress: PaymentProgress,
  { receivers, clock, logger }: SendPacketsDependencies
): Promise<PayableReceiver | SendResult> {
  const { receiver: url, receiveAsset } = order
  const reading = await receivers.readReceiver(url)
  if (reading.kind === 'not-found') return over(progress, 'receiver_not_found')
  if (reading.kind !== 'found') {
    logUnread(reading, logger)
    return later(order, progress, progress, 'receiver_unreachable')
  }
  const { receiver } = reading
  const { completed, expired } = roomOf(stateOf(receiver), clock.now())
  if (completed) return over(progress, 'receiver_completed')
  if (expired) return over(progress, 'receiver_expired')
  const { credentials } = receiver
  if (credentials === undefined || !isSameAsset(receiver.asset, receiveAsset)) {
    return over(progress, 'receiver_not_found')
  }
  return { ...receiver, credentials }
}

/** What is still to be delivered, packets of which nothing is known aside. */
function missingOf({ receiveValue }: SendOrder, progress: PaymentProgress): bigint {
  return receiveValue - progress.deliveredValue - progress.unknownDeliverValue
}

/** Whether what may still be sent cannot deliver what is missing. */
function isTooBad({ rate }: ProbedPath, order: SendOrder, progress: PaymentProgress): boolean {
  const left = order.sending.sendMaxValue - progress.sentValue - progress.unknownSentValue
  return left <= 0n || isLess(rate.high, { numerator: missingOf(order, progress), denominator: left })
}

/** What the end of an attempt means for the payment. */
function readEnd(end: PayEnd, order: SendOrder, before: PaymentProgress, after: PaymentProgress): SendResult {
  switch (end.outcome) {
    case 'complete':
      return over(after, 'partially_delivered')
    case 'spent':
      return over(after, 'rate_changed')
    case 'closed':
      return over(after, 'receiver_completed')
    case 'rejected':
      return over(after, 'receiver_unreachable')
    case 'stalled':
      return TOO_LITTLE.has(end.code ?? '')
        ? over(after, 'rate_changed')
        : later(order, before, after, 'receiver_unreachable')
    case 'late':
      return later(order, before, after, 'receiver_unreachable')
    case 'violated':
      return { kind: 'undecided' }
    case 'stopped':
      return { kind: 'stopped' }
  }
}

/** Nothing more is sent. A payment of which packets are unknown waits until they are decided. */
function over(
  progress: PaymentProgress,
  reason: FailureReason
): Extract<SendResult, { readonly kind: 'ended' | 'undecided' }> {
  const { deliveredValue, unknownSentValue } = progress
  return unknownSentValue > 0n ? { kind: 'undecided' } : { kind: 'ended', deliveredValue, reason }
}

/** What is left may be sent later. */
function later(
  { receiveValue }: SendOrder,
  before: PaymentProgress,
  after: PaymentProgress,
  reason: FailureReason
): SendResult {
  const { deliveredValue, unknownSentValue } = after
  const progressed = (deliveredValue - before.deliveredValue) * PROGRESS_DIVISOR >= receiveValue
  return { kind: 'later', deliveredValue, reason, progressed, isDecided: unknownSentValue === 0n }
}
