import { newId } from '@open-payments-server/value-types/identifiers'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { Freeze } from '../../domain/freeze.js'
import { findPathProblem, PATHLESS_WALLET_ADDRESS } from '../../domain/wallet-address.js'
import * as walletAddresses from '../../modules/wallet-addresses/index.js'
import type { StoredWalletAddress } from '../../modules/wallet-addresses/index.js'
import { getAccount } from './accounts.js'
import type { OperatorDependencies } from './dependencies.js'

/**
 * Allowed paths: of everything that a URL could contain, what people can tell apart and type. Wallet addresses that differ
 * only by case would invite paying the wrong one.
 */
const PATH = /^(?:\/[a-z0-9._-]+)+$/

/** Maximum length of a public name, in characters. */
const PUBLIC_NAME_LENGTH_MAX = 128

/** A wallet address as operators see it. */
export interface OperatedWalletAddress {
  readonly url: string
  /** Path of the URL, by which lists are ordered. */
  readonly path: string
  /** Empty when none is shown. */
  readonly publicName: string
  readonly accountName: string
  readonly asset: Asset
  /** Ids of its keys that are not revoked. */
  readonly keyIds: readonly string[]
  /** undefined unless it is frozen itself; its account may be. */
  readonly freeze: Freeze | undefined
}

/**
 * Creates a wallet address on an account.
 *
 * @param request.path such as `/alice`; `/` for the wallet address without a path
 * @throws CallRefused `invalid` for a path that is malformed or reserved, `not-found` for the account, or
 *   `already-exists` for the path
 */
export async function createWalletAddress(
  request: { path: string; publicName: string; accountName: string },
  dependencies: OperatorDependencies
): Promise<OperatedWalletAddress> {
  const path = readPath(request.path)
  assertPublicName(request.publicName)
  const account = await getAccount(request.accountName, dependencies)
  const created = await walletAddresses.createWalletAddress(dependencies.database, {
    id: newId(dependencies.clock, dependencies.random),
    path,
    publicName: request.publicName === '' ? undefined : request.publicName,
    accountId: account.id,
    createdAtMs: dependencies.clock.now()
  })
  if (!created) {
    throw new CallRefused('already-exists', `there is a wallet address ${request.path} already`, {
      field: 'path'
    })
  }
  return {
    url: dependencies.urls.ofWalletAddress(path),
    path,
    publicName: request.publicName,
    accountName: account.name,
    asset: account.asset,
    keyIds: [],
    freeze: undefined
  }
}

/**
 * Lists wallet addresses by path: all, those of an account, or the one with a URL.
 *
 * @param range.accountName empty for those of all accounts
 * @param range.walletAddress URL; empty for all
 * @param range.after path after which the list begins
 * @throws CallRefused `invalid` or `not-found` for the account
 */
export async function listWalletAddresses(
  range: {
    readonly accountName: string
    readonly walletAddress: string
    readonly after: string
    readonly limit: number
  },
  dependencies: OperatorDependencies
): Promise<readonly OperatedWalletAddress[]> {
  const { accountName, walletAddress, after, limit } = range
  const { database, urls } = dependencies
  const accountId = accountName === '' ? undefined : (await getAccount(accountName, dependencies)).id
  if (walletAddress !== '') {
    const path = urls.walletAddressPathOf(walletAddress)
    const found =
      path === undefined ? undefined : await walletAddresses.findListedWalletAddress(database, path)
    const isAsked = found !== undefined && (accountName === '' || found.accountName === accountName)
    return isAsked && found.path > after ? [toOperatedWalletAddress(found, dependencies)] : []
  }
  const found = await walletAddresses.listWalletAddresses(database, { accountId, after, limit })
  return found.map((each) => toOperatedWalletAddress(each, dependencies))
}

/**
 * The wallet address with a URL.
 *
 * @throws CallRefused `not-found`
 */
export async function getWalletAddress(
  url: string,
  dependencies: OperatorDependencies
): Promise<OperatedWalletAddress> {
  const { path } = await findWalletAddress(url, dependencies)
  const found = await walletAddresses.findListedWalletAddress(dependencies.database, path)
  if (found === undefined)
    throw new CallRefused('not-found', 'there is no such wallet address here', { field: 'wallet_address' })
  return toOperatedWalletAddress(found, dependencies)
}

/** A stored wallet address as operators see it. */
function toOperatedWalletAddress(
  { publicName, ...walletAddress }: StoredWalletAddress,
  { urls }: Pick<OperatorDependencies, 'urls'>
): OperatedWalletAddress {
  return {
    ...walletAddress,
    url: urls.ofWalletAddress(walletAddress.path),
    publicName: publicName ?? ''
  }
}

/**
 * Finds the id (UUID) and path of the wallet address with a URL.
 *
 * @throws CallRefused `not-found`
 */
export async function findWalletAddress(
  url: string,
  { database, urls }: OperatorDependencies
): Promise<{ readonly id: string; readonly path: string }> {
  const path = urls.walletAddressPathOf(url)
  if (path !== undefined && findPathProblem(path) === undefined) {
    const id = await walletAddresses.findWalletAddressId(database, path)
    if (id !== undefined) return { id, path }
  }
  throw new CallRefused('not-found', 'there is no such wallet address here', { field: 'wallet_address' })
}

function readPath(path: string): string {
  if (path === '/') return PATHLESS_WALLET_ADDRESS
  const problem =
    path === PATHLESS_WALLET_ADDRESS
      ? 'is written "/" for the wallet address without a path'
      : PATH.test(path)
        ? findPathProblem(path)
        : 'must begin with "/" and consist of segments of a-z, 0-9, ".", "_" and "-"'
  if (problem !== undefined) throw invalidCallField('path', problem)
  return path
}

function assertPublicName(publicName: string): void {
  // eslint-disable-next-line no-control-regex -- because control characters are what must not be in a name
  if (publicName.length <= PUBLIC_NAME_LENGTH_MAX && !/[\u0000-\u001f\u007f]/.test(publicName)) return
  throw invalidCallField(
    'public_name',
    `must be at most ${PUBLIC_NAME_LENGTH_MAX} characters, none of them control characters`
  )
}
