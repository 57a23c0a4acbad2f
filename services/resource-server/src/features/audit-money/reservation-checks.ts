import { setTimeout as delay } from 'node:timers/promises'
import type { Amount } from '@open-payments-server/value-types/amounts'
import { contentHash } from '@open-payments-server/value-types/identifiers'
import { type AuditCheck, tellViolations } from '../../domain/audit.js'
import type { Reservation } from '../../domain/ports.js'
import { findLost, type LossDependencies, readLossBound } from './lost-payments.js'
import type { PersistedPayment, OutcomeEntry } from './outcome-entries.js'
import { type Pair, type PairDependencies, readPair, readPairs } from './pairs.js'

/** Maximum number of disagreements that are checked again. */
const DOUBTS_MAX = 1_000

/** Time within which anything in flight between the two services is delivered. */
const DOUBT_MS = 1_000

/** What comparing needs. */
export interface ReservationCheckDependencies extends LossDependencies {
  /** A reservation may stay open this long. */
  readonly openAgeMaxSeconds: number
  /** Whether a freeze holds the pending payments that it is about. */
  readonly holdsFrozen: boolean
}

/**
 * Compares the auth server's reservations with this service's payments, one to one. Both change meanwhile, so disagreements
 * are checked again after a while, and only those that remain are violations.
 */
export async function checkReservations(dependencies: ReservationCheckDependencies): Promise<AuditCheck[]> {
  let count = 0n
  const doubts: Pair[] = []
  const stale: string[] = []
  const lost: string[] = []
  let acceptedCount = 0n
  const changed: string[] = []
  const olderThanMs = dependencies.clock.now() - dependencies.openAgeMaxSeconds * 1_000
  const lossBoundMs = await readLossBound(dependencies)
  for await (const pair of readPairs(undefined, dependencies)) {
    count += 1n
    if (pair.entry?.acceptance !== undefined) acceptedCount += 1n
    if (pair.entry?.acceptance === 'changed')
      changed.push(
        `payment ${pair.paymentId}: here ${describeEntry(pair.entry)}, which is not what was accepted`
      )
    const lostPayment = findLost(pair, lossBoundMs)
    if (lostPayment !== undefined) {
      lost.push(describeLost(lostPayment))
      continue
    }
    if (findDisagreement(pair, { olderThanMs, lossBoundMs }) !== undefined) doubts.push(pair)
    const { reservation, entry } = pair
    const isWaiting =
      entry?.outcome === null && entry.payment !== undefined && mayWait(entry.payment, dependencies)
    if (reservation?.state === 'open' && openSinceMs(reservation, entry) < olderThanMs && !isWaiting) {
      stale.push(
        `reservation ${pair.paymentId} is open since ${new Date(reservation.createdAtMs).toISOString()}`
      )
    }
  }
  const disagreements =
    doubts.length === 0 ? [] : await lookAgain(doubts, { olderThanMs, lossBoundMs }, dependencies)
  return [
    {
      invariant:
        'Every payment has one reservation and every reservation one payment, settled with what was really sent.',
      checkedCount: count,
      violations: tellViolations(disagreements)
    },
    {
      invariant: `No reservation stays open for more than ${dependencies.openAgeMaxSeconds} seconds, unless a freeze holds its payment or another provider is being paid.`,
      checkedCount: count,
      violations: tellViolations(stale)
    },
    {
      invariant: 'No payment was lost that was reserved before the database changed its timeline.',
      checkedCount: count,
      violations: tellViolations(lost)
    },
    {
      invariant: 'Each payment that an operator accepted because its grant was lost is what it was then.',
      checkedCount: acceptedCount,
      violations: tellViolations(changed)
    }
  ]
}

/** Whether something else than the services keeps the reservation of a payment open. */
function mayWait(
  { isFrozen, isElsewhere }: PersistedPayment,
  { holdsFrozen }: Pick<ReservationCheckDependencies, 'holdsFrozen'>
): boolean {
  return isElsewhere || (holdsFrozen && isFrozen)
}

/** Since when nothing but the services keeps a reservation open, in milliseconds since the Unix epoch. */
function openSinceMs(reservation: Reservation, entry: OutcomeEntry | undefined): number {
  return Math.max(reservation.createdAtMs, entry?.payment?.awaitedApprovalUntilMs ?? 0)
}

/** Instants in milliseconds since the Unix epoch. */
interface Bounds {
  /** A reservation from before without a payment can no longer be one whose payment is just being persisted. */
  readonly olderThanMs: number
  /** See {@link readLossBound}. */
  readonly lossBoundMs: number
}

