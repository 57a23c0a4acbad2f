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
    refused: refused.map(({ paymentId, grantId, walletAddress, debitValue, debitAsset, reason }) => ({
      id: paymentId,
      grantId,
      walletAddress,
      debitAmount: { value: parseAmountValue(debitValue), asset: assetOf(debitAsset) },
      reason
    }))
  }
}
