import type { Logger, Part } from '@open-payments-server/runtime'
import { type SharedStore, SharedStoreUnavailable } from '@open-payments-server/shared-store'

/** Channel of the shared store that says that there are new events. */
export const NEWS_CHANNEL = 'events'

/** How long a reader waits before it looks by itself, in milliseconds. */
const LOOK_AFTER_MS = 1_000
/** The same while messages of other replicas may be missed. */
const LOOK_AFTER_WITHOUT_MESSAGES_MS = 100

/** Says when there may be new events, published by whichever replica. */
export interface EventNews extends Part {
  /**
   * Waits until there may be new events: published since the last call of `next`, or after a second at most.
   *
   * @param signal ends the wait early
   */
  next(signal: AbortSignal): Promise<void>
}

/** Listens for news of events. Holds one subscription, however many readers wait. */
export function createEventNews({
  sharedStore,
  logger
}: {
  readonly sharedStore: SharedStore
  readonly logger: Logger
}): EventNews {
  const waiting = new Set<() => void>()
  const wakeAll = (): void => {
    for (const wake of waiting) wake()
  }
  const subscribing = sharedStore
    .subscribe(NEWS_CHANNEL, { onMessage: wakeAll, onInterrupted: () => undefined, onResumed: wakeAll })
    .catch((error: unknown) => {
      if (!(error instanceof SharedStoreUnavailable)) throw error
      logger.warn({ err: error }, 'news of events cannot be received: readers look for them')
      return undefined
    })
  let live = (): boolean => false
  void subscribing.then((subscription) => {
    if (subscription !== undefined) live = () => subscription.live
  })
  return {
    name: 'news of events',
    next: (signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer)
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const timer = setTimeout(wake, live() ? LOOK_AFTER_MS : LOOK_AFTER_WITHOUT_MESSAGES_MS)
        waiting.add(wake)
        signal.addEventListener('abort', wake, { once: true })
        if (signal.aborted) wake()
      }),
    async stop() {
      wakeAll()
      await (await subscribing)?.close()
    }
  }
}
