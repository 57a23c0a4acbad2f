import type { Clock } from '@open-payments-server/value-types/clock'

/** Tells the time, and what to do later. */
export interface SenderClock extends Clock {
  /**
   * Calls something once, after so many milliseconds, or at once if there are none.
   *
   * @returns cancels that; afterwards it does nothing
   */
  after(milliseconds: number, act: () => void): () => void
}

/** A clock with the timers of the process. */
export function createSenderClock(clock: Clock): SenderClock {
  return {
    now: () => clock.now(),
    after(milliseconds, act) {
      const timer = setTimeout(act, milliseconds)
      return () => {
        clearTimeout(timer)
      }
    }
  }
}
