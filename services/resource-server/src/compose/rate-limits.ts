import type { Metrics } from '@open-payments-server/metrics'
import { openRateLimits, type RateLimits } from '@open-payments-server/rate-limits'
import type { Context } from './context.js'

/** How often things may be asked for; undefined where that is not limited. */
export async function startRateLimits(
  { config, clock, logger, lifecycle }: Context,
  metrics: Pick<Metrics, 'addCounters'>
): Promise<RateLimits | undefined> {
  const service = 'resource-server'
  const rateLimits = await openRateLimits(config, { service, refusalCode: '429', clock, logger, metrics })
  lifecycle.add({
    name: 'rate limits',
    stop() {
      rateLimits?.close()
      return Promise.resolve()
    }
  })
  return rateLimits
}
