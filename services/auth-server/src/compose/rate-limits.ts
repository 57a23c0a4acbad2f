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
  // Its health is served on the listener for identity providers, which is not limited.
  const service = { service: 'auth-server', exemptPaths: [] }
  return openRateLimits(config, { ...service, clock, logger, lifecycle, metrics })
}
