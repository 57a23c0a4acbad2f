import { BATCH_PATIENCE_MS, fulfilled, gather } from '@open-payments-server/runtime'
import type { ReserveManyRepository, ReserveManyResult, WindowRequest } from './many-repository.js'
import type { ReserveLimitsRepository, ReserveResult } from './repository.js'

/** What became of a payment that asked for room with others. */
export type AttemptResult = ReserveResult | ReserveManyResult

/**
 * Takes room for payments of one call, each of which can be charged to one window only.
 *
 * @returns what became of each, in their order
 */
export type ReserveTogether = (requests: readonly WindowRequest[]) => Promise<readonly AttemptResult[]>

/** Most calls whose payments one statement reserves for. */
const CALLS_MAX = 50

const UNDECIDED: AttemptResult = { outcome: 'undecided' }

/**
 * Takes room by one statement for the payments of all calls that arrive while another is under way, whichever replica of the
 * resource server they come from: those of one grant would wait for each other's commits, one after the other.
 */
export function createReserveTogether(
  repository: ReserveLimitsRepository,
  manyRepository: ReserveManyRepository
): ReserveTogether {
  return gather<readonly WindowRequest[], readonly AttemptResult[]>({
    itemsMax: CALLS_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(calls) {
      // What repeats a payment meanwhile is tried alone, and finds what is recorded.
      const firstOf = new Map<string, WindowRequest>()
      for (const one of calls.flat()) {
        if (!firstOf.has(one.request.paymentId)) firstOf.set(one.request.paymentId, one)
      }
      const firsts = [...firstOf.values()]
      const results = await reserveAll(firsts, repository, manyRepository)
      const resultOf = new Map(firsts.map((one, index) => [one, results[index]]))
      return calls.map((requests) => fulfilled(requests.map((one) => resultOf.get(one) ?? UNDECIDED)))
    }
  })
}

async function reserveAll(
  requests: readonly WindowRequest[],
  repository: ReserveLimitsRepository,
  manyRepository: ReserveManyRepository
): Promise<readonly AttemptResult[]> {
  const [first, ...others] = requests
  if (first === undefined) return []
  if (others.length === 0) return [await repository.reserve(first.request, first.window, 1)]
  const now = new Date(Math.max(...requests.map(({ request }) => request.now.getTime())))
  return manyRepository.reserveMany(requests, now)
}
