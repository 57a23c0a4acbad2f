import { newId } from '@open-payments-server/value-types/identifiers'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { invalidField, OperationRefused } from '../operation-refused.js'
import * as ledger from '../../modules/ledger/index.js'
import { findAssetId } from './assets.js'
import type { OperatorDependencies } from './dependencies.js'
import {
  cutPage,
  type OperatorPage,
  type OperatorPageResult,
  readPageSize,
  readTextToken,
  writeTextToken
} from '../operator-pages.js'

/** Allowed names of an account. */
const ACCOUNT_NAME = /^[a-z0-9._-]{1,64}$/

/** An account that holds money, as operators see it. Values are in units of its asset. */
export interface OperatedAccount {
  readonly name: string
  readonly asset: Asset
  /** Balance, including money on hold for pending payments. */
  readonly balance: bigint
  /** The part of it on hold for pending payments. */
  readonly held: bigint
  /** The part that can be spent now. */
  readonly available: bigint
  readonly createdAtMs: number
}

/**
 * Creates an account that holds money in one asset.
 *
 * @throws OperationRefused `invalid`, `not-found` for the asset, or `already-exists` for the name
 */
export async function createAccount(
  request: { name: string; asset: Asset },
  dependencies: OperatorDependencies
): Promise<OperatedAccount> {
  const { name, asset } = request
  assertAccountName(name, 'name')
  const assetId = await findAssetId(asset, dependencies)
  const createdAtMs = dependencies.clock.now()
  const id = newId(dependencies.clock, dependencies.random)
  if (!(await ledger.createAccount(dependencies.database, { id, name, assetId, asset, createdAtMs }))) {
    throw new OperationRefused('already-exists', 'name', `there is an account ${name} already`)
  }
  return { name, asset, balance: 0n, held: 0n, available: 0n, createdAtMs }
}

/**
 * Lists accounts by name; if a name is given, only that one.
 *
 * @throws OperationRefused `invalid`
 */
export async function listAccounts(
  request: OperatorPage & { name: string },
  dependencies: OperatorDependencies
): Promise<OperatorPageResult<OperatedAccount>> {
  const size = readPageSize(request)
  const after = readTextToken(request)
  if (request.name !== '') {
    const possible = ACCOUNT_NAME.test(request.name)
    const account = possible ? await ledger.findAccount(dependencies.database, request.name) : undefined
    return { items: account === undefined ? [] : [toOperatedAccount(account)], nextPageToken: '' }
  }
  const accounts = await ledger.listAccounts(dependencies.database, { after, limit: size + 1 })
  return cutPage(accounts, size, ({ name }) => writeTextToken(name), toOperatedAccount)
}

/**
 * Finds an account by its name.
 *
 * @throws OperationRefused `invalid`, or `not-found`
 */
export async function getAccount(
  name: string,
  dependencies: OperatorDependencies
): Promise<OperatedAccount & { id: string }> {
  assertAccountName(name, 'account_name')
  const account = await ledger.findAccount(dependencies.database, name)
  if (account === undefined)
    throw new OperationRefused('not-found', 'account_name', `there is no account ${name}`)
  return { id: account.id, ...toOperatedAccount(account) }
}

function assertAccountName(name: string, field: string): void {
  if (ACCOUNT_NAME.test(name)) return
  throw invalidField(field, 'must be 1 to 64 of a-z, 0-9, "-", "_" and "."')
}

function toOperatedAccount(account: ledger.Account): OperatedAccount {
  const balance = account.creditsPosted - account.debitsPosted
  const held = account.debitsPending
  return {
    name: account.name,
    asset: account.asset,
    balance,
    held,
    available: balance - held,
    createdAtMs: account.createdAtMs
  }
}
