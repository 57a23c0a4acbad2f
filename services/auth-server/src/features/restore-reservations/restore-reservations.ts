import type { ItemResult } from '@open-payments-server/runtime'
import { coverPayment, type LostReservation } from '../../domain/limits.js'
import type { Database } from '../../modules/database.js'
import { readEpochChange } from '../../modules/events/index.js'
import { findAccess } from '../../modules/grants/index.js'
import { findRecorded, restore } from '../../modules/limits/index.js'

/** The result for a payment. */
export type RestoreResult =
  /** It is recorded, by this call or before, whether or not it ended since. */
  | 'restored'
  /** There is no such grant. */
  | 'unknown-grant'
  /** It was charged since the database became what it is, which lost nothing. */
  | 'not-lost'
  /** No access item of the grant allows the payment at that instant. */
  | 'not-allowed'
  /** The grant has spent so much that the payment does not fit. */
  | 'no-room'
  /** The id was released before it was reserved. */
  | 'released'
  /** The id is recorded with other content. */
  | 'mismatch'

/**
 * Records reservations anew that the database lost. Each counts in the window that it was charged to; where several access items
 * allow the payment, in the first with room, which may be another one than before. Idempotent.
 *
 * One statement for each after those that read: this happens after a disaster, and locks as little as `reserve`.
 *
 * @returns the result of each, in order
 */
export async function restoreReservations(
  lost: readonly LostReservation[],
  { database }: { readonly database: Database }
): Promise<readonly ItemResult<RestoreResult>[]> {
  const changedAtMs = await readEpochChange(database)
  const results: ItemResult<RestoreResult>[] = []
  // In turn: payments under one grant would wait for each other's window anyway.
  for (const reservation of lost) {
    const isLost = changedAtMs !== undefined && reservation.chargedAtMs < changedAtMs
    const [result] = await Promise.allSettled([restoreOne(reservation, isLost, database)])
    results.push(result)
  }
  return results
}

async function restoreOne(
  reservation: LostReservation,
  isLost: boolean,
  database: Database
): Promise<RestoreResult> {
  const { paymentId, grantId, content, contentHash, chargedAtMs } = reservation
  const items = await findAccess(database, grantId)
  const { candidates } = coverPayment(items ?? [], content, chargedAtMs)
  if (isLost) {
    for (const window of candidates) {
      if (await restore(database, reservation, window)) return 'restored'
    }
  }
  const recorded = await findRecorded(database, paymentId)
  if (recorded !== undefined) {
    if (recorded.contentHash === undefined) return 'released'
    return recorded.contentHash.equals(contentHash) ? 'restored' : 'mismatch'
  }
  if (items === undefined) return 'unknown-grant'
  if (!isLost) return 'not-lost'
  return candidates.length === 0 ? 'not-allowed' : 'no-room'
}
