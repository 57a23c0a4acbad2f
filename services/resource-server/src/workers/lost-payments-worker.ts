import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import {
  reportLostPayments,
  type ReportDependencies
} from '../features/report-lost-payments/report-lost-payments.js'

/** How often it is tried again after it failed, in milliseconds. */
const RETRY_MS = 5_000

/** Looks for lost payments each time it is woken, until the database has answered. */
export function createLostPaymentsWorker(
  dependencies: ReportDependencies & {
    readonly logger: Logger
    readonly onBatchFailed?: (() => void) | undefined
  }
): Worker {
  let isDue = false
  const worker = startWorker({
    name: 'reporting of lost payments',
    pollMs: RETRY_MS,
    logger: dependencies.logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      if (!isDue) return false
      isDue = false
      try {
        await reportLostPayments(dependencies)
      } catch (error) {
        isDue = true
        throw error
      }
      return false
    }
  })
  return {
    ...worker,
    wake() {
      isDue = true
      worker.wake()
    }
  }
}
