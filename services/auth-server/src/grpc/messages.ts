import type { auth } from '@open-payments-server/proto'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import type { AccessItem, Limits } from '../domain/access.js'

/** An access item on the wire. */
export function toAccessItemMessage(item: AccessItem): auth.AccessItem {
  return {
    type: item.type,
    actions: [...item.actions],
    identifier: item.identifier ?? '',
    limits: item.limits === undefined ? undefined : toLimitsMessage(item.limits)
  }
}

/** The limits of an access item on the wire. */
export function toLimitsMessage({ receiver, interval, debitAmount, receiveAmount }: Limits): auth.Limits {
  return {
    receiver: receiver ?? '',
    interval: interval ?? '',
    debitAmount: debitAmount && formatAmount(debitAmount),
    receiveAmount: receiveAmount && formatAmount(receiveAmount)
  }
}

/** The token holder of a grant on the wire. */
export function toClientMessage(client: {
  readonly walletAddress?: string | null | undefined
  readonly jwkThumbprint?: string | null | undefined
}): auth.ClientInstance {
  return { walletAddress: client.walletAddress ?? '', jwkThumbprint: client.jwkThumbprint ?? '' }
}
