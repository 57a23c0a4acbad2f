import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Queries } from '../modules/database.js'
import { closePeerDays } from '../modules/peers/index.js'

/** Maximum number of peers of which one statement closes a day. */
const CLOSED_TOGETHER_MAX = 500

/** How often it is looked for days to close, in milliseconds. */
const POLL_MS = 60_000

/**
 * How long after its end a day is closed, in milliseconds: much longer than any transaction lasts that books on it, and than clocks of
 * processes differ.
 */
const CLOSED_AFTER_MS = 3_600_000

/** Closes the days of peers, so that a statement of any of them is read at once. */
export function createClosingWorker({
  database,
  clock,
  logger,
  onBatchFailed
}: {
  readonly database: Queries
  readonly clock: Clock
  readonly logger: Logger
  readonly onBatchFailed?: (() => void) | undefined
}): Worker {
  return startWorker({
    name: 'closing of days',
    pollMs: POLL_MS,
    logger,
    onBatchFailed,
    async runBatch() {
      const endedBeforeMs = clock.now() - CLOSED_AFTER_MS
      return (await closePeerDays(database, { endedBeforeMs, countMax: CLOSED_TOGETHER_MAX })) > 0
    }
  })
}
