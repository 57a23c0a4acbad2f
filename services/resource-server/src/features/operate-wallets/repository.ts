import type { Asset } from '@open-payments-server/amounts'
import { isUniqueViolation } from '@open-payments-server/database'
import type { PrismaClient } from '../../generated/prisma/client.js'

/** The provider's own accounts: every asset has one of each. */
export const PROVIDER_ACCOUNT_KINDS = ['outside', 'clearing', 'exchange', 'fees'] as const

/** An account that holds money, as it is kept. Values are in units of its asset. */
export interface StoredAccount {
  /** Id (UUID). */
  readonly id: string
  readonly name: string
  readonly asset: Asset
  readonly creditsPosted: bigint
  readonly debitsPosted: bigint
  readonly debitsPending: bigint
  readonly createdAt: Date
}

/** A wallet address as it is kept. */
export interface StoredWalletAddress {
  readonly path: string
  readonly publicName: string | undefined
  readonly accountName: string
  readonly asset: Asset
  /** Ids of its keys that are not revoked. */
  readonly keyIds: readonly string[]
}

/** A page of a list in the order of one text. */
export interface TextPage {
  /** Only what comes after this text; everything comes after the empty one. */
  readonly after: string
  readonly limit: number
}

/** What identifies a client key. */
export interface StoredKeyId {
  /** Id (UUID) of the wallet address. */
  readonly walletAddressId: string
  readonly kid: string
}

/** Keeps what operators administer. Each creation answers false when what it would create is there already. */
export interface WalletRepository {
  /** Creates an asset and the provider's accounts in it, in one transaction. */
  createAsset(asset: Asset, accountIds: readonly string[]): Promise<boolean>
  /** By code and scale. */
  listAssets(): Promise<readonly Asset[]>
  findAssetId(asset: Asset): Promise<number | undefined>
  createAccount(account: { id: string; name: string; assetId: number; createdAt: Date }): Promise<boolean>
  findAccount(name: string): Promise<StoredAccount | undefined>
  /** By name. */
  listAccounts(page: TextPage): Promise<readonly StoredAccount[]>
  createWalletAddress(walletAddress: {
    id: string
    path: string
    publicName: string | undefined
    accountId: string
    createdAt: Date
  }): Promise<boolean>
  findWalletAddressId(path: string): Promise<string | undefined>
  /** By path. */
  listWalletAddresses(page: TextPage): Promise<readonly StoredWalletAddress[]>
  /** How many keys of a wallet address are not revoked. */
  countKeys(walletAddressId: string): Promise<number>
  createKey(key: StoredKeyId & { x: string; createdAt: Date }): Promise<boolean>
  hasKey(key: StoredKeyId): Promise<boolean>
  /** Revokes a key, unless it is revoked. */
  revokeKey(key: StoredKeyId, revokedAt: Date): Promise<void>
}

/** Keeps what operators administer in the database: these calls are rare, and go through Prisma's models. */
export function createWalletRepository(prisma: PrismaClient): WalletRepository {
  return { ...assetsAndAccounts(prisma), ...walletAddressesAndKeys(prisma) }
}

type AssetsAndAccounts = Pick<
  WalletRepository,
  'createAsset' | 'listAssets' | 'findAssetId' | 'createAccount' | 'findAccount' | 'listAccounts'
>

function assetsAndAccounts(prisma: PrismaClient): AssetsAndAccounts {
  return {
    createAsset({ code, scale }, accountIds) {
      const accounts = PROVIDER_ACCOUNT_KINDS.map((kind, index) => ({ id: accountIds[index] ?? '', kind }))
      return unlessTaken(prisma.asset.create({ data: { code, scale, accounts: { create: accounts } } }))
    },
    listAssets: () =>
      prisma.asset.findMany({
        select: { code: true, scale: true },
        orderBy: [{ code: 'asc' }, { scale: 'asc' }]
      }),
    async findAssetId({ code, scale }) {
      const where = { code_scale: { code, scale } }
      return (await prisma.asset.findUnique({ where, select: { id: true } }))?.id
    },
    createAccount: (account) => unlessTaken(prisma.account.create({ data: { ...account, kind: 'wallet' } })),
    async findAccount(name) {
      const account = await prisma.account.findUnique({ where: { name }, include: { asset: true } })
      return account === null ? undefined : toStoredAccount(account)
    },
    async listAccounts({ after, limit }) {
      const accounts = await prisma.account.findMany({
        where: { kind: 'wallet', name: { gt: after } },
        include: { asset: true },
        orderBy: { name: 'asc' },
        take: limit
      })
      return accounts.map(toStoredAccount)
    }
  }
}

function walletAddressesAndKeys(prisma: PrismaClient): Omit<WalletRepository, keyof AssetsAndAccounts> {
  return {
    createWalletAddress: ({ publicName = null, createdAt, ...walletAddress }) =>
      unlessTaken(
        prisma.walletAddress.create({
          data: { ...walletAddress, publicName, createdAt, updatedAt: createdAt }
        })
      ),
    async findWalletAddressId(path) {
      return (await prisma.walletAddress.findUnique({ where: { path }, select: { id: true } }))?.id
    },
    async listWalletAddresses({ after, limit }) {
      const walletAddresses = await prisma.walletAddress.findMany({
        where: { path: { gt: after } },
        include: {
          account: { include: { asset: true } },
          keys: { where: { revokedAt: null }, orderBy: { kid: 'asc' }, select: { kid: true } }
        },
        orderBy: { path: 'asc' },
        take: limit
      })
      return walletAddresses.map(({ path, publicName, account, keys }) => ({
        path,
        publicName: publicName ?? undefined,
        accountName: account.name ?? '',
        asset: toAsset(account.asset),
        keyIds: keys.map(({ kid }) => kid)
      }))
    },
    countKeys: (walletAddressId) => prisma.clientKey.count({ where: { walletAddressId, revokedAt: null } }),
    createKey: (key) => unlessTaken(prisma.clientKey.create({ data: key })),
    async hasKey({ walletAddressId, kid }) {
      const where = { walletAddressId_kid: { walletAddressId, kid } }
      return (await prisma.clientKey.findUnique({ where })) !== null
    },
    async revokeKey({ walletAddressId, kid }, revokedAt) {
      await prisma.clientKey.updateMany({
        where: { walletAddressId, kid, revokedAt: null },
        data: { revokedAt }
      })
    }
  }
}

async function unlessTaken(creating: Promise<unknown>): Promise<boolean> {
  try {
    await creating
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

/** A decimal of the database: whole, whatever its type says. */
interface WholeDecimal {
  toFixed(decimals: 0): string
}

function toStoredAccount(account: {
  id: string
  name: string | null
  asset: Asset
  creditsPosted: WholeDecimal
  debitsPosted: WholeDecimal
  debitsPending: WholeDecimal
  createdAt: Date
}): StoredAccount {
  return {
    id: account.id,
    name: account.name ?? '',
    asset: toAsset(account.asset),
    creditsPosted: BigInt(account.creditsPosted.toFixed(0)),
    debitsPosted: BigInt(account.debitsPosted.toFixed(0)),
    debitsPending: BigInt(account.debitsPending.toFixed(0)),
    createdAt: account.createdAt
  }
}

function toAsset({ code, scale }: Asset): Asset {
  return { code, scale }
}
