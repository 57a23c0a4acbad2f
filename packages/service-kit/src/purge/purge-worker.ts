import { setTimeout as delay } from 'node:timers/promises'
import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { PurgeBatch } from './purge.js'

/** Pause between two batches, in milliseconds: requests come first. */
const PAUSE_MS = 100

/** Purges batch by batch until nothing is left that is over, then again after the interval. */
export function createPurgeWorker(deps: {
  purgeBatch: PurgeBatch
  intervalSeconds: number
  logger: Logger
  onBatchFailed?: (() => void) | undefined
}): Worker {
  return startWorker({
    name: 'purge',
    pollMs: deps.intervalSeconds * 1_000,
    logger: deps.logger,
    onBatchFailed: deps.onBatchFailed,
    async runBatch(signal) {
      const more = await deps.purgeBatch()
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
