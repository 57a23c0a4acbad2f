import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import { type SharedStore, SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { NEWS_CHANNEL } from './news.js'
import { PUBLISHED_TOGETHER_MAX, type PublishedRound } from './publish.js'

/**
 * Minimum time between two batches, in milliseconds: under load, a batch costs little more than an event. A single event is
 * published at once.
 */
const REST_MS = 50

/** How often events are looked for that nobody announced, in milliseconds: those of a process that died right after its commit. */
const POLL_MS = 5_000

/** The message to all replicas: that there are new events. They read which. */
const NEWS = new Uint8Array()

/**
 * Publishes events when woken, and looks for forgotten ones in between. Tells every replica when there are new ones.
 *
 * @param dependencies.publish publishes one batch
 */
export function createPublishingWorker(dependencies: {
  readonly publish: () => Promise<PublishedRound>
  readonly sharedStore: SharedStore
  readonly logger: Logger
  readonly onBatchFailed?: (() => void) | undefined
  /** Is told how many events of a type were published. */
  readonly onPublished?: ((type: string, count: number) => void) | undefined
}): Worker {
  const { publish, sharedStore, logger } = dependencies
  const tell = async (): Promise<void> => {
    try {
      await sharedStore.publish(NEWS_CHANNEL, NEWS)
    } catch (error) {
      // Readers look by themselves too: they only learn it later.
      if (!(error instanceof SharedStoreUnavailable)) throw error
      logger.warn({ err: error }, 'replicas are not told of new events')
    }
  }
  const worker = startWorker({
    name: 'event publishing',
    pollMs: POLL_MS,
    restMs: REST_MS,
    logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      const { busy, published, byType } = await publish()
      for (const { type, published: count } of byType) dependencies.onPublished?.(type, count)
      if (published > 0) await tell()
      if (busy) worker.wake()
      return published === PUBLISHED_TOGETHER_MAX
    }
  })
  return worker
}
