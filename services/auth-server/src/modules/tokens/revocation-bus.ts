import { BATCH_PATIENCE_MS, fulfilled, gather, type Logger } from '@open-payments-server/runtime'
import type { SharedStore } from '@open-payments-server/shared-store'
import { z } from 'zod'
import type { RevocationBus, RevocationEvent } from '../../domain/revocations.js'

/** Channel of the shared store that carries revocations between replicas. */
export const REVOCATIONS_CHANNEL = 'revocations'

/** Maximum number of revocations in one message. */
const TOGETHER_MAX = 100

/** How long a failover of Redis is waited for, in milliseconds: whoever revokes gets an answer, not an error. */
const FAILOVER_PATIENCE_MS = 5_000

/** Revocations in one message, in order, as JSON. A replica that knows more kinds of them is not understood by this one. */
const messageSchema = z.array(
  z.union([
    z.strictObject({ token: z.base64() }), // SHA-256 of its value
    z.strictObject({ grant: z.uuid() }),
    z.strictObject({ client: z.string() }), // whose freeze changed
    z.strictObject({ changedGrant: z.uuid() })
  ])
)

/**
 * Carries revocations over the shared store. Those that are published at the same time, such as those of tokens rotated by
 * one statement, share one message.
 */
export function createRevocationBus({
  sharedStore,
  logger
}: {
  readonly sharedStore: SharedStore
  readonly logger: Logger
}): RevocationBus {
  const publish = gather<RevocationEvent, undefined>({
    itemsMax: TOGETHER_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    async runBatch(events) {
      await sharedStore.publish(REVOCATIONS_CHANNEL, encode(events), FAILOVER_PATIENCE_MS)
      return events.map(() => fulfilled(undefined))
    }
  })
  return {
    publish,
    subscribe: (listener) =>
      sharedStore.subscribe(REVOCATIONS_CHANNEL, {
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

function encode(events: readonly RevocationEvent[]): Uint8Array {
  const message: z.input<typeof messageSchema> = events.map(encodeEvent)
  return Buffer.from(JSON.stringify(message))
}

function encodeEvent(event: RevocationEvent): z.input<typeof messageSchema>[number] {
  switch (event.kind) {
    case 'token':
      return { token: Buffer.from(event.accessTokenHash).toString('base64') }
    case 'grant':
      return { grant: event.grantId }
    case 'client':
      return { client: event.client }
    case 'changed-grant':
      return { changedGrant: event.grantId }
  }
}

/** Undefined when the message contains anything that this version does not know. */
function decode(bytes: Uint8Array): RevocationEvent[] | undefined {
  return messageSchema.safeParse(parseJson(bytes)).data?.map((revoked) => {
    if ('token' in revoked) return { kind: 'token', accessTokenHash: Buffer.from(revoked.token, 'base64') }
    if ('grant' in revoked) return { kind: 'grant', grantId: revoked.grant }
    return 'client' in revoked
      ? { kind: 'client', client: revoked.client }
      : { kind: 'changed-grant', grantId: revoked.changedGrant }
  })
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
}
