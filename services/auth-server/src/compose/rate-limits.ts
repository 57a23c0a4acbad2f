import type { Metrics } from '@open-payments-server/metrics'
import { openRateLimits, type RateLimits } from '@open-payments-server/rate-limits'
import type { Clock, Lifecycle, Logger } from '@open-payments-server/runtime'
import type { AuthServerConfig } from '../config.js'

/** Code of a refusal (RFC 9635 §3.6). */
const REFUSAL_CODE = 'too_many_attempts'

/** How often things may be asked for; undefined where that is not limited. */
export async function startRateLimits(context: {
  readonly config: AuthServerConfig
  readonly lifecycle: Lifecycle
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
}): Promise<RateLimits | undefined> {
  const { config, lifecycle } = context
  const surroundings = { ...context, service: 'auth-server', refusalCode: REFUSAL_CODE }
  const rateLimits = await openRateLimits(config, surroundings)
  lifecycle.add({
    name: 'rate limits',
    stop() {
      rateLimits?.close()
      return Promise.resolve()
    }
  })
  return rateLimits
}
