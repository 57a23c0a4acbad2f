/**
 * A text that is not a repeating interval this project serves, or an interval or instant out of range. The message is
 * fit for the caller.
 */
export class IntervalError extends Error {
  override readonly name = 'IntervalError'
}
