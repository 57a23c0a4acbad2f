import { newId } from '@open-payments-server/value-types/identifiers'
import { type Asset, AmountError, parseAmount } from '@open-payments-server/value-types/amounts'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import * as ledger from '../../modules/ledger/index.js'
import type { OperatorDependencies } from './dependencies.js'

/**
 * Creates an asset, whose code is in capitals, and the provider's accounts in it, in one transaction.
 *
 * @throws CallRefused `invalid`, or `already-exists` for this code and scale
 */
export async function createAsset(
  asset: Asset,
  { database, clock, random }: OperatorDependencies
): Promise<Asset> {
  assertAsset(asset)
  // Codes are compared exactly wherever money moves. In capitals, as in ISO 4217, no two differ only by case.
  if (asset.code !== asset.code.toUpperCase()) {
    throw invalidCallField('asset.code', `must be in capitals: ${asset.code.toUpperCase()}`)
  }
  if (!(await ledger.createAsset(database, asset, () => newId(clock, random)))) {
    throw new CallRefused('already-exists', `there is an asset ${describe(asset)} already`, {
      field: 'asset'
    })
  }
  return asset
}

/** All assets, by code and scale. */
export function listAssets({ database }: OperatorDependencies): Promise<readonly Asset[]> {
  return ledger.listAssets(database)
}

/**
 * The id of an asset.
 *
 * @throws CallRefused `invalid`, or `not-found`
 */
export async function findAssetId(asset: Asset, { database }: OperatorDependencies): Promise<number> {
  assertAsset(asset)
  const id = await ledger.findAssetId(database, asset)
  if (id === undefined) {
    throw new CallRefused('not-found', `there is no asset ${describe(asset)}`, { field: 'asset' })
  }
  return id
}

function describe(asset: Asset): string {
  return `${asset.code} with scale ${asset.scale}`
}

/** An asset is whatever an amount may name. */
function assertAsset(asset: Asset): void {
  try {
    parseAmount({ value: '0', assetCode: asset.code, assetScale: asset.scale })
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    const field = error.field === 'assetScale' ? 'asset.scale' : 'asset.code'
    throw invalidCallField(field, error.problem)
  }
}
