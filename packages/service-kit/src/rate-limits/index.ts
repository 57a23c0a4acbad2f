export type { AddressedRequest, Answer } from './address-limit.js'
export type { LimitKind, RateLimit } from './counter.js'
export { openRateLimits, type RateLimitSettings, type RateLimitSurroundings } from './open-rate-limits.js'
export {
  createRateLimits,
  type LimitKeys,
  type RateLimits,
  type RateLimitsOptions,
  rowKeys
} from './rate-limits.js'
