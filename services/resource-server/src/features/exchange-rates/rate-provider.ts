import { createSafeHttpClient } from '@open-payments-server/http-client'
import type { Clock } from '@open-payments-server/runtime'
import type { RateProvider } from '../../domain/rates.js'
import { createRateService } from './rate-service.js'
import { createRateTable } from './rate-table.js'

/** Longest that a rate is waited for, in milliseconds. */
const RATE_TIMEOUT_MS = 2_000

/** Longest answer about a rate, in bytes. */
const RATE_BYTES_MAX = 4_096

/** What the settings say of exchange rates. */
export interface RateSettings {
  readonly EXCHANGE_RATES?: string | undefined
  readonly EXCHANGE_RATES_URL?: string | undefined
  readonly EXCHANGE_RATES_CACHE_SECONDS: number
}

/**
 * Makes the rate provider that the settings name: a service, else a table.
 *
 * @param onStart told of the connections to close at the end, where there are any
 * @throws ConfigurationError for a table that cannot be read
 */
export function createRateProvider(
  settings: RateSettings,
  deps: { clock: Clock; onStart: (part: { name: string; stop: () => Promise<void> }) => void }
): RateProvider {
  if (settings.EXCHANGE_RATES_URL === undefined) return createRateTable(settings.EXCHANGE_RATES)
  // The operator names this address, so it may be on a private network.
  const http = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: RATE_TIMEOUT_MS,
    bodyBytesMax: RATE_BYTES_MAX,
    userAgent: 'open-payments-resource-server'
  })
  deps.onStart({ name: 'exchange rates', stop: () => http.close() })
  return createRateService({
    url: settings.EXCHANGE_RATES_URL,
    http,
    clock: deps.clock,
    cacheSeconds: settings.EXCHANGE_RATES_CACHE_SECONDS
  })
}
