import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import { tellExpiries, type TellExpiriesDependencies } from '../features/tell-expiries/tell-expiries.js'

/** Maximum number of expiries that one statement tells of. */
const TOLD_TOGETHER_MAX = 500

/** How often expiries are looked for, in milliseconds. */
const POLL_MS = 10_000

/** Tells of what expired. */
export function createExpiryWorker(
  dependencies: TellExpiriesDependencies & {
    readonly logger: Logger
    readonly onBatchFailed?: (() => void) | undefined
    /** Signals that there are events to publish. */
    readonly onEventsAppended: () => void
  }
): Worker {
  return startWorker({
    name: 'telling of expiries',
    pollMs: POLL_MS,
    logger: dependencies.logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      const { due, told } = await tellExpiries(TOLD_TOGETHER_MAX, dependencies)
      if (told > 0) dependencies.onEventsAppended()
      return due === TOLD_TOGETHER_MAX
    }
  })
}
