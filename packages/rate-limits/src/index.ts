export type { RateLimit } from './counter.js'
export { openRateLimits, type RateLimitSettings, type RateLimitSurroundings } from './open-rate-limits.js'
export { COUNT_TIMEOUT_MS } from './redis-connection.js'
export {
  createRateLimits,
  LIMIT_KINDS,
  type LimitKeys,
  type LimitKind,
  type RateLimits,
  type RateLimitsOptions,
  type RequestHeaders
} from './rate-limits.js'
