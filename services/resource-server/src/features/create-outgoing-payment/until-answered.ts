import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '@open-payments-server/runtime'
import { ResultUnknown } from '../../domain/errors.js'

/**
 * How long the database is asked repeatedly for a payment, in milliseconds from its first failure. A restart takes less,
 * and few clients wait much longer.
 */
const ASKING_MAX_MS = 10_000

/** Pause before the second attempt; it doubles with each one. */
const PAUSE_INITIAL_MS = 50

/** Maximum pause. */
const PAUSE_MAX_MS = 1_000

/**
 * Retries a query that only the database can answer, until it answers.
 *
 * @throws ResultUnknown when it has not answered in time
 */
export type UntilAnswered = <Answer>(ask: () => Promise<Answer>) => Promise<Answer>

/**
 * Creates the retries of one request: all its queries share one time limit.
 *
 * @param paymentId the id (UUID) of the payment, for the log
 */
export function untilAnswered(paymentId: string, logger: Logger): UntilAnswered {
  let deadlineAtMs: number | undefined
  return async (ask) => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await ask()
      } catch (error) {
        deadlineAtMs ??= performance.now() + ASKING_MAX_MS
        const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_INITIAL_MS * 2 ** failures)
        if (performance.now() + pauseMs > deadlineAtMs) throw new ResultUnknown(paymentId, error)
        if (failures === 0) {
          logger.warn({ err: error, paymentId }, 'the result of a payment is not known yet: asking again')
        }
        await delay(pauseMs)
      }
    }
  }
}
