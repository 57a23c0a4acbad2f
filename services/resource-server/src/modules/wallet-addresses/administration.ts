import type { Asset } from '@open-payments-server/value-types/amounts'
import { type Freeze, readFreeze } from '../../domain/freeze.js'
import type { Queries } from '../database.js'
import { findAccountsById } from '../ledger/index.js'

/** A wallet address to be created. */
export interface NewWalletAddress {
  /** Id (UUID). */
  readonly id: string
  readonly path: string
  readonly publicName: string | undefined
  /** Id (UUID) of the account behind it. */
  readonly accountId: string
  readonly createdAtMs: number
}

/** A wallet address in an operator's list. */
export interface StoredWalletAddress {
  readonly path: string
  readonly publicName: string | undefined
  readonly accountName: string
  readonly asset: Asset
  /** Ids of its keys that are not revoked. */
  readonly keyIds: readonly string[]
  /** undefined unless it is frozen itself. */
  readonly freeze: Freeze | undefined
}

/**
 * Creates a wallet address.
 *
 * @returns false when its path is taken
 */
export async function createWalletAddress(
  on: Queries,
  { publicName, createdAtMs, ...walletAddress }: NewWalletAddress
): Promise<boolean> {
  const createdAt = new Date(createdAtMs)
  const data = { ...walletAddress, publicName: publicName ?? null, createdAt, updatedAt: createdAt }
  return (await on.walletAddress.createMany({ data, skipDuplicates: true })).count === 1
}

/** Finds the id (UUID) of the wallet address with a path. */
export async function findWalletAddressId(on: Queries, path: string): Promise<string | undefined> {
  return (await on.walletAddress.findUnique({ where: { path }, select: { id: true } }))?.id
}

/** Finds a wallet address by its path, as a list has it. */
export async function findListedWalletAddress(
  on: Queries,
  path: string
): Promise<StoredWalletAddress | undefined> {
  return (await readWalletAddresses(on, { path }, 1))[0]
}

/**
 * Lists wallet addresses by path.
 *
 * @param page.accountId id (UUID) of the account whose are listed; undefined for those of all
 * @param page.after only those with paths after this one; all paths come after the empty one
 */
export function listWalletAddresses(
  on: Queries,
  {
    accountId,
    after,
    limit
  }: { readonly accountId: string | undefined; readonly after: string; readonly limit: number }
): Promise<readonly StoredWalletAddress[]> {
  const ofAccount = accountId === undefined ? {} : { accountId }
  return readWalletAddresses(on, { path: { gt: after }, ...ofAccount }, limit)
}

async function readWalletAddresses(
  on: Queries,
  where: { readonly path: string | { readonly gt: string }; readonly accountId?: string },
  limit: number
): Promise<readonly StoredWalletAddress[]> {
  const walletAddresses = await on.walletAddress.findMany({
    where,
    include: {
      keys: { where: { revokedAt: null }, orderBy: { kid: 'asc' }, select: { kid: true } }
    },
    orderBy: { path: 'asc' },
    take: limit
  })
  const accounts = await findAccountsById(
    on,
    walletAddresses.map(({ accountId }) => accountId)
  )
  const accountOf = new Map(accounts.map((account) => [account.id, account]))
  return walletAddresses.flatMap(({ path, publicName, accountId, keys, ...columns }) => {
    const account = accountOf.get(accountId)
    if (account === undefined) return [] // a foreign key keeps it
    const { name: accountName, asset } = account
    return {
      path,
      publicName: publicName ?? undefined,
      accountName,
      asset,
      keyIds: keys.map(({ kid }) => kid),
      freeze: readFreeze(columns)
    }
  })
}
