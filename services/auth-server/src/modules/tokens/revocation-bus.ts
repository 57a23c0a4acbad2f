import { auth } from '@open-payments-server/proto'
import { BATCH_PATIENCE_MS, fulfilled, gather, type Logger } from '@open-payments-server/runtime'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { RevocationBus, RevocationEvent } from '../../domain/revocations.js'
import { toRevocationMessages } from './revocation-messages.js'

/** Channel of the shared store that carries revocations between replicas. */
export const REVOCATIONS_CHANNEL = 'revocations'

/** Maximum number of revocations in one message. */
const TOGETHER_MAX = 100

/**
 * Carries revocations over the shared store, as the messages of the revocation stream
 * (`openpayments.auth.v1.WatchRevocationsResponse`), so that replicas of different versions understand each other. Tokens
 * that are revoked at the same time, such as those rotated by one statement, share one message.
 */
export function createRevocationBus(store: SharedStore, logger: Logger): RevocationBus {
  const publish = gather<RevocationEvent, undefined>({
    itemsMax: TOGETHER_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    wholeTurn: true,
    async runBatch(events) {
      const messages = toRevocationMessages(events)
      await Promise.all(messages.map((message) => store.publish(REVOCATIONS_CHANNEL, encode(message))))
      return events.map(() => fulfilled(undefined))
    }
  })
  return {
    publish,
    subscribe: (listener) =>
      store.subscribe(REVOCATIONS_CHANNEL, {
        onMessage(message) {
          const events = decode(message)
          if (events !== undefined) {
            for (const event of events) listener.onEvent(event)
            return
          }
          // An unreadable message may have revoked anything.
          logger.error({ channel: REVOCATIONS_CHANNEL }, 'unreadable revocation')
          listener.onInterrupted()
          listener.onResumed()
        },
        onInterrupted: () => {
          listener.onInterrupted()
        },
        onResumed: () => {
          listener.onResumed()
        }
      })
  }
}

function encode(message: auth.WatchRevocationsResponse): Uint8Array {
  return auth.WatchRevocationsResponse.encode(message).finish()
}

/** Undefined when the message contains nothing that this version knows. */
function decode(bytes: Uint8Array): RevocationEvent[] | undefined {
  const message = tryDecode(bytes)
  switch (message?.event?.$case) {
    case 'tokenRevoked':
      return [{ kind: 'token', accessTokenHash: message.event.value.accessTokenHash }]
    case 'tokensRevoked':
      return message.event.value.accessTokenHashes.map((accessTokenHash) => ({
        kind: 'token',
        accessTokenHash
      }))
    case 'grantRevoked':
      return [{ kind: 'grant', grantId: message.event.value.grantId }]
    case 'started':
    case 'heartbeat':
    case undefined:
      return undefined
  }
}

function tryDecode(bytes: Uint8Array): auth.WatchRevocationsResponse | undefined {
  try {
    return auth.WatchRevocationsResponse.decode(bytes)
  } catch {
    return undefined
  }
}
