import type { Database } from '../../modules/database.js'
import type { GrantLimits, Reservation } from '../../domain/ports.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { type OutboxRow, readOutbox } from './outbox.js'

/** Reservations, and places in the outbox, that are read at a time. */
const PAGE_SIZE = 1_000

/** Longest that reading one page may take, in milliseconds: an audit is in no hurry, and must not fail on a busy system. */
const PAGE_TIMEOUT_MS = 60_000

/** What reading both sides needs. */
export interface PairDeps {
  /** Reads whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly urls: ResourceUrls
  readonly grantLimits: GrantLimits
}

/** What both services know of one payment id. */
export interface Pair {
  readonly paymentId: string
  readonly reservation: Reservation | undefined
  readonly outbox: OutboxRow | undefined
}

/**
 * Reads what both services know, by payment id.
 *
 * @param afterPaymentId where to begin; with the first unless given
 */
export function readPairs(deps: PairDeps, afterPaymentId?: string): AsyncGenerator<Pair> {
  return mergePairs(
    readReservations(deps.grantLimits, afterPaymentId),
    readOutbox(deps, PAGE_SIZE, afterPaymentId)
  )
}

/** Reads what both services know of one payment id. */
export async function readPair(deps: PairDeps, paymentId: string): Promise<Pair> {
  const before = idBefore(paymentId)
  // The auth server first: what it knows of, this service has done before.
  const [reservation] = await readPage(deps.grantLimits, before, 1)
  const outbox = (await readOutbox(deps, 1, before).next()).value
  return {
    paymentId,
    reservation: reservation?.paymentId === paymentId ? reservation : undefined,
    outbox: outbox?.paymentId === paymentId ? outbox : undefined
  }
}

async function* readReservations(
  grantLimits: GrantLimits,
  afterPaymentId: string | undefined
): AsyncGenerator<Reservation, undefined> {
  let after = afterPaymentId
  for (;;) {
    const page = await readPage(grantLimits, after, PAGE_SIZE)
    yield* page
    if (page.length < PAGE_SIZE) return
    after = page.at(-1)?.paymentId
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
