import { setTimeout as delay } from 'node:timers/promises'
import type { Amount } from '@open-payments-server/value-types/amounts'
import { type AuditCheck, tellViolations } from '../../domain/audit.js'
import type { Reservation } from '../../domain/ports.js'
import { findLost, type LossDeps, readLossBound } from './lost-payments.js'
import type { OutboxPayment, OutboxRow } from './outbox.js'
import { type Pair, type PairDeps, readPair, readPairs } from './pairs.js'

/** Most disagreements that are looked at again. */
const DOUBTS_MAX = 1_000

/** What is in flight between the two services is told within this time. */
const DOUBT_MS = 1_000

/** What comparing needs. */
export interface ReservationCheckDeps extends LossDeps {
  /** A reservation may stay open this long. */
  readonly openAgeMaxSeconds: number
}

/**
 * Compares the auth server's reservations with this service's payments, one to one. Both go on meanwhile: what disagrees is
 * looked at once more after a while, and only what still disagrees is a violation.
 */
export async function checkReservations(deps: ReservationCheckDeps): Promise<AuditCheck[]> {
  let count = 0n
  const doubts: Pair[] = []
  const stale: string[] = []
  const lost: string[] = []
  const olderThanMs = deps.clock.now() - deps.openAgeMaxSeconds * 1_000
  const lossBoundMs = await readLossBound(deps)
  for await (const pair of readPairs(deps)) {
    count += 1n
    const lostPayment = findLost(pair, lossBoundMs)
    if (lostPayment !== undefined) {
      lost.push(describeLost(lostPayment))
      continue
    }
    if (findDisagreement(pair, olderThanMs) !== undefined) doubts.push(pair)
    const { reservation } = pair
    if (reservation?.state === 'open' && reservation.createdAtMs < olderThanMs) {
      stale.push(
        `reservation ${pair.paymentId} is open since ${new Date(reservation.createdAtMs).toISOString()}`
      )
    }
  }
  const disagreements = doubts.length === 0 ? [] : await lookAgain(doubts, olderThanMs, deps)
  return [
    {
      invariant:
        'Every payment has one reservation and every reservation one payment, settled with what was really sent.',
      checkedCount: count,
      violations: tellViolations(disagreements)
    },
    {
      invariant: `No reservation stays open for more than ${deps.openAgeMaxSeconds} seconds.`,
      checkedCount: count,
      violations: tellViolations(stale)
    },
    {
      invariant: 'No payment was lost that was reserved before the database changed its timeline.',
      checkedCount: count,
      violations: tellViolations(lost)
    }
  ]
}

/**
 * What is wrong between the two, in words; undefined when they agree, or may agree soon.
 *
 * @param olderThanMs since when a reservation without a payment is no longer one that is just being persisted
 */
export function findDisagreement(
  { paymentId, reservation, outbox }: Pair,
  olderThanMs: number
): string | undefined {
  const here = outbox === undefined ? 'nothing' : describeOutbox(outbox)
  const there = reservation === undefined ? 'nothing' : describeReservation(reservation)
  const told = `payment ${paymentId}: here ${here}, at the auth server ${there}`
  if (reservation === undefined) {
    // A payment id that was given up is known there once that was delivered.
    return outbox === undefined || (outbox.payment === undefined && !outbox.delivered) ? undefined : told
  }
  if (outbox === undefined) {
    const inFlight = reservation.state === 'open' && reservation.createdAtMs >= olderThanMs
    return inFlight || reservation.state === 'refused' ? undefined : told
  }
  const differing = outbox.payment === undefined ? [] : findDifferences(reservation, outbox.payment)
  if (differing.length > 0) return `payment ${paymentId}: ${differing.join('; ')}`
  return agrees(reservation, outbox) ? undefined : told
}

/** In what a payment differs from its reservation, in words. A refusal says nothing of what it refused. */
function findDifferences(reservation: Reservation, payment: OutboxPayment): string[] {
  if (reservation.state === 'refused') return []
  return Object.entries({
    grant: [payment.grantId, reservation.grantId],
    client: [payment.client, reservation.client],
    'wallet address': [payment.walletAddress, reservation.walletAddress],
    receiver: [payment.receiver, reservation.receiver],
    debit: [describeAmount(payment.debitAmount), describeAmount(reservation.debitAmount)],
    receive: [describeAmount(payment.receiveAmount), describeAmount(reservation.receiveAmount)]
  }).flatMap(([name, [here, there]]) =>
    here === there ? [] : [`its ${name} is here ${String(here)}, at the auth server ${there ?? 'nothing'}`]
  )
}

function describeAmount(amount: Amount | undefined): string | undefined {
  return amount && `${amount.value} ${amount.asset.code} with scale ${amount.asset.scale}`
}

function agrees(reservation: Reservation, outbox: OutboxRow): boolean {
  const { payment } = outbox
  switch (reservation.state) {
    case 'open':
      return !outbox.delivered
    case 'settled':
      return (
        outbox.isLost ||
        (outbox.outcome === 'settle' &&
          reservation.settledDebitValue === outbox.debitedValue &&
          reservation.settledReceiveValue === outbox.receivedValue)
      )
    case 'released':
      return outbox.outcome === 'release'
    case 'refused':
      return payment === undefined && outbox.outcome === 'release'
  }
}

async function lookAgain(doubts: readonly Pair[], olderThanMs: number, deps: PairDeps): Promise<string[]> {
  await delay(DOUBT_MS)
  const violations: string[] = []
  for (const { paymentId } of doubts.slice(0, DOUBTS_MAX)) {
    const disagreement = findDisagreement(await readPair(deps, paymentId), olderThanMs)
    if (disagreement !== undefined) violations.push(disagreement)
  }
  const unseen = doubts.length - DOUBTS_MAX
  return unseen > 0 ? [...violations, `${unseen} more disagreements, not looked at again`] : violations
}

function describeOutbox({ payment, outcome, debitedValue, receivedValue, delivered }: OutboxRow): string {
  const what =
    payment === undefined
      ? 'given up'
      : `a payment of ${payment.debitAmount.value} for ${payment.receiveAmount.value}`
  const ended =
    outcome === 'settle'
      ? `, settled with ${String(debitedValue)} and ${String(receivedValue)}`
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
