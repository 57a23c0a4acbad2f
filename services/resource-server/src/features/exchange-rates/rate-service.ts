import { type Asset, parseRate, type Rate, RATE_ONE } from '@open-payments-server/amounts'
import { OutgoingRequestError, type SafeHttpClient } from '@open-payments-server/http-client'
import { ratesUnavailable } from '../../domain/errors.js'
import type { Clock } from '@open-payments-server/runtime'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { RateProvider } from '../../domain/rates.js'

/** Most pairs of assets whose rates are kept. */
const PAIRS_KEPT_MAX = 1_000

const answerSchema = z.object({ rate: z.string() })

/** Where rates are asked for, and how long one is used. */
export interface RateServiceOptions {
  /** Answers `GET ?source=USD&target=EUR` with `{ "rate": "0.92" }`, and 404 where there is no rate. */
  readonly url: string
  readonly http: Pick<SafeHttpClient, 'getJson'>
  readonly clock: Clock
  /** How long a rate is used, in seconds; 0 asks every time. An older one is never used, whatever fails. */
  readonly cacheSeconds: number
}

interface KeptRate {
  readonly rate: Rate | undefined
  readonly askedAtMs: number
}

/** Rates from a service over HTTP. Requests for one pair that come together are asked once. */
export function createRateService(options: RateServiceOptions): RateProvider {
  const kept = new LRUCache<string, KeptRate>({ max: PAIRS_KEPT_MAX })
  const asked = new Map<string, Promise<Rate | undefined>>()

  /** A clock that was set back makes a rate neither younger nor usable for longer. */
  const isFresh = ({ askedAtMs }: KeptRate): boolean => {
    const ageMs = options.clock.now() - askedAtMs
    return ageMs >= 0 && ageMs < options.cacheSeconds * 1_000
  }

  const ask = async (source: Asset, target: Asset, pair: string): Promise<Rate | undefined> => {
    const askedAtMs = options.clock.now()
    try {
      const rate = await fetchRate(source, target, options)
      kept.set(pair, { rate, askedAtMs })
      return rate
    } finally {
      asked.delete(pair)
    }
  }

  return {
    async getRate(source, target) {
      if (source.code === target.code) return RATE_ONE
      const pair = JSON.stringify([source.code, target.code])
      const known = kept.get(pair)
      if (known !== undefined && isFresh(known)) return known.rate
      const answer = asked.get(pair) ?? ask(source, target, pair)
      asked.set(pair, answer)
      return answer
    }
  }
}

async function fetchRate(
  source: Asset,
  target: Asset,
  { url, http }: RateServiceOptions
): Promise<Rate | undefined> {
  const query = new URLSearchParams({ source: source.code, target: target.code })
  try {
    const { body } = await http.getJson(`${url}?${query.toString()}`)
    return parseRate(answerSchema.parse(body).rate)
  } catch (error) {
    if (error instanceof OutgoingRequestError && error.status === 404) return undefined
    throw ratesUnavailable(error)
  }
}
