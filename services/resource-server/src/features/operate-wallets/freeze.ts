import type { Logger } from '@open-payments-server/runtime'
import { invalidCallField } from '../../domain/call-refused.js'
import { freezeAccount } from '../../modules/ledger/index.js'
import { freezeWalletAddress } from '../../modules/wallet-addresses/index.js'
import { getAccount, type OperatedAccount } from './accounts.js'
import { namesText, type OperatorDependencies } from './dependencies.js'
import { findWalletAddress, getWalletAddress, type OperatedWalletAddress } from './wallet-addresses.js'

/** Maximum length of the reason for a freeze, in characters. */
const REASON_LENGTH_MAX = 256

/** What freezing needs. */
export interface FreezeDependencies extends OperatorDependencies {
  readonly logger: Pick<Logger, 'info'>
  /** Signals that there are payments to process, and events to publish. */
  readonly onPaymentCreated: () => void
}

/** An operator's order. */
export interface FreezeRequest {
  /** Whether it freezes, or ends a freeze. */
  readonly freezes: boolean
  /** Name of the account, or URL of the wallet address. */
  readonly name: string
  readonly reason: string
  /** Who orders it: a person, or the names in a machine's certificate; none for a machine in plain text. */
  readonly clientNames: readonly string[]
}

/**
 * Freezes an account, or ends its freeze. Repeating it has no further effect: the first freeze stays as it was ordered.
 *
 * @returns the account after it
 * @throws CallRefused `invalid`, or `not-found` for the account
 */
export async function freezeAccountByName(
  request: FreezeRequest,
  dependencies: FreezeDependencies
): Promise<OperatedAccount> {
  const order = readOrder(request, dependencies)
  const { name } = await getAccount(request.name, dependencies)
  const changed = await freezeAccount(dependencies.database, name, order)
  if (changed) tell({ account: name }, request, dependencies)
  return getAccount(name, dependencies)
}

/**
 * Freezes a wallet address, or ends its freeze. Repeating it has no further effect: the first freeze stays as it was ordered.
 *
 * @returns the wallet address after it
 * @throws CallRefused `invalid`, or `not-found` for the wallet address
 */
export async function freezeWalletAddressByUrl(
  request: FreezeRequest,
  dependencies: FreezeDependencies
): Promise<OperatedWalletAddress> {
  const order = readOrder(request, dependencies)
  const { id } = await findWalletAddress(request.name, dependencies)
  const changed = await freezeWalletAddress(dependencies.database, id, order)
  if (changed) tell({ walletAddress: request.name }, request, dependencies)
  return getWalletAddress(request.name, dependencies)
}

function readOrder({ freezes, reason, clientNames }: FreezeRequest, { clock }: FreezeDependencies) {
  // eslint-disable-next-line no-control-regex -- because control characters are what must not be in a reason
  if (reason.length > REASON_LENGTH_MAX || /[\u0000-\u001f\u007f]/.test(reason)) {
    throw invalidCallField(
      'reason',
      `must be at most ${REASON_LENGTH_MAX} characters, none of them control characters`
    )
  }
  return { freezes, reason, by: namesText(clientNames), nowMs: clock.now() }
}

/** Payments that waited for the end of a freeze go on at once. */
function tell(
  what: { readonly account: string } | { readonly walletAddress: string },
  { freezes, reason, clientNames }: FreezeRequest,
  { logger, onPaymentCreated }: FreezeDependencies
): void {
  logger.info({ ...what, reason, by: clientNames }, freezes ? 'frozen' : 'no longer frozen')
  onPaymentCreated()
}
