import type { StreamHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { CallRefused } from '../domain/call-refused.js'
import type { RevocationBus, RevocationEvent, RevocationSubscription } from '../domain/revocations.js'
import { Backlog } from './backlog.js'
import { toRevocationMessages } from './revocation-messages.js'

/** Maximum number of revocations waiting for a slow watcher. */
export const BACKLOG_LENGTH_MAX = 1000

/** Interval of heartbeats, as the contract says, in milliseconds. */
const HEARTBEAT_INTERVAL_MS = 2_000

const HEARTBEAT: auth.WatchRevocationsResponse = { event: { $case: 'heartbeat', value: {} } }

/**
 * `IntrospectionService.WatchRevocations`. The stream ends with UNAVAILABLE whenever a revocation may have been missed, so
 * that the watcher drops its cache; it then reconnects and starts anew.
 */
export function watchRevocationsRpc({
  revocations
}: {
  readonly revocations: RevocationBus
}): StreamHandler<auth.WatchRevocationsRequest, auth.WatchRevocationsResponse> {
  return async (_request, stream) => {
    const backlog = new Backlog<RevocationEvent>(BACKLOG_LENGTH_MAX)
    const onEnd = (): void => {
      backlog.fail(stream.signal.reason as Error)
    }
    stream.signal.addEventListener('abort', onEnd, { once: true })
    // Sent only once the subscription is live: from here on, a missed revocation always ends the stream.
    const subscription = await subscribe(revocations, backlog)
    try {
      await backlog.whileSound(stream.write({ event: { $case: 'started', value: {} } }))
      for (;;) {
        // Events that arrived during the last send, or were revoked together, are sent together.
        const events = await backlog.take(HEARTBEAT_INTERVAL_MS)
        const messages = events.length === 0 ? [HEARTBEAT] : toRevocationMessages(events)
        for (const message of messages) await backlog.whileSound(stream.write(message))
      }
    } finally {
      stream.signal.removeEventListener('abort', onEnd)
      await subscription.close()
    }
  }
}

async function subscribe(
  revocations: RevocationBus,
  backlog: Backlog<RevocationEvent>
): Promise<RevocationSubscription> {
  try {
    return await revocations.subscribe({
      onEvent(event) {
        if (!backlog.add(event))
          backlog.fail(interrupted('The watcher does not keep up with the revocations'))
      },
      onInterrupted() {
        backlog.fail(interrupted('Revocations may have been missed'))
      },
      onResumed() {
        // The stream has ended already: the watcher starts anew.
      }
    })
  } catch (error) {
    throw interrupted('Revocations cannot be watched now', error)
  }
}

function interrupted(message: string, cause?: unknown): Error {
  return new CallRefused('untold', message, { cause })
}
