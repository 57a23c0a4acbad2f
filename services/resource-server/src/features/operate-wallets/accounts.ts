import { newId } from '@open-payments-server/value-types/identifiers'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { isAccountName } from '../../domain/account-name.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { Freeze } from '../../domain/freeze.js'
import type { Holder } from '../../domain/holder.js'
import * as ledger from '../../modules/ledger/index.js'
import { findAssetId } from './assets.js'
import type { OperatorDependencies } from './dependencies.js'

/** A wallet account, as operators see it. Values are in units of its asset. */
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
  /** undefined unless it is frozen. */
  readonly freeze: Freeze | undefined
  /** undefined unless an operator said who holds it. */
  readonly holder: Holder | undefined
}

/**
 * Creates a wallet account, with money in one asset.
 *
 * @throws CallRefused `invalid`, `not-found` for the asset, or `already-exists` for the name
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
    throw new CallRefused('already-exists', `there is an account ${name} already`, { field: 'name' })
  }
  return {
    name,
    asset,
    balance: 0n,
    held: 0n,
    available: 0n,
    createdAtMs,
    freeze: undefined,
    holder: undefined
  }
}

/**
 * Lists accounts by name; if a name is given, only that one.
 *
 * @param range.after name after which the list begins
 */
export async function listAccounts(
  { name, ...range }: { readonly name: string; readonly after: string; readonly limit: number },
  { database }: OperatorDependencies
): Promise<readonly OperatedAccount[]> {
  if (name === '') return (await ledger.listAccounts(database, range)).map(toOperatedAccount)
  const account = isAccountName(name) ? await ledger.findAccount(database, name) : undefined
  return account === undefined ? [] : [toOperatedAccount(account)]
}

/**
 * Finds an account by its name.
 *
 * @throws CallRefused `invalid`, or `not-found`
 */
export async function getAccount(
  name: string,
  dependencies: OperatorDependencies
): Promise<OperatedAccount & { id: string }> {
  assertAccountName(name, 'account_name')
  const account = await ledger.findAccount(dependencies.database, name)
  if (account === undefined)
    throw new CallRefused('not-found', `there is no account ${name}`, { field: 'account_name' })
  return { id: account.id, ...toOperatedAccount(account) }
}

/**
 * Finds an account by its name, and lets nothing else change its totals before the end of the transaction.
 *
 * @throws CallRefused `invalid`, or `not-found`
 */
export async function getLockedAccount(
  name: string,
  dependencies: OperatorDependencies
): Promise<OperatedAccount> {
  assertAccountName(name, 'account_name')
  await ledger.lockAccount(dependencies.database, name)
  return getAccount(name, dependencies)
}

function assertAccountName(name: string, field: string): void {
  if (isAccountName(name)) return
  throw invalidCallField(field, 'must be 1 to 64 of a-z, 0-9, "-", "_" and "."')
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
    createdAtMs: account.createdAtMs,
    freeze: account.freeze,
    holder: account.holder
  }
}
