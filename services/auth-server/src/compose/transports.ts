import { observeAcquisition } from '@open-payments-server/database'
import { readVersion } from '@open-payments-server/runtime'
import {
  type Metrics,
  publishDatabaseWatch,
  publishTransports,
  type TransportMetrics
} from '@open-payments-server/service-kit/metrics'
import type { Context } from './context.js'
import type { Resources } from './resources.js'

const MANIFEST = new URL('../../package.json', import.meta.url)

/** Starts measuring requests, calls and connections if metrics are served; otherwise undefined. */
export function measureTransports(
  { config }: Context,
  { pool, databaseWatch }: Resources,
  metrics: Metrics
): TransportMetrics<'public' | 'identity-provider'> | undefined {
  if (config.METRICS_PORT === undefined) return undefined
  const version = readVersion(MANIFEST)
  const transports = publishTransports(metrics, { listeners: ['public', 'identity-provider'], version })
  transports.watchPool(pool)
  publishDatabaseWatch(metrics, databaseWatch, config.DATABASE_DURABILITY)
  observeAcquisition(pool, transports.connectionAcquired)
  return transports
}
