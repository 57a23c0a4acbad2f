import { type Asset, AmountError, parseAmount } from '@open-payments-server/amounts'
import { isUniqueViolation } from '@open-payments-server/database'
import { newId } from '@open-payments-server/runtime'
import { OperationRefused } from '../../domain/operation-refused.js'
import type { OperatorDeps } from './deps.js'

/** The provider's own accounts: every asset has one of each. */
const PROVIDER_ACCOUNTS = ['outside', 'clearing', 'exchange', 'fees'] as const

/**
 * Creates an asset, and the provider's accounts in it, in one transaction.
 *
 * @throws OperationRefused `invalid`, or `already-exists` for this code and scale
 */
export async function createAsset(asset: Asset, { prisma, clock, random }: OperatorDeps): Promise<Asset> {
  assertAsset(asset)
  const accounts = PROVIDER_ACCOUNTS.map((kind) => ({ id: newId(clock, random), kind }))
  try {
    await prisma.asset.create({
      data: { code: asset.code, scale: asset.scale, accounts: { create: accounts } }
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    const described = `${asset.code} with scale ${asset.scale}`
    throw new OperationRefused('already-exists', 'asset', `there is an asset ${described} already`)
  }
  return asset
}

/** All assets, by code and scale. */
export async function listAssets({ prisma }: OperatorDeps): Promise<readonly Asset[]> {
  return prisma.asset.findMany({
    select: { code: true, scale: true },
    orderBy: [{ code: 'asc' }, { scale: 'asc' }]
  })
}

/**
 * The id of an asset.
 *
 * @throws OperationRefused `invalid`, or `not-found`
 */
export async function findAssetId(asset: Asset, { prisma }: OperatorDeps): Promise<number> {
  assertAsset(asset)
  const found = await prisma.asset.findUnique({
    where: { code_scale: { code: asset.code, scale: asset.scale } },
    select: { id: true }
  })
  if (found === null) {
    const described = `${asset.code} with scale ${asset.scale}`
    throw new OperationRefused('not-found', 'asset', `there is no asset ${described}`)
  }
  return found.id
}

/** An asset is what an amount of it may name. */
function assertAsset(asset: Asset): void {
  try {
    parseAmount({ value: '0', assetCode: asset.code, assetScale: asset.scale })
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    const field = error.field === 'assetScale' ? 'asset.scale' : 'asset.code'
    throw new OperationRefused('invalid', field, error.message)
  }
}
