export type { Answer } from './address-limit.js'
export type { LimitKind } from './counter.js'
export { openRateLimits, type RateLimitSurroundings } from './open-rate-limits.js'
export {
  createRateLimits,
  type LimitKeys,
  type RateLimits,
  type RateLimitsOptions,
  rowKeys
} from './rate-limits.js'
