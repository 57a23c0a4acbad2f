import { placeholder, Statement } from '@open-payments-server/database'
import type { ReceivingState } from '../../domain/receiver.js'
import { Prisma, type Queries } from '../database.js'
import { accountById } from '../ledger/index.js'
import {
  isFrozenReceiver,
  type LockedReceiver,
  lockedReceivers,
  type LockedReceiverRow,
  readLockedReceiver
} from './room.js'

/** A locked incoming payment, with the id of its asset. */
export interface LockedReceiverInAsset extends LockedReceiver {
  readonly assetId: number
}

const LOCK = new Statement<LockedReceiverRow & { readonly asset_id: number }>(
  'lock-receivers',
  Prisma.sql`
  with ${lockedReceivers(Prisma.sql`${placeholder('ids')}::uuid[]`)}
  select receiver.*, a.asset_id from receiver ${accountById(Prisma.sql`receiver.receiver_account_id`)}`
)

/**
 * Locks incoming payments, in the order of their ids, until the transaction ends.
 *
 * @param ids ids (UUID)
 * @returns those that exist, by their ids
 */
export async function lockReceivers(
  transaction: Queries,
  ids: readonly string[]
): Promise<ReadonlyMap<string, LockedReceiverInAsset>> {
  const rows = await LOCK.rows(transaction, { ids: [...ids] })
  return new Map(rows.map((row) => [row.receiver_id, { ...readLockedReceiver(row), assetId: row.asset_id }]))
}

const FROZEN = new Statement<{ readonly id: string }>(
  'find-frozen-receivers',
  Prisma.sql`
  select one.id from unnest(${placeholder('ids')}::uuid[]) as one (id) where ${isFrozenReceiver(Prisma.sql`one.id`)}`
)

/** Which of some incoming payments (UUID) are those of a frozen wallet address or account. */
export async function findFrozenReceivers(on: Queries, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await FROZEN.rows(on, { ids: [...ids] })).map(({ id }) => id))
}

const STATE = new Statement<{
  readonly id: string
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
}>(
  'find-receiving-states',
  Prisma.sql`
  select i.id, i.incoming_value::text, i.received_value::text, i.completed, i.expires_at
    from incoming_payment i where i.id = any (${placeholder('ids')}::uuid[])`
)

/** What incoming payments (UUID) can still take, by their ids; those that do not exist are missing. */
export async function findReceivingStates(
  on: Queries,
  ids: readonly string[]
): Promise<ReadonlyMap<string, ReceivingState>> {
  const rows = await STATE.rows(on, { ids: [...ids] })
  return new Map(
    rows.map((row) => [
      row.id,
      {
        incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
        receivedValue: BigInt(row.received_value),
        completed: row.completed,
        expiresAtMs: row.expires_at.getTime()
      }
    ])
  )
}