/** The disagreement between the two, in words; undefined when they agree, or may agree soon. */
function findDisagreement(
  { paymentId, reservation, entry }: Pair,
  { olderThanMs, lossBoundMs }: Bounds
): string | undefined {
  const here = entry === undefined ? 'nothing' : describeEntry(entry)
  const there = reservation === undefined ? 'nothing' : describeReservation(reservation)
  const told = `payment ${paymentId}: here ${here}, at the auth server ${there}`
  if (reservation === undefined) {
    // The auth server lost the grant, and an operator took note of the payment.
    if (entry?.acceptance === 'valid') return undefined
    // The auth server knows of a payment id that was given up only after the outcome was delivered.
    return entry === undefined || (entry.payment === undefined && !entry.delivered) ? undefined : told
  }
  if (entry === undefined) {
    const inFlight = reservation.state === 'open' && reservation.createdAtMs >= olderThanMs
    // The database lost what is known here of an id under which nothing was spent: there is nothing to decide.
    const lostWithNothing = reservation.state === 'released' && reservation.createdAtMs < lossBoundMs
    return inFlight || lostWithNothing || reservation.state === 'refused' ? undefined : told
  }
  const differing = entry.payment === undefined ? [] : findDifferences(reservation, entry.payment)
  if (differing.length > 0) return `payment ${paymentId}: ${differing.join('; ')}`
  return agrees(reservation, entry) ? undefined : told
}

/**
 * How a payment differs from its reservation, in words. A refusal does not say what it refused, and neither does the release of a
 * payment whose reservation the auth server lost.
 */
function findDifferences(reservation: Reservation, payment: PersistedPayment): string[] {
  const { state, contentHash: content } = reservation
  if (state === 'refused' || (state === 'released' && content === undefined)) return []
  return Object.entries({
    grant: [payment.grantId, reservation.grantId],
    client: [payment.client, reservation.client],
    'wallet address': [payment.walletAddress, reservation.walletAddress],
    receiver: [payment.receiver, reservation.receiver],
    debit: [describeAmount(payment.debitAmount), describeAmount(reservation.debitAmount)],
    receive: [describeAmount(payment.receiveAmount), describeAmount(reservation.receiveAmount)],
    'time of charge': [describeInstant(payment.chargedAtMs), describeInstant(reservation.chargedAtMs)],
    'amount debited under its grant': [payment.grantSpentDebitValue, reservation.spentDebitValue],
    'amount received under its grant': [payment.grantSpentReceiveValue, reservation.spentReceiveValue],
    // Both sides may have been changed alike: what was reserved contradicts it still.
    'hash over grant, request, wallet address and receiver': [
      contentHash(payment, payment.grantId).toString('hex'),
      reservation.contentHash?.toString('hex')
    ]
  }).flatMap(([name, [here, there]]) =>
    here === there
      ? []
      : [`its ${name} is here ${String(here ?? 'nothing')}, at the auth server ${String(there ?? 'nothing')}`]
  )
}

function describeAmount(amount: Amount | undefined): string | undefined {
  return amount && `${amount.value} ${amount.asset.code} with scale ${amount.asset.scale}`
}

function describeInstant(instantMs: number | undefined): string | undefined {
  return instantMs === undefined ? undefined : new Date(instantMs).toISOString()
}

function agrees(reservation: Reservation, entry: OutcomeEntry): boolean {
  const { payment } = entry
  switch (reservation.state) {
    case 'open':
      return !entry.delivered
    case 'settled':
      return (
        entry.isLost ||
        (entry.outcome === 'settle' &&
          reservation.settledDebitValue === entry.settledDebitValue &&
          reservation.settledReceiveValue === entry.settledReceiveValue)
      )
    case 'released':
      return entry.outcome === 'release'
    case 'refused':
      return payment === undefined && entry.outcome === 'release'
  }
}

async function lookAgain(
  doubts: readonly Pair[],
  bounds: Bounds,
  dependencies: PairDependencies
): Promise<string[]> {
  await delay(DOUBT_MS)
  const violations: string[] = []
  for (const { paymentId } of doubts.slice(0, DOUBTS_MAX)) {
    const disagreement = findDisagreement(await readPair(paymentId, dependencies), bounds)
    if (disagreement !== undefined) violations.push(disagreement)
  }
  const unseen = doubts.length - DOUBTS_MAX
  return unseen > 0 ? [...violations, `${unseen} more disagreements, not looked at again`] : violations
}

function describeEntry({
  payment,
  outcome,
  settledDebitValue,
  settledReceiveValue,
  delivered
}: OutcomeEntry): string {
  const what =
    payment === undefined
      ? 'given up'
      : `a payment of ${payment.debitAmount.value} for ${payment.receiveAmount.value}`
  const ended =
    outcome === 'settle'
      ? `, settled with ${String(settledDebitValue)} and ${String(settledReceiveValue)}`
      : outcome === 'release'
        ? ', released'
        : ', pending'
  return `${what}${ended}${delivered ? ', delivered' : ''}`
}

function describeLost(lost: Reservation): string {
  const { paymentId, grantId, walletAddress, receiver } = lost
  const madeAt = new Date(lost.createdAtMs).toISOString()
  return `payment ${paymentId} of grant ${String(grantId)}: ${describeReservation(lost)}, from ${String(walletAddress)} to ${String(receiver)}, reserved at ${madeAt}, is lost here`
}

function describeReservation(reservation: Reservation): string {
  const { state, debitAmount, receiveAmount, settledDebitValue, settledReceiveValue } = reservation
  const reserved = `${state}, ${String(debitAmount?.value)} for ${String(receiveAmount?.value)}`
  return state === 'settled'
    ? `${reserved} with ${String(settledDebitValue)} and ${String(settledReceiveValue)}`
    : reserved
}
