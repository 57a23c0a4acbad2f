import type { auth } from '@open-payments-server/proto'
import { readClientName } from '../domain/frozen-clients.js'
import type { RevocationEvent } from '../domain/revocations.js'
import { toClientMessage } from './messages.js'

/** Revocations as messages of the revocation stream: all tokens in one message, then one message per grant and client. */
export function toRevocationMessages(events: readonly RevocationEvent[]): auth.WatchRevocationsResponse[] {
  const accessTokenHashes = events.flatMap((event) =>
    event.kind === 'token' ? [Buffer.from(event.accessTokenHash)] : []
  )
  const others = events.flatMap((event): auth.WatchRevocationsResponse[] => {
    switch (event.kind) {
      case 'token':
        return []
      case 'grant':
        return [{ event: { $case: 'grantRevoked', value: { grantId: event.grantId } } }]
      case 'client': {
        const client = toClientMessage(readClientName(event.client))
        return [{ event: { $case: 'clientFreezeChanged', value: { client } } }]
      }
      case 'changed-grant':
        return [{ event: { $case: 'grantChanged', value: { grantId: event.grantId } } }]
    }
  })
  return accessTokenHashes.length === 0
    ? others
    : [{ event: { $case: 'tokensRevoked', value: { accessTokenHashes } } }, ...others]
}
