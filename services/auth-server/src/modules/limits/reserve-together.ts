import { BATCH_PATIENCE_MS, fulfilled, gather } from '@open-payments-server/runtime'
import type { Queries } from '../database.js'
import { reserve, type ReserveResult, type WindowRequest } from './reserve.js'

/**
 * Takes room for payments of one call, each of which can be charged to one window only.
 *
 * @returns what became of each, in their order
 */
export type ReserveTogether = (requests: readonly WindowRequest[]) => Promise<readonly ReserveResult[]>

/** Most calls whose payments one statement reserves for. */
const CALLS_MAX = 50

const UNDECIDED: ReserveResult = { outcome: 'undecided' }

/**
 * Takes room by one statement for the payments of all calls that arrive while another is under way, whichever replica of the
 * resource server they come from: those of one grant would wait for each other's commits, one after the other.
 *
 * A resource server gathers what arrives at it and has two calls under way, so that this gives nothing beside one replica, and
 * more the more there are: with 16 calls of four payments at a time a half more payments of one grant, and a quarter of fifty.
 */
export function createReserveTogether(database: Queries): ReserveTogether {
  return gather<readonly WindowRequest[], readonly ReserveResult[]>({
    itemsMax: CALLS_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(calls) {
      // What repeats a payment meanwhile is tried alone, and finds what is recorded.
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
