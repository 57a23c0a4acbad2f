import {
  openRateLimits,
  type RateLimits,
  type RateLimitSurroundings
} from '@open-payments-server/service-kit/rate-limits'
import type { Context } from './context.js'

/** Code of a refusal (RFC 9635 §3.6). */
const REFUSAL_CODE = 'too_many_attempts'

/** The rate limits; undefined where there is none. */
export function startRateLimits(
  { config, clock, logger, lifecycle }: Context,
  metrics: RateLimitSurroundings['metrics']
): Promise<RateLimits | undefined> {
  // Its health is served on the listener for identity providers, which is not limited.
  const service = { service: 'auth-server', refusalCode: REFUSAL_CODE, exemptPaths: [] }
  return openRateLimits(config, { ...service, clock, logger, lifecycle, metrics })
}
