import { idBefore } from '@open-payments-server/value-types/identifiers'
import type { Database } from '../../modules/database.js'
import type { GrantLimits, Reservation } from '../../domain/ports.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { type OutcomeEntry, readOutcomeEntries } from './outcome-entries.js'

/** Number of reservations and entries read at a time. */
const PAGE_SIZE = 1_000

/** Maximum duration of reading one page, in milliseconds: an audit has time, and must not fail on a busy system. */
const PAGE_TIMEOUT_MS = 60_000

/** What reading both sides needs. */
export interface PairDependencies {
  /** For reading whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly urls: ResourceUrls
  readonly grantLimits: GrantLimits
}

/** What both services know of one payment id. */
export interface Pair {
  readonly paymentId: string
  readonly reservation: Reservation | undefined
  readonly entry: OutcomeEntry | undefined
}

/**
 * Reads what both services know, by payment id.
 *
 * @param afterPaymentId where to continue; undefined begins with the first
 */
export function readPairs(
  afterPaymentId: string | undefined,
  dependencies: PairDependencies
): AsyncGenerator<Pair> {
  return mergePairs(
    readReservations(dependencies.grantLimits, afterPaymentId),
    readOutcomeEntries({ pageSize: PAGE_SIZE, afterPaymentId }, dependencies)
  )
}

/** Reads what both services know of one payment id. */
export async function readPair(paymentId: string, dependencies: PairDependencies): Promise<Pair> {
  // The auth server first: whatever it knows was done by this service before.
  const reservation = await dependencies.grantLimits.findReservation(paymentId, pageOptions())
  const range = { pageSize: 1, afterPaymentId: idBefore(paymentId) }
  const entry = (await readOutcomeEntries(range, dependencies).next()).value
  return { paymentId, reservation, entry: entry?.paymentId === paymentId ? entry : undefined }
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
  return grantLimits.listReservations({ afterPaymentId, pageSize }, pageOptions())
}

function pageOptions(): { readonly deadlineAtMs: number } {
  return { deadlineAtMs: Date.now() + PAGE_TIMEOUT_MS }
}

/** Joins two lists in the order of payment ids, whose order as text is their order as numbers. */
async function* mergePairs(
  reservations: AsyncGenerator<Reservation, undefined>,
  entries: AsyncGenerator<OutcomeEntry, undefined>
): AsyncGenerator<Pair> {
  let reservation = (await reservations.next()).value
  let row = (await entries.next()).value
  while (reservation !== undefined || row !== undefined) {
    const paymentId = smaller(reservation?.paymentId, row?.paymentId)
    const inReservations = reservation?.paymentId === paymentId
    const inEntries = row?.paymentId === paymentId
    yield {
      paymentId,
      reservation: inReservations ? reservation : undefined,
      entry: inEntries ? row : undefined
    }
    if (inReservations) reservation = (await reservations.next()).value
    if (inEntries) row = (await entries.next()).value
  }
}

function smaller(left: string | undefined, right: string | undefined): string {
  if (left === undefined || right === undefined) return left ?? right ?? ''
  return left < right ? left : right
}
