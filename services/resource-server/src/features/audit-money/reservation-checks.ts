import { setTimeout as delay } from 'node:timers/promises'
import type { Amount } from '@open-payments-server/amounts'
import type { Queries } from '../../modules/database.js'
import { type AuditCheck, tellViolations } from '../../domain/audit.js'
import type { GrantLimits, Reservation } from '../../domain/ports.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { type OutboxPayment, type OutboxRow, readOutbox } from './outbox.js'

/** Reservations, and places in the outbox, that are read at a time. */
const PAGE_SIZE = 1_000

/** Most disagreements that are looked at again. */
const DOUBTS_MAX = 1_000

/** Longest that reading one page may take, in milliseconds: an audit is in no hurry, and must not fail on a busy system. */
const PAGE_TIMEOUT_MS = 60_000

/** What is in flight between the two services is told within this time. */
const DOUBT_MS = 1_000

/** What comparing needs. */
export interface ReservationCheckDeps {
  readonly patientDatabase: Queries
  readonly urls: ResourceUrls
  readonly grantLimits: GrantLimits
  readonly clock: { now(): number }
  /** A reservation may stay open this long. */
  readonly openAgeMaxSeconds: number
}

/** What both services know of one payment id. */
interface Pair {
  readonly paymentId: string
  readonly reservation: Reservation | undefined
  readonly outbox: OutboxRow | undefined
}

/**
 * Compares the auth server's reservations with this service's payments, one to one. Both go on meanwhile: what disagrees is
 * looked at once more after a while, and only what still disagrees is a violation.
 */
export async function checkReservations(deps: ReservationCheckDeps): Promise<AuditCheck[]> {
  let count = 0n
  const doubts: Pair[] = []
  const stale: string[] = []
  const olderThanMs = deps.clock.now() - deps.openAgeMaxSeconds * 1_000
  for await (const pair of mergePairs(readReservations(deps.grantLimits), readOutbox(deps, PAGE_SIZE))) {
    count += 1n
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
        outbox.outcome === 'settle' &&
        reservation.settledDebitValue === outbox.debitedValue &&
        reservation.settledReceiveValue === outbox.receivedValue
      )
    case 'released':
      return outbox.outcome === 'release'
    case 'refused':
      return payment === undefined && outbox.outcome === 'release'
  }
}

async function lookAgain(
  doubts: readonly Pair[],
  olderThanMs: number,
  deps: ReservationCheckDeps
): Promise<string[]> {
  await delay(DOUBT_MS)
  const violations: string[] = []
  for (const { paymentId } of doubts.slice(0, DOUBTS_MAX)) {
    // The auth server first: what it knows of, this service has done before.
    const [found] = await readPage(deps.grantLimits, idBefore(paymentId), 1)
    const reservation = found?.paymentId === paymentId ? found : undefined
    const [row] = await readOutbox(deps, 1, idBefore(paymentId))
      .next()
      .then(({ value }) => [value])
    const outbox = row?.paymentId === paymentId ? row : undefined
    const disagreement = findDisagreement({ paymentId, reservation, outbox }, olderThanMs)
    if (disagreement !== undefined) violations.push(disagreement)
  }
  const unseen = doubts.length - DOUBTS_MAX
  return unseen > 0 ? [...violations, `${unseen} more disagreements, not looked at again`] : violations
}

async function* readReservations(grantLimits: GrantLimits): AsyncGenerator<Reservation, undefined> {
  let afterPaymentId: string | undefined
  for (;;) {
    const page = await readPage(grantLimits, afterPaymentId, PAGE_SIZE)
    yield* page
    if (page.length < PAGE_SIZE) return
    afterPaymentId = page.at(-1)?.paymentId
  }
}

function readPage(
  grantLimits: GrantLimits,
  afterPaymentId: string | undefined,
  pageSize: number
): Promise<readonly Reservation[]> {
  return grantLimits.listReservations(
    { afterPaymentId, pageSize },
    { deadlineMs: Date.now() + PAGE_TIMEOUT_MS }
  )
}

/** Joins two lists that are in the order of payment ids, which as text have the order that they have as numbers. */
async function* mergePairs(
  reservations: AsyncGenerator<Reservation, undefined>,
  outbox: AsyncGenerator<OutboxRow, undefined>
): AsyncGenerator<Pair> {
  let reservation = (await reservations.next()).value
  let row = (await outbox.next()).value
  while (reservation !== undefined || row !== undefined) {
    const paymentId = smaller(reservation?.paymentId, row?.paymentId)
    const inReservations = reservation?.paymentId === paymentId
    const inOutbox = row?.paymentId === paymentId
    yield {
      paymentId,
      reservation: inReservations ? reservation : undefined,
      outbox: inOutbox ? row : undefined
    }
    if (inReservations) reservation = (await reservations.next()).value
    if (inOutbox) row = (await outbox.next()).value
  }
}

function smaller(left: string | undefined, right: string | undefined): string {
  if (left === undefined || right === undefined) return left ?? right ?? ''
  return left < right ? left : right
}

/** The id (UUID) before another, so that "after it" begins with the other. */
function idBefore(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) - 1n).toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
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

function describeReservation(reservation: Reservation): string {
  const { state, debitAmount, receiveAmount, settledDebitValue, settledReceiveValue } = reservation
  const reserved = `${state}, ${String(debitAmount?.value)} for ${String(receiveAmount?.value)}`
  return state === 'settled'
    ? `${reserved} with ${String(settledDebitValue)} and ${String(settledReceiveValue)}`
    : reserved
}
