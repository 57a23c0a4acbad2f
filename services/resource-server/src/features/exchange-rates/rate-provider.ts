import { createSafeHttpClient } from '@open-payments-server/http-client'
import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { RateProvider } from '../../domain/rates.js'
import { createRateService } from './rate-service.js'
import { createRateTable } from './rate-table.js'

/** Maximum time to wait for a rate, in milliseconds. */
const RATE_TIMEOUT_MS = 2_000

/** Maximum size of an answer about a rate, in bytes. */
const RATE_BYTES_MAX = 4_096

/** The settings of exchange rates. */
export interface RateSettings {
  readonly EXCHANGE_RATES?: string | undefined
  readonly EXCHANGE_RATES_URL?: string | undefined
  readonly EXCHANGE_RATES_CACHE_SECONDS: number
}

/**
 * Creates the configured rate provider: a service, else a table.
 *
 * @throws ConfigurationError for a table that cannot be read
 */
export function createRateProvider(
  settings: RateSettings,
  { clock, logger, lifecycle }: { clock: Clock; logger: Logger; lifecycle: Lifecycle }
): RateProvider {
  if (settings.EXCHANGE_RATES_URL === undefined) return createRateTable(settings.EXCHANGE_RATES)
  // The operator names this address, so it may be on a private network.
  const http = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: RATE_TIMEOUT_MS,
    bodyBytesMax: RATE_BYTES_MAX,
    userAgent: 'open-payments-resource-server'
  })
  lifecycle.add({ name: 'exchange rates', stop: () => http.close() })
  return createRateService({
    url: settings.EXCHANGE_RATES_URL,
    http,
    clock,
    cacheSeconds: settings.EXCHANGE_RATES_CACHE_SECONDS,
    onGainfulCycle: (way) => {
      logger.warn(
        { way: way.join(' → ') },
        'rates of EXCHANGE_RATES_URL were refused: going round ends with more than it began with'
      )
    }
  })
}
