import { setTimeout as delay } from 'node:timers/promises'
import { NoAnswer } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'

/**
 * How long the database is asked again and again what became of a payment, in milliseconds, counted from its first failure.
 * A restart takes less; and few clients wait much longer.
 */
export const ASKING_MAX_MS = 10_000

/** Pause before it is asked the second time; it doubles with every further one. */
const PAUSE_INITIAL_MS = 50

/** Longest pause. */
const PAUSE_MAX_MS = 1_000

/**
 * Asks what only the database knows, until it answers.
 *
 * @throws NoAnswer when it has not answered in time
 */
export type UntilAnswered = <Answer>(ask: () => Promise<Answer>) => Promise<Answer>

/**
 * Makes the patience of one request: all that it asks shares one bound.
 *
 * @param paymentId the id (UUID) that it is about, for the log
 */
export function untilAnswered(paymentId: string, logger: Logger): UntilAnswered {
  let deadlineMs: number | undefined
  return async (ask) => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await ask()
      } catch (error) {
        deadlineMs ??= performance.now() + ASKING_MAX_MS
        const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_INITIAL_MS * 2 ** failures)
        if (performance.now() + pauseMs > deadlineMs) {
          throw new NoAnswer('what became of a payment is not known', { fields: { paymentId }, cause: error })
        }
        if (failures === 0) {
          logger.warn({ err: error, paymentId }, 'what became of a payment is not known yet: asking again')
        }
        await delay(pauseMs)
      }
    }
  }
}
