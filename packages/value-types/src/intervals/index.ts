export { describeInterval } from './describe-interval.js'
export { IntervalError } from './interval-error.js'
export {
  isOnWhatOthersMade,
  isPaying,
  isPayment,
  type LimitedItem,
  payableUntilMs,
  payeesOf
} from './payments.js'
export {
  INTERVAL_LENGTH_MAX,
  intervalBounds,
  intervalIndexAt,
  lastIntervalEnd,
  nextIntervalStart,
  parseRepeatingInterval,
  type RepeatingInterval
} from './repeating-interval.js'
