import { HEALTH_PATH } from '@open-payments-server/service-kit/health'
import {
  openRateLimits,
  type RateLimits,
  type RateLimitSurroundings
} from '@open-payments-server/service-kit/rate-limits'
import type { Context } from './context.js'

/** The rate limits; undefined where there is none. */
export function startRateLimits(
  { config, clock, logger, lifecycle }: Context,
  metrics: RateLimitSurroundings['metrics']
): Promise<RateLimits | undefined> {
  const service = { service: 'resource-server', exemptPaths: [HEALTH_PATH] }
  return openRateLimits(config, { ...service, clock, logger, lifecycle, metrics })
}
