import { fulfilled, type ItemResult, rejected } from '@open-payments-server/runtime'
import { decideEnd, type End, type EndResult } from '../../domain/ends.js'
import type { Database } from '../../modules/database.js'
import { end } from '../../modules/limits/index.js'

/**
 * How often one is tried. It may lose once against the reservation being written, and once against another end of it; the
 * third attempt sees the end.
 */
const ATTEMPTS_MAX = 4

/**
 * Ends reservations of different payments, as if one after the other: all with one statement, and again those that others
 * changed while it ran. Idempotent.
 *
 * @returns the result of each, in order
 */
export async function endReservations(
  ends: readonly End[],
  { database }: { readonly database: Database }
): Promise<readonly ItemResult<EndResult>[]> {
  const results = new Map<End, EndResult>()
  let undecided = ends
  for (let attempt = 0; attempt < ATTEMPTS_MAX && undecided.length > 0; attempt += 1) {
    for (const { asked, ...found } of await end(database, undecided)) {
      const result = decideEnd(asked, found)
      if (result !== 'raced') results.set(asked, result)
    }
    undecided = undecided.filter((one) => !results.has(one))
  }
  return ends.map((one) => {
    const result = results.get(one)
    return result === undefined
      ? rejected(new Error('a reservation is open and cannot be ended'))
      : fulfilled(result)
  })
}
