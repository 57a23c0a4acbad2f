import { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { RevocationBus, RevocationEvent } from '../../domain/revocations.js'

/** Channel of the shared store that carries revocations between replicas. */
export const REVOCATIONS_CHANNEL = 'revocations'

/**
 * Carries revocations over the shared store, as the messages that the revocation stream sends
 * (`openpayments.auth.v1.WatchRevocationsResponse`), so that replicas of different versions understand each other.
 */
export function createRevocationBus(store: SharedStore, logger: Logger): RevocationBus {
  return {
    publish: (event) => store.publish(REVOCATIONS_CHANNEL, encode(event)),
    subscribe: (listener) =>
      store.subscribe(REVOCATIONS_CHANNEL, {
        onMessage(message) {
          const event = decode(message)
          if (event !== undefined) {
            listener.onEvent(event)
            return
          }
          // What cannot be read may have revoked anything.
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

function encode(event: RevocationEvent): Uint8Array {
  return auth.WatchRevocationsResponse.encode({ event: toMessage(event) }).finish()
}

function toMessage(event: RevocationEvent): NonNullable<auth.WatchRevocationsResponse['event']> {
  switch (event.kind) {
    case 'token':
      return {
        $case: 'tokenRevoked',
        value: { accessTokenHash: Buffer.from(event.accessTokenHash) }
      }
    case 'grant':
      return { $case: 'grantRevoked', value: { grantId: event.grantId } }
  }
}

/** Undefined when the message says nothing that this version knows. */
function decode(bytes: Uint8Array): RevocationEvent | undefined {
  const message = tryDecode(bytes)
  switch (message?.event?.$case) {
    case 'tokenRevoked':
      return { kind: 'token', accessTokenHash: message.event.value.accessTokenHash }
    case 'grantRevoked':
      return { kind: 'grant', grantId: message.event.value.grantId }
    case 'started':
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
