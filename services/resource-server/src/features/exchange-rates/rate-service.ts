import { OutgoingRequestError, type SafeHttpClient } from '@open-payments-server/http-client'
import { parseRate, type Rate, RATE_ONE } from '@open-payments-server/value-types/amounts'
import { ratesUnavailable } from '../../domain/errors.js'
import type { Clock } from '@open-payments-server/value-types/clock'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { RateProvider } from '../../domain/rates.js'
import { type DirectedRate, findGainfulCycle } from './gainful-cycle.js'

/** Maximum number of pairs of assets whose rates are cached. */
const PAIRS_KEPT_MAX = 1_000

const answerSchema = z.object({ rate: z.string() })

/** Where rates are fetched, and how long one is used. */
export interface RateServiceOptions {
  /** Answers `GET ?source=USD&target=EUR` with `{ "rate": "0.92" }`, and 404 where there is no rate. */
  readonly url: string
  readonly http: Pick<SafeHttpClient, 'getJson'>
  readonly clock: Clock
  /** How long a rate is used, in seconds; 0 fetches every time. An older one is never used, whatever fails. */
  readonly cacheSeconds: number
  /**
   * Called for rates that are refused because a cycle of them gains.
   *
   * @param way asset codes, ending with the first one again
   */
  readonly onGainfulCycle: (way: readonly string[]) => void
}

/** The service's answer for two assets. */
interface KeptPair {
  /** At most one of each direction. */
  readonly rates: readonly DirectedRate[]
  /** Whether the rates are not used, because a cycle of them gains. */
  readonly areRefused: boolean
  readonly askedAtMs: number
}

/**
 * Rates from a service over HTTP. Both directions between two assets are requested and cached together, so that answers of
 * different times are never combined. Concurrent requests for one pair share a request.
 *
 * Rates that allow a gain are refused, including over other assets whose rates are in use: the rates between the two are
 * unavailable until they are fetched again.
 */
export function createRateService(options: RateServiceOptions): RateProvider {
  const kept = new LRUCache<string, KeptPair>({ max: PAIRS_KEPT_MAX })
  const asked = new Map<string, Promise<KeptPair>>()

  /** Setting the clock back makes a rate neither younger nor usable for longer. */
  const isFresh = ({ askedAtMs }: KeptPair): boolean => {
    const ageMs = options.clock.now() - askedAtMs
    return ageMs >= 0 && ageMs < options.cacheSeconds * 1_000
  }

  const mustRefuse = (pair: string, rates: readonly DirectedRate[]): boolean => {
    kept.delete(pair)
    const inUse = [...kept.values()]
      .filter((other) => isFresh(other) && !other.areRefused)
      .flatMap((other) => other.rates)
    const cycle = findGainfulCycle(rates, inUse)
    if (cycle !== undefined) options.onGainfulCycle(cycle)
    return cycle !== undefined
  }

  const ask = async (codes: readonly [string, string], pair: string): Promise<KeptPair> => {
    const askedAtMs = options.clock.now()
    try {
      const rates = await fetchBoth(codes, options)
      const answer = { rates, areRefused: mustRefuse(pair, rates), askedAtMs }
      kept.set(pair, answer)
      return answer
    } finally {
      asked.delete(pair)
    }
  }

  const findPair = (codes: readonly [string, string]): Promise<KeptPair> => {
    const pair = JSON.stringify(codes.toSorted())
    const known = kept.get(pair)
    if (known !== undefined && isFresh(known)) return Promise.resolve(known)
    const answer = asked.get(pair) ?? ask(codes, pair)
    asked.set(pair, answer)
    return answer
  }

  return {
    async getRate(source, target) {
      if (source.code === target.code) return RATE_ONE
      const { rates, areRefused } = await findPair([source.code, target.code])
      const found = rates.find((each) => each.source === source.code)
      if (found !== undefined && areRefused) throw ratesUnavailable(new Error('a cycle of the rates gains'))
      return found?.rate
    }
  }
}

/** Requests both directions at once: the service answers one per request. */
async function fetchBoth(
  [one, other]: readonly [string, string],
  options: RateServiceOptions
): Promise<DirectedRate[]> {
  const directions = [
    { source: one, target: other },
    { source: other, target: one }
  ]
  const rates = await Promise.all(
    directions.map(async (direction) => ({ ...direction, rate: await fetchRate(direction, options) }))
  )
  return rates.flatMap(({ rate, ...direction }) => (rate === undefined ? [] : [{ ...direction, rate }]))
}

async function fetchRate(
  direction: { source: string; target: string },
  { url, http }: RateServiceOptions
): Promise<Rate | undefined> {
  try {
    const { body } = await http.getJson(`${url}?${new URLSearchParams(direction).toString()}`)
    return parseRate(answerSchema.parse(body).rate)
  } catch (error) {
    if (error instanceof OutgoingRequestError && error.status === 404) return undefined
    throw ratesUnavailable(error)
  }
}
