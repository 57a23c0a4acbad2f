import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { type AccountHolding, type Holder, type HolderColumns, readHolder } from '../../domain/holder.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import { AVAILABLE } from './accounts.js'
import { assetById } from './assets.js'
import { IS_ACCOUNT_FROZEN } from './freeze.js'

/** Fragment: the columns `name` and `HolderColumns` of an account `a`, joined by `accountById`. */
export const ACCOUNT_HOLDER = Prisma.sql`
  a.name, a.holder_issuer as "holderIssuer", a.holder_sub as "holderSub"`

/** Who is to hold a wallet account. */
export interface HolderChange {
  /** undefined for nobody. */
  readonly holder: Holder | undefined
  /** Who orders it: a person, or the names in a machine's certificate; empty for a machine in plain text. */
  readonly by: string
  readonly nowMs: number
}

const [ISSUER, SUB, BY, NOW] = [
  Prisma.sql`${placeholder('issuer')}::text`,
  Prisma.sql`${placeholder('sub')}::text`,
  Prisma.sql`${placeholder('by')}::text`,
  Prisma.sql`${placeholder('now')}::timestamptz`
]

/** Fragment, an expression: a holder as an event tells it; null for nobody. */
const told = (issuer: Prisma.Sql, sub: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`case when ${issuer} is not null then json_build_object('issuer', ${issuer}, 'sub', ${sub}) end`

/** One statement, with the event of it. The row is locked first: so `before` is what the last change left, if several arrive at once. */
const SET_HOLDER = new Statement<{ readonly id: string }>(
  'set-account-holder',
  Prisma.sql`
  with former as (
    select id, holder_issuer as issuer, holder_sub as sub from account
     where name = ${placeholder('name')}::text and kind = 'wallet' for no key update
  ), changed as (
    update account set holder_issuer = ${ISSUER}, holder_sub = ${SUB}
      from former
     where account.id = former.id
       and (former.issuer is distinct from ${ISSUER} or former.sub is distinct from ${SUB})
    returning account.id, former.issuer, former.sub
  ), ${appended(Prisma.sql`
  select 'account.holder_changed' as type, id as subject_id,
         json_build_object('before', ${told(Prisma.sql`issuer`, Prisma.sql`sub`)}, 'after', ${told(ISSUER, SUB)}, 'by', ${BY}) as change,
         ${NOW} as occurred_at
    from changed`)}
  select id from changed`,
  { prepared: false }
)

/**
 * Says who holds a wallet account.
 *
 * @returns whether this call changed it: false when it was so already, or there is no such account
 */
export async function setHolder(
  on: Queries,
  name: string,
  { holder, by, nowMs }: HolderChange
): Promise<boolean> {
  const { issuer, sub } = holder ?? { issuer: null, sub: null }
  const values = { name, issuer, sub, by, now: instantText(nowMs) }
  return (await SET_HOLDER.rows(on, values)).length === 1
}

/** A wallet account as its holder sees it. Values are in units of its asset. */
export interface HeldAccount extends AccountHolding {
  /** Id (UUID). */
  readonly id: string
  readonly asset: Asset
  /** Balance, including money on hold for pending payments. */
  readonly balance: bigint
  /** The part of it that can be spent now. */
  readonly available: bigint
  readonly isFrozen: boolean
}

interface HeldAccountRow extends HolderColumns {
  readonly id: string
  readonly name: string
  readonly code: string
  readonly scale: number
  readonly balance: string
  readonly available: string
  readonly frozen: boolean
}

/** Both conditions have an index: that of holders, and that of names. */
const HELD = new Statement<HeldAccountRow>(
  'list-held-accounts',
  Prisma.sql`
  select a.id, ${ACCOUNT_HOLDER}, s.code, s.scale, (a.credits_posted - a.debits_posted)::text as balance,
         (${AVAILABLE})::text as available, ${IS_ACCOUNT_FROZEN} as frozen
    from account a ${assetById(Prisma.sql`a.asset_id`, Prisma.sql`s`)}
   where (a.holder_issuer = ${ISSUER} and a.holder_sub = ${SUB})
      or (a.name = any (${placeholder('names')}::text[]) and a.kind = 'wallet' and a.holder_issuer is null)
   order by a.name collate "C"`,
  { prepared: false }
)

/**
 * Finds the accounts that an operator said a person holds, and those of some names for which nobody was set, by name: in the order of its
 * characters.
 *
 * @param names without U+0000
 */
export async function findHeldAccounts(
  on: Queries,
  { issuer, sub }: Holder,
  names: readonly string[]
): Promise<readonly HeldAccount[]> {
  const rows = await HELD.rows(on, { issuer, sub, names })
  return rows.map((row) => ({
    id: row.id,
    accountName: row.name,
    holder: readHolder(row),
    asset: { code: row.code, scale: row.scale },
    balance: BigInt(row.balance),
    available: BigInt(row.available),
    isFrozen: row.frozen
  }))
}
