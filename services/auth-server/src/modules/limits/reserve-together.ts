import { BATCH_PATIENCE_MS, fulfilled, gather } from '@open-payments-server/runtime'
import type { Queries } from '../database.js'
import { reserve, type WindowResult, type WindowRequest } from './reserve.js'

/**
 * Reserves for payments of one call, each of which can be charged to only one window.
 *
 * @returns the result of each, in order
 */
export type ReserveTogether = (requests: readonly WindowRequest[]) => Promise<readonly WindowResult[]>

/** Maximum number of calls whose payments one statement reserves for. */
const CALLS_MAX = 50

const UNDECIDED: WindowResult = { kind: 'undecided' }

/**
 * Reserves with one statement for the payments of all calls that arrive while another is running, whichever replica of the
 * resource server they come from: payments of one grant would otherwise wait for each other's commits.
 *
 * A resource server already batches its payments and has one call running, so this gains nothing with one replica,
 * and more with more: with 16 calls of four payments at a time, payments of one grant gain a half, and of fifty grants a
 * quarter.
 */
export function createReserveTogether({ database }: { readonly database: Queries }): ReserveTogether {
  return gather<readonly WindowRequest[], readonly WindowResult[]>({
    itemsMax: CALLS_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(calls) {
      // A repetition of a payment is tried alone, and finds what is recorded.
      const firstOf = new Map<string, WindowRequest>()
      for (const one of calls.flat()) {
        if (!firstOf.has(one.request.paymentId)) firstOf.set(one.request.paymentId, one)
      }
      const firsts = [...firstOf.values()]
      const results = await reserve(database, firsts)
      const resultOf = new Map(firsts.map((one, index) => [one, results[index]]))
      return calls.map((requests) => fulfilled(requests.map((one) => resultOf.get(one) ?? UNDECIDED)))
    }
  })
}
