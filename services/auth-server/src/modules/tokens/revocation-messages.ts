import type { auth } from '@open-payments-server/proto'
import type { RevocationEvent } from '../../domain/revocations.js'

/** Revocations on the wire, over gRPC and between replicas: all tokens in one message, then one message per grant. */
export function toRevocationMessages(events: readonly RevocationEvent[]): auth.WatchRevocationsResponse[] {
  const tokenHashes = events.flatMap((event) =>
    event.kind === 'token' ? [Buffer.from(event.accessTokenHash)] : []
  )
  const grantIds = events.flatMap((event) => (event.kind === 'grant' ? [event.grantId] : []))
  const messages: auth.WatchRevocationsResponse['event'][] = [
    ...toTokensEvent(tokenHashes),
    ...grantIds.map((grantId) => ({ $case: 'grantRevoked', value: { grantId } }) as const)
  ]
  return messages.map((event) => ({ event }))
}

function toTokensEvent(tokenHashes: Buffer[]): auth.WatchRevocationsResponse['event'][] {
  const [accessTokenHash, ...others] = tokenHashes
  if (accessTokenHash === undefined) return []
  return others.length === 0
    ? [{ $case: 'tokenRevoked', value: { accessTokenHash } }]
    : [{ $case: 'tokensRevoked', value: { accessTokenHashes: tokenHashes } }]
}
