import type { Asset } from '@open-payments-server/amounts'
import { isUniqueViolation } from '@open-payments-server/database'
import { newId } from '@open-payments-server/runtime'
import { OperationRefused } from '../../domain/operation-refused.js'
import { findAssetId } from './assets.js'
import type { OperatorDeps } from './deps.js'
import {
  cutPage,
  type OperatorPage,
  type OperatorPageResult,
  readPageSize,
  readTextToken,
  writeTextToken
} from './paging.js'

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
  assertAccountName(request.name, 'name')
  const assetId = await findAssetId(request.asset, deps)
  try {
    const account = await deps.prisma.account.create({
      data: {
        id: newId(deps.clock, deps.random),
        kind: 'wallet',
        name: request.name,
        assetId,
        createdAt: new Date(deps.clock.now())
      },
      include: { asset: true }
    })
    return toOperatedAccount(account)
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new OperationRefused('already-exists', 'name', `there is an account ${request.name} already`)
  }
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
  const accounts = await deps.prisma.account.findMany({
    where: { kind: 'wallet', name: { gt: after, ...(request.name === '' ? {} : { equals: request.name }) } },
    include: { asset: true },
    orderBy: { name: 'asc' },
    take: size + 1
  })
  return cutPage(accounts, size, ({ name }) => writeTextToken(name ?? ''), toOperatedAccount)
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
  const account = await deps.prisma.account.findUnique({ where: { name }, include: { asset: true } })
  if (account === null) throw new OperationRefused('not-found', 'account_name', `there is no account ${name}`)
  return { id: account.id, ...toOperatedAccount(account) }
}

function assertAccountName(name: string, field: string): void {
  if (ACCOUNT_NAME.test(name)) return
  throw new OperationRefused('invalid', field, `${field} must be 1 to 64 of a-z, 0-9, "-", "_" and "."`)
}

/** A decimal of the database: whole, whatever its type says. */
interface WholeDecimal {
  toFixed(decimals: 0): string
}

function toOperatedAccount(account: {
  name: string | null
  asset: Asset
  creditsPosted: WholeDecimal
  debitsPosted: WholeDecimal
  debitsPending: WholeDecimal
  createdAt: Date
}): OperatedAccount {
  const balance = BigInt(account.creditsPosted.toFixed(0)) - BigInt(account.debitsPosted.toFixed(0))
  const held = BigInt(account.debitsPending.toFixed(0))
  return {
    name: account.name ?? '',
    asset: { code: account.asset.code, scale: account.asset.scale },
    balance,
    held,
    available: balance - held,
    createdAt: account.createdAt
  }
}
