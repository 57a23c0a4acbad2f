import type { auth } from '@open-payments-server/proto'
import type { RevocationEvent } from '../domain/revocations.js'

/** Revocations as messages of the revocation stream: all tokens in one message, then one message per grant. */
export function toRevocationMessages(events: readonly RevocationEvent[]): auth.WatchRevocationsResponse[] {
  const accessTokenHashes = events.flatMap((event) =>
    event.kind === 'token' ? [Buffer.from(event.accessTokenHash)] : []
  )
  const grants = events.flatMap((event): auth.WatchRevocationsResponse[] =>
    event.kind === 'grant' ? [{ event: { $case: 'grantRevoked', value: { grantId: event.grantId } } }] : []
  )
  return accessTokenHashes.length === 0
    ? grants
    : [{ event: { $case: 'tokensRevoked', value: { accessTokenHashes } } }, ...grants]
}
