/** Tells the time. Passed in wherever time matters, so that tests can move it. */
export interface Clock {
  /** The current instant, in milliseconds since the Unix epoch. */
  now(): number
}
