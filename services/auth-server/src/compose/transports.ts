import { observeAcquisition } from '@open-payments-server/database'
import { type Metrics, publishTransports, type TransportMetrics } from '@open-payments-server/metrics'
import { readVersion } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { AuthServerConfig } from '../config.js'

const MANIFEST = new URL('../../package.json', import.meta.url)

/** Begins to measure requests, calls and connections, where somebody may ask for it; undefined elsewhere. */
export function measureTransports(
  config: AuthServerConfig,
  metrics: Metrics,
  pool: Pool
): TransportMetrics<'public' | 'identity-provider'> | undefined {
  if (config.METRICS_PORT === undefined) return undefined
  const version = readVersion(MANIFEST)
  const transports = publishTransports(metrics, { listeners: ['public', 'identity-provider'], version })
  transports.watchPool(pool)
  observeAcquisition(pool, transports.connectionAcquired)
  return transports
}
