import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { type Freeze, type FreezeColumns, readFreeze } from '../../domain/freeze.js'
import { type Holder, type HolderColumns, readHolder } from '../../domain/holder.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'

/** A wallet account: whose owner deposits, pays and is paid. Values are in units of its asset. */
export interface Account {
  /** Id (UUID). */
  readonly id: string
  readonly name: string
  readonly asset: Asset
  readonly creditsPosted: bigint
  readonly debitsPosted: bigint
  readonly debitsPending: bigint
  readonly createdAtMs: number
  /** undefined unless it is frozen. */
  readonly freeze: Freeze | undefined
  /** undefined unless an operator said who holds it. */
  readonly holder: Holder | undefined
}

/** Fragment: what an account can spend. */
export const AVAILABLE = Prisma.sql`credits_posted - debits_posted - debits_pending`

/**
 * Fragment, an expression in a query of `account` rows that it locks: what an account can spend, without the money that arrived while
 * the lock was waited for. PostgreSQL checks the constraints of a row that is updated first as the statement's snapshot has it, and
 * would refuse what only the latest commit covers.
 */
export const AVAILABLE_THROUGHOUT = Prisma.sql`least(${AVAILABLE}, (select ${AVAILABLE} from account seen where seen.id = account.id))`

/** An account to be created. */
export interface NewAccount {
  /** Id (UUID). */
  readonly id: string
  readonly name: string
  readonly assetId: number
  readonly asset: Asset
  readonly createdAtMs: number
}

/** One statement, with the event of it: Prisma's models cannot compose. */
const CREATE = new Statement(
  'create-account',
  Prisma.sql`
  with created as (
    insert into account (id, kind, name, asset_id, asset_code, asset_scale, created_at)
    values (${placeholder('id')}::uuid, 'wallet', ${placeholder('name')}::text, ${placeholder('assetId')}::integer,
            ${placeholder('code')}::text, ${placeholder('scale')}::smallint, ${placeholder('createdAt')}::timestamptz)
    on conflict do nothing
    returning id, created_at
  ), ${appended(Prisma.sql`
  select 'account.created' as type, id as subject_id, null::json as change, created_at as occurred_at from created`)}
  select id from created`,
  { prepared: false }
)

/**
 * Creates a wallet account.
 *
 * @returns false when its name is taken
 */
export async function createAccount(
  on: Queries,
  { asset, createdAtMs, ...account }: NewAccount
): Promise<boolean> {
  const created = await CREATE.rows(on, { ...account, ...asset, createdAt: instantText(createdAtMs) })
  return created.length === 1
}

/** Finds an account by its name. */
export async function findAccount(on: Queries, name: string): Promise<Account | undefined> {
  const account = await on.account.findUnique({ where: { name }, include: { asset: true } })
  return account === null ? undefined : toAccount(account)
}

/** Finds wallet accounts by their ids (UUID), in no order. */
export async function findAccountsById(on: Queries, ids: readonly string[]): Promise<readonly Account[]> {
  const accounts = await on.account.findMany({ where: { id: { in: [...ids] } }, include: { asset: true } })
  return accounts.map(toAccount)
}

/**
 * Lists wallet accounts, by name.
 *
 * @param page.after only those with names after this one; all names come after the empty one
 */
export async function listAccounts(
  on: Queries,
  page: { readonly after: string; readonly limit: number }
): Promise<readonly Account[]> {
  const accounts = await on.account.findMany({
    where: { kind: 'wallet', name: { gt: page.after } },
    include: { asset: true },
    orderBy: { name: 'asc' },
    take: page.limit
  })
  return accounts.map(toAccount)
}

/** A decimal from the database: a whole number, whatever its type says. */
interface WholeDecimal {
  toFixed(decimals: 0): string
}

function toAccount(
  account: FreezeColumns &
    HolderColumns & {
      id: string
      name: string | null
      asset: Asset
      creditsPosted: WholeDecimal
      debitsPosted: WholeDecimal
      debitsPending: WholeDecimal
      createdAt: Date
    }
): Account {
  const { code, scale } = account.asset
  return {
    id: account.id,
    name: account.name ?? '',
    asset: { code, scale },
    creditsPosted: BigInt(account.creditsPosted.toFixed(0)),
    debitsPosted: BigInt(account.debitsPosted.toFixed(0)),
    debitsPending: BigInt(account.debitsPending.toFixed(0)),
    createdAtMs: account.createdAt.getTime(),
    freeze: readFreeze(account),
    holder: readHolder(account)
  }
}
