export { describeInterval } from './describe-interval.js'
export { IntervalError } from './interval-error.js'
export {
  INTERVAL_LENGTH_MAX,
  intervalBounds,
  intervalIndexAt,
  lastIntervalEnd,
  nextIntervalStart,
  parseRepeatingInterval,
  type RepeatingInterval
} from './repeating-interval.js'
