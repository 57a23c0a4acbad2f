import { setTimeout as delay } from 'node:timers/promises'
import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { PurgeBatch } from './purge.js'

/** Pause between two batches, in milliseconds: requests come first. */
const PAUSE_MS = 100

/** Purges batch by batch until nothing is left to delete, then again after the interval. */
export function createPurgeWorker(dependencies: {
  purgeBatch: PurgeBatch
  intervalSeconds: number
  logger: Logger
  onBatchFailed?: (() => void) | undefined
}): Worker {
  return startWorker({
    name: 'purge',
    pollMs: dependencies.intervalSeconds * 1_000,
    logger: dependencies.logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch(signal) {
      const more = await dependencies.purgeBatch()
      if (more) await pause(signal)
      return more
    }
  })
}

async function pause(signal: AbortSignal): Promise<void> {
  try {
    await delay(PAUSE_MS, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
