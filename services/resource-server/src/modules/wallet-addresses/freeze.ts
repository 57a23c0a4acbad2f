import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { FreezeOrder, FreezeWire } from '../../domain/freeze.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { appended, type StoredEvent } from '../events/index.js'
import { accountById, IS_ACCOUNT_FROZEN, isFrozenAccount } from '../ledger/index.js'
import { WALLET_ADDRESS } from './directory.js'

/** Fragment, a condition: whether a wallet address `w`, joined with its account `a`, or that account is frozen. */
export const IS_FROZEN = Prisma.sql`(w.frozen_at is not null or ${IS_ACCOUNT_FROZEN})`

/**
 * Fragment, a condition: whether a wallet address or its account is frozen, as the statement finds it. Both are looked up, whatever
 * the sizes of their tables are when the statement is planned.
 *
 * @param walletAddressId names the wallet address
 */
export function isFrozenAddress(walletAddressId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`coalesce((
    select w.frozen_at is not null or ${isFrozenAccount(Prisma.sql`w.account_id`)} from wallet_address w
     where w.id = ${walletAddressId}), false)`
}

/** Begins the message of a statement that {@link unfrozenPayers} fails. */
const FROZEN_MEANWHILE = 'frozen meanwhile'

/**
 * Fragment: the parts `payer` and `unfrozen` (`proof`), which fail the statement if any of some wallet addresses, or its account, was
 * frozen since the statement began. Both are locked, which reads their latest commit, so that a freeze comes either before what the
 * statement writes, or after its commit. Accounts are locked in the order of their ids, as everywhere. `unfrozen` must be
 * read: its `proof` is null.
 *
 * @param walletAddressIds an array of ids; the expression is evaluated before the first lock
 */
export function unfrozenPayers(walletAddressIds: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  payer as (
    select w.id, ${IS_FROZEN} as frozen from wallet_address w ${accountById(Prisma.sql`w.account_id`)}
     where w.id = any (${walletAddressIds})
       and a.id = any (array(select account_id from wallet_address where id = any (${walletAddressIds})))
     order by a.id, w.id for no key update of a for share of w
  ), unfrozen as (
    select (${Prisma.raw(`'${FROZEN_MEANWHILE}: '`)} || string_agg(id::text, ', '))::integer as proof from payer where frozen
  )`
}

/** Whether a statement failed because a payer was frozen since it began: the next one sees that. */
export function isFrozenMeanwhile(error: unknown): boolean {
  return error instanceof Error && error.message.includes(`"${FROZEN_MEANWHILE}: `)
}

/** Whether a wallet address (UUID), or its account, is frozen. */
export async function isFrozen(on: Queries, walletAddressId: string): Promise<boolean> {
  const [row] = await FROZEN.rows(on, { id: walletAddressId })
  return row?.frozen === true
}

/** A statement, because it is decided as everywhere else. */
const FROZEN = new Statement<{ frozen: boolean }>(
  'is-frozen',
  Prisma.sql`select ${isFrozenAddress(Prisma.sql`${placeholder('id')}::uuid`)} as frozen`
)

const [FREEZES, BY, REASON, SINCE, NOW] = [
  Prisma.sql`${placeholder('freezes')}::boolean`,
  Prisma.sql`${placeholder('by')}::text`,
  Prisma.sql`${placeholder('reason')}::text`,
  Prisma.sql`${placeholder('since')}::timestamptz`,
  Prisma.sql`${placeholder('now')}::timestamptz`
]

/** One statement, with the event of it. A wallet address that is as ordered already keeps its freeze, and so does one with another freeze: nothing is told. */
const FREEZE = new Statement(
  'freeze-wallet-address',
  Prisma.sql`
  with changed as (
    update wallet_address
       set frozen_at = case when ${FREEZES} then ${NOW} end, frozen_by = case when ${FREEZES} then ${BY} end,
           freeze_reason = case when ${FREEZES} then ${REASON} end
     where id = ${placeholder('id')}::uuid and (frozen_at is null) = ${FREEZES}
       and (${SINCE} is null or frozen_at = ${SINCE})
    returning id
  ), ${appended(Prisma.sql`
  select case when ${FREEZES} then 'wallet_address.frozen' else 'wallet_address.unfrozen' end as type, id as subject_id,
         json_build_object('frozen', ${FREEZES}, 'by', ${BY}, 'reason', ${REASON}) as change, ${NOW} as occurred_at
    from changed`)}
  select id from changed`,
  { prepared: false }
)

/**
 * Freezes a wallet address (UUID), or ends its freeze. Waits for payments from it that are just being persisted, and makes later
 * ones wait: none is persisted after it.
 *
 * @returns whether this call did it: false when it was as ordered already, has another freeze, or there is none
 */
export async function freezeWalletAddress(on: Queries, id: string, order: FreezeOrder): Promise<boolean> {
  const { freezes, by, reason, sinceMs, nowMs } = order
  const since = sinceMs === undefined ? null : instantText(sinceMs)
  const changed = await FREEZE.rows(on, { id, freezes, by, reason, since, now: instantText(nowMs) })
  return changed.length === 1
}

/** A wallet address as an event tells of it. */
export interface ToldWalletAddress {
  readonly url: string
  readonly asset: Asset
  /** What an operator ordered. */
  readonly freeze: FreezeWire
}

/** One statement over three tables: Prisma's models would send one for each table. */
const TOLD = new Statement<{
  readonly id: string
  readonly path: string
  readonly code: string
  readonly scale: number
}>(
  'get-told-wallet-addresses',
  Prisma.sql`select w.id, w.path, s.code, s.scale
               from unnest(${placeholder('ids')}::uuid[]) as told (id) ${WALLET_ADDRESS(Prisma.sql`told.id`)}`
)

/**
 * Reads wallet addresses of which events tell.
 *
 * @returns the wallet address of each event, in their order
 */
export async function readToldWalletAddresses(
  on: Queries,
  events: readonly StoredEvent[],
  urls: ResourceUrls
): Promise<readonly (ToldWalletAddress | undefined)[]> {
  if (events.length === 0) return []
  const rows = await TOLD.rows(on, { ids: [...new Set(events.map(({ subjectId }) => subjectId))] })
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  return events.map(({ subjectId, change }) => {
    const row = rowOf.get(subjectId)
    if (row === undefined || change === undefined) return undefined
    const { path, ...asset } = row
    return {
      url: urls.ofWalletAddress(path),
      asset: { code: asset.code, scale: asset.scale },
      freeze: change as unknown as FreezeWire
    }
  })
}
