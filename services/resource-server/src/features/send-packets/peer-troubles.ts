import type { Logger } from '@open-payments-server/runtime'

/** How often trouble with one peer is logged, in milliseconds. */
const LOGGED_EVERY_MS = 60_000

/**
 * Creates what logs why a packet to a peer (id, UUID) got no answer, unless that was logged of the peer just before: packets are many,
 * and reasons few.
 */
export function createTroubleLog(logger: Logger): (peerId: string, error: Error) => void {
  /** By the monotonic clock. */
  const loggedAtMs = new Map<string, number>()
  return (peerId, error) => {
    const nowMs = performance.now()
    if (nowMs - (loggedAtMs.get(peerId) ?? -Infinity) < LOGGED_EVERY_MS) return
    loggedAtMs.set(peerId, nowMs)
    logger.warn({ peerId, err: error }, 'a packet got no answer')
  }
}
