import { isUniqueViolation, placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { Prisma, type Queries } from '../database.js'
import { PROVIDER_ACCOUNT_KINDS } from './provider-accounts.js'

/**
 * Fragment: joins the account `a` and its asset `s` (`id`, `code`, `scale`) to whatever names an account.
 *
 * @param accountId names the account, such as `w.account_id`
 */
export const ASSET_OF_ACCOUNT = (accountId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  ${accountById(accountId)}
  ${assetById(Prisma.sql`a.asset_id`, Prisma.sql`s`)}`

/**
 * Fragment: joins an account `a` (`id`, `asset_id`) by its id.
 *
 * @param accountId names the account, such as `w.account_id`
 */
export function accountById(accountId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`join account a on a.id = ${accountId}`
}

/**
 * Fragment: joins an asset (`id`, `code`, `scale`) by its id.
 *
 * @param assetId names the asset, such as `q.receive_asset_id`
 * @param alias of the joined asset
 */
export function assetById(assetId: Prisma.Sql, alias: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`join asset ${alias} on ${alias}.id = ${assetId}`
}

/**
 * Fragment, an expression: the id of the asset of an account, which is looked up, whatever the sizes of the tables are when the
 * statement is planned.
 *
 * @param accountId names the account
 */
export function assetIdOf(accountId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select a.asset_id from account a where a.id = ${accountId})`
}

/** Those that are accounted in here. Of others, only the code and scale are known, because something is paid in them elsewhere. */
const WITH_ACCOUNTS = { accounts: { some: {} } } as const

/**
 * Creates an asset and the provider's accounts in it, in one transaction: PostgreSQL aborts it when the accounts exist.
 *
 * @param newId creates ids (UUID) of accounts
 * @returns false when an asset with this code and scale exists
 */
export async function createAsset(
  on: Queries,
  { code, scale }: Asset,
  newId: () => string
): Promise<boolean> {
  const accounts = PROVIDER_ACCOUNT_KINDS.map((kind) => ({ id: newId(), kind }))
  try {
    await on.asset.upsert({
      where: { code_scale: { code, scale } },
      create: { code, scale, accounts: { create: accounts } },
      update: { accounts: { create: accounts } }
    })
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

/** All assets that are accounted in here, by code and scale. */
export function listAssets(on: Queries): Promise<readonly Asset[]> {
  return on.asset.findMany({
    where: WITH_ACCOUNTS,
    select: { code: true, scale: true },
    orderBy: [{ code: 'asc' }, { scale: 'asc' }]
  })
}

/**
 * The asset that was created first, which stays the same; undefined while there is none. What is only known from elsewhere was added later:
 * payments are sent in assets of here.
 */
export async function findFirstAsset(on: Queries): Promise<Asset | undefined> {
  const found = await on.asset.findFirst({
    where: WITH_ACCOUNTS,
    select: { code: true, scale: true },
    orderBy: { id: 'asc' }
  })
  return found ?? undefined
}

/** The id of an asset that is accounted in here; undefined when none has this code and scale. */
export async function findAssetId(on: Queries, { code, scale }: Asset): Promise<number | undefined> {
  const found = await on.asset.findFirst({ where: { code, scale, ...WITH_ACCOUNTS }, select: { id: true } })
  return found?.id
}

const ENSURE = new Statement<{ readonly id: number }>(
  'ensure-asset',
  Prisma.sql`
  with known as (
    select id from asset where code = ${placeholder('code')}::text and scale = ${placeholder('scale')}::smallint
  ), added as (
    insert into asset (code, scale)
    select ${placeholder('code')}::text, ${placeholder('scale')}::smallint where not exists (select 1 from known)
    on conflict (code, scale) do update set code = excluded.code
    returning id
  )
  select id from known union all select id from added`
)

/** The id of an asset that something elsewhere is in: it need not be accounted in here. */
export async function ensureAsset(on: Queries, { code, scale }: Asset): Promise<number> {
  const [row] = await ENSURE.rows(on, { code, scale })
  if (row === undefined) throw new Error('an asset that was to be known is not')
  return row.id
}
