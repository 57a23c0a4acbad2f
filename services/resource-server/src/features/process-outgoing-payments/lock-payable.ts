import type { Queries } from '../../modules/database.js'
import { lockAccounts } from '../../modules/ledger/index.js'
import { type PayableBound, readPayableBounds } from '../../modules/peers/index.js'

/**
 * Locks what the provider owes to peers (UUID) until the transaction ends, where that has a limit.
 *
 * @returns what is owed, and how much may be, by their ids; those without a limit are missing
 */
export async function lockPayable(
  transaction: Queries,
  peerIds: readonly string[]
): Promise<ReadonlyMap<string, PayableBound>> {
  const limited = [...(await readPayableBounds(transaction, peerIds))].filter(
    ([, { limitValue }]) => limitValue !== undefined
  )
  if (limited.length === 0) return new Map()
  await lockAccounts(
    transaction,
    limited.map(([, { payableAccountId }]) => payableAccountId)
  )
  // Read again under the locks.
  return readPayableBounds(
    transaction,
    limited.map(([id]) => id)
  )
}
