import { newId } from '@open-payments-server/runtime'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { OperationRefused } from '../../domain/operation-refused.js'
import * as ledger from '../../modules/ledger/index.js'
import { findAssetId } from './assets.js'
import type { OperatorDeps } from './deps.js'
import {
  cutPage,
  type OperatorPage,
  type OperatorPageResult,
  readPageSize,
  readTextToken,
  writeTextToken
} from '../../domain/operator-pages.js'

/** What operators may name an account. */
const ACCOUNT_NAME = /^[a-z0-9._-]{1,64}$/

/** An account that holds money, as operators see it. Values are in units of its asset. */
export interface OperatedAccount {
  readonly name: string
  readonly asset: Asset
  /** What it holds, payments in flight included. */
  readonly balance: bigint
  /** Of that, held by payments in flight. */
  readonly held: bigint
  /** What can be spent now. */
  readonly available: bigint
  readonly createdAt: Date
}

/**
 * Creates an account that holds money in one asset.
 *
 * @throws OperationRefused `invalid`, `not-found` for the asset, or `already-exists` for the name
 */
export async function createAccount(
  request: { name: string; asset: Asset },
  deps: OperatorDeps
): Promise<OperatedAccount> {
  const { name, asset } = request
  assertAccountName(name, 'name')
  const assetId = await findAssetId(asset, deps)
  const createdAt = new Date(deps.clock.now())
  const id = newId(deps.clock, deps.random)
  if (!(await ledger.createAccount(deps.database, { id, name, assetId, asset, createdAt }))) {
    throw new OperationRefused('already-exists', 'name', `there is an account ${name} already`)
  }
  return { name, asset, balance: 0n, held: 0n, available: 0n, createdAt }
}

/**
 * Accounts by name; with a name, only that one.
 *
 * @throws OperationRefused `invalid`
 */
export async function listAccounts(
  request: OperatorPage & { name: string },
  deps: OperatorDeps
): Promise<OperatorPageResult<OperatedAccount>> {
  const size = readPageSize(request)
  const after = readTextToken(request)
  if (request.name !== '') {
    const possible = ACCOUNT_NAME.test(request.name)
    const account = possible ? await ledger.findAccount(deps.database, request.name) : undefined
    return { items: account === undefined ? [] : [toOperatedAccount(account)], nextPageToken: '' }
  }
  const accounts = await ledger.listAccounts(deps.database, { after, limit: size + 1 })
  return cutPage(accounts, size, ({ name }) => writeTextToken(name), toOperatedAccount)
}

/**
 * The account of a name.
 *
 * @throws OperationRefused `invalid`, or `not-found`
 */
export async function getAccount(
  name: string,
  deps: OperatorDeps
): Promise<OperatedAccount & { id: string }> {
  assertAccountName(name, 'account_name')
  const account = await ledger.findAccount(deps.database, name)
  if (account === undefined)
    throw new OperationRefused('not-found', 'account_name', `there is no account ${name}`)
  return { id: account.id, ...toOperatedAccount(account) }
}

function assertAccountName(name: string, field: string): void {
  if (ACCOUNT_NAME.test(name)) return
  throw new OperationRefused('invalid', field, `${field} must be 1 to 64 of a-z, 0-9, "-", "_" and "."`)
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
    createdAt: account.createdAt
  }
}
