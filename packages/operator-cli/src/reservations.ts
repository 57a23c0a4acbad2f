import type { Amount } from '@open-payments-server/value-types/amounts'
import { parseAmountValue } from '@open-payments-server/value-types/amounts'
import { assetOf } from './messages.js'
import type { OperatorClient } from './operator-client.js'

/** Maximum duration of telling the auth server anew: everything is read. */
const DEADLINE_MS = 3_600_000

/** A payment whose reservation the auth server did not record. */
export interface RefusedReservation {
  readonly id: string
  readonly grantId: string
  readonly walletAddress: string
  /** What it debited, or may debit. */
  readonly debitAmount: Amount
  /** Why not. */
  readonly reason: string
  /** Whether it is because there is no such grant: then it can be accepted. */
  readonly grantUnknown: boolean
}

/** What the auth server was told anew. */
export interface RestoredReservations {
  readonly restoredCount: bigint
  /** Number of outcomes that are delivered again. */
  readonly outcomeCount: bigint
  readonly refusedCount: bigint
  /** The first 1000 of them, by id. */
  readonly refused: readonly RefusedReservation[]
}

/** Tells the auth server anew of what its database lost. Idempotent. */
export async function restoreReservations(client: OperatorClient): Promise<RestoredReservations> {
  const options = { idempotent: true, deadlineMs: DEADLINE_MS }
  const { refused, ...counts } = await client.callWallet('restoreReservations', {}, options)
  return {
    ...counts,
    refused: refused.map(
      ({ paymentId, grantId, walletAddress, debitValue, debitAsset, reason, grantUnknown }) => ({
        id: paymentId,
        grantId,
        walletAddress,
        debitAmount: { value: parseAmountValue(debitValue), asset: assetOf(debitAsset) },
        reason,
        grantUnknown
      })
    )
  }
}

/** Maximum number of payments that are accepted with one call. */
const ACCEPTED_MAX = 100

/**
 * Accepts payments that no grant counts, because the auth server lost their grants.
 *
 * @returns the ids that this call recorded
 */
export async function acceptPayments(
  client: OperatorClient,
  ids: readonly string[],
  reason: string
): Promise<readonly string[]> {
  const accepted: string[] = []
  for (let start = 0; start < ids.length; start += ACCEPTED_MAX) {
    const request = { paymentIds: ids.slice(start, start + ACCEPTED_MAX), reason }
    const options = { idempotent: true, deadlineMs: DEADLINE_MS }
    const { paymentIds } = await client.callWallet('acceptUncountedPayments', request, options)
    accepted.push(...paymentIds)
  }
  return accepted
}

/**
 * Accepts all payments whose grants the auth server lost. It is told anew first, of what it can count.
 *
 * @returns the ids that this call recorded
 */
export async function acceptAllPayments(client: OperatorClient, reason: string): Promise<readonly string[]> {
  const accepted: string[] = []
  for (;;) {
    const { refused } = await restoreReservations(client)
    const ids = refused.filter(({ grantUnknown }) => grantUnknown).map(({ id }) => id)
    const told = await acceptPayments(client, ids, reason)
    accepted.push(...told)
    if (told.length === 0) return accepted
  }
}
