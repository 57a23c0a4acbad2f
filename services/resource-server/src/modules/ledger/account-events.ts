import type { Asset } from '@open-payments-server/value-types/amounts'
import type { FreezeWire } from '../../domain/freeze.js'
import type { HolderChangeWire } from '../../domain/holder.js'
import type { Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import { findAccountsById } from './accounts.js'

/** An account as an event tells of it. */
export interface ToldAccount {
  /** Id (UUID). */
  readonly id: string
  readonly name: string
  readonly asset: Asset
  readonly createdAtMs: number
  /** What an operator ordered; undefined when the account was just created. */
  readonly change: FreezeWire | HolderChangeWire | undefined
}

/**
 * Reads accounts as they were when something happened to them.
 *
 * @returns the account of each event, in their order
 */
export async function readToldAccounts(
  on: Queries,
  events: readonly StoredEvent[]
): Promise<readonly (ToldAccount | undefined)[]> {
  if (events.length === 0) return []
  const accounts = await findAccountsById(on, [...new Set(events.map(({ subjectId }) => subjectId))])
  const accountOf = new Map(accounts.map((account) => [account.id, account]))
  return events.map(({ subjectId, change }) => {
    const account = accountOf.get(subjectId)
    if (account === undefined) return undefined
    const { id, name, asset, createdAtMs } = account
    return { id, name, asset, createdAtMs, change: change as ToldAccount['change'] }
  })
}
