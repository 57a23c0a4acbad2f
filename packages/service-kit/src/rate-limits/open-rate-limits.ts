import type { Metrics } from '../metrics/index.js'
import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import { redisPlaceOf, type RedisSettings } from '@open-payments-server/runtime/configuration'
import type { Clock } from '@open-payments-server/value-types/clock'
import { LIMIT_KINDS } from './counter.js'
import { createRateLimits, type RateLimits } from './rate-limits.js'

/** The settings of a service's limits. */
export interface RateLimitSettings extends RedisSettings {
  readonly ENVIRONMENT: 'production' | 'development'
  readonly TRUSTED_PROXIES?: number | string[] | undefined
  readonly RATE_LIMITS?: boolean | undefined
  readonly RATE_LIMIT_ADDRESS_REQUESTS: number
  readonly RATE_LIMIT_ADDRESS_SECONDS: number
  readonly RATE_LIMIT_CLIENT_REQUESTS: number
  readonly RATE_LIMIT_CLIENT_SECONDS: number
  readonly RATE_LIMIT_WALLET_ADDRESS_REQUESTS: number
  readonly RATE_LIMIT_WALLET_ADDRESS_SECONDS: number
  readonly RATE_LIMIT_ADDRESS_ROWS: number
  readonly RATE_LIMIT_CLIENT_ROWS: number
}

/** Window in which rows are counted, in seconds. */
const ROWS_SECONDS = 86_400

/**
 * How many times the rows of an address an IPv6 /48 may store. Providers put many customers into one, such as the servers of
 * a data center: with the limit of a single address, any of them could use up that of all.
 */
const SITE_SHARE = 10

/** What a service adds to its settings. */
export interface RateLimitSurroundings {
  /** Name of the service: prefix of every key in Redis. */
  readonly service: string
  /** Paths of the app's liveness check, which are never limited; none without such a route. */
  readonly exemptPaths: readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'addCounters'>
  /** Ends the connection to Redis when the service stops. */
  readonly lifecycle: Pick<Lifecycle, 'add'>
}

/**
 * Creates the limits of a service from its settings, and counts what they refuse.
 *
 * @returns undefined when they are disabled
 */
export async function openRateLimits(
  settings: RateLimitSettings,
  { service, exemptPaths, clock, logger, metrics, lifecycle }: RateLimitSurroundings
): Promise<RateLimits | undefined> {
  const onRefused = metrics.addCounters(
    {
      name: 'open_payments_rate_limited_total',
      help: 'Requests refused with 429, by the limit they reached.'
    },
    'limit',
    LIMIT_KINDS
  )
  if (!(settings.RATE_LIMITS ?? settings.ENVIRONMENT === 'production')) return undefined
  const rateLimits = await createRateLimits({
    limits: {
      address: {
        points: settings.RATE_LIMIT_ADDRESS_REQUESTS,
        durationSeconds: settings.RATE_LIMIT_ADDRESS_SECONDS
      },
      client: {
        points: settings.RATE_LIMIT_CLIENT_REQUESTS,
        durationSeconds: settings.RATE_LIMIT_CLIENT_SECONDS
      },
      'wallet-address': {
        points: settings.RATE_LIMIT_WALLET_ADDRESS_REQUESTS,
        durationSeconds: settings.RATE_LIMIT_WALLET_ADDRESS_SECONDS
      },
      'address-rows': { points: settings.RATE_LIMIT_ADDRESS_ROWS, durationSeconds: ROWS_SECONDS },
      'site-rows': {
        points: settings.RATE_LIMIT_ADDRESS_ROWS * SITE_SHARE,
        durationSeconds: ROWS_SECONDS
      },
      'client-rows': { points: settings.RATE_LIMIT_CLIENT_ROWS, durationSeconds: ROWS_SECONDS }
    },
    redisPlace: redisPlaceOf(settings),
    keyPrefix: `${service}:`,
    clock,
    logger,
    trustsProxies: settings.TRUSTED_PROXIES !== undefined && settings.TRUSTED_PROXIES !== 0,
    exemptPaths,
    onRefused
  })
  lifecycle.add({ name: 'rate limits', stop: () => rateLimits.close() })
  return rateLimits
}
