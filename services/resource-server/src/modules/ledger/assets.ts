import { isUniqueViolation } from '@open-payments-server/database'
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
 * Creates an asset and the provider's accounts in it, in one transaction: PostgreSQL aborts it when the asset exists.
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
    await on.asset.create({ data: { code, scale, accounts: { create: accounts } } })
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

/** All assets, by code and scale. */
export function listAssets(on: Queries): Promise<readonly Asset[]> {
  return on.asset.findMany({
    select: { code: true, scale: true },
    orderBy: [{ code: 'asc' }, { scale: 'asc' }]
  })
}

/** The id of an asset; undefined when none has this code and scale. */
export async function findAssetId(on: Queries, { code, scale }: Asset): Promise<number | undefined> {
  const found = await on.asset.findUnique({ where: { code_scale: { code, scale } }, select: { id: true } })
  return found?.id
}
