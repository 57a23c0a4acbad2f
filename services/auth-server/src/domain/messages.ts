import { formatAmount } from '@open-payments-server/amounts'
import type { auth } from '@open-payments-server/proto'
import type { AccessItem, Limits } from './access.js'
import type { RevocationEvent } from './revocations.js'

/** An access item as it travels over gRPC. */
export function toAccessItemMessage(item: AccessItem): auth.AccessItem {
  return {
    type: item.type,
    actions: [...item.actions],
    identifier: item.identifier ?? '',
    limits: item.limits === undefined ? undefined : toLimitsMessage(item.limits)
  }
}

function toLimitsMessage({ receiver, interval, debitAmount, receiveAmount }: Limits): auth.Limits {
  return {
    receiver: receiver ?? '',
    interval: interval ?? '',
    debitAmount: debitAmount && formatAmount(debitAmount),
    receiveAmount: receiveAmount && formatAmount(receiveAmount)
  }
}

/** The holder of a grant as it travels over gRPC. */
export function toClientMessage(client: {
  readonly walletAddress?: string | null | undefined
  readonly jwkThumbprint?: string | null | undefined
}): auth.ClientInstance {
  return { walletAddress: client.walletAddress ?? '', jwkThumbprint: client.jwkThumbprint ?? '' }
}

/** Revocations as they travel over gRPC and between replicas: all tokens in one message, then each grant in one. */
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
