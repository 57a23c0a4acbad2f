import type { Logger } from '@open-payments-server/runtime'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { Freeze, FreezeOrder } from '../../domain/freeze.js'
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
  /** Ends only the freeze since then; undefined for whichever there is. */
  readonly sinceMs: number | undefined
  /** Who orders it: a person, or the names in a machine's certificate; none for a machine in plain text. */
  readonly clientNames: readonly string[]
}

/**
 * Freezes an account, or ends its freeze. Repeating it has no further effect: the first freeze stays as it was ordered.
 *
 * @returns the account after it
 * @throws CallRefused `invalid`, `not-found` for the account, or `not-possible` for another freeze than the one to end
 */
export async function freezeAccountByName(
  request: FreezeRequest,
  dependencies: FreezeDependencies & Acting
): Promise<OperatedAccount> {
  const order = readOrder(request, dependencies)
  const { name } = await getAccount(request.name, dependencies)
  const changed = await freezeAccount(dependencies.database, name, order)
  if (changed) tell({ account: name }, request, dependencies)
  else dependencies.onUnchanged()
  const account = await getAccount(name, dependencies)
  assertNoOther(account.freeze, order)
  return account
}

/**
 * Freezes a wallet address, or ends its freeze. Repeating it has no further effect: the first freeze stays as it was ordered.
 *
 * @returns the wallet address after it
 * @throws CallRefused `invalid`, `not-found` for the wallet address, or `not-possible` for another freeze than the one to end
 */
export async function freezeWalletAddressByUrl(
  request: FreezeRequest,
  dependencies: FreezeDependencies & Acting
): Promise<OperatedWalletAddress> {
  const order = readOrder(request, dependencies)
  const { id } = await findWalletAddress(request.name, dependencies)
  const changed = await freezeWalletAddress(dependencies.database, id, order)
  if (changed) tell({ walletAddress: request.name }, request, dependencies)
  else dependencies.onUnchanged()
  const walletAddress = await getWalletAddress(request.name, dependencies)
  assertNoOther(walletAddress.freeze, order)
  return walletAddress
}

/** @throws CallRefused `not-possible` where another freeze stands than the one that was to end */
function assertNoOther(standing: Freeze | undefined, { sinceMs }: FreezeOrder): void {
  if (sinceMs === undefined || standing === undefined) return
  throw new CallRefused('not-possible', 'it was frozen anew: that is another freeze', {
    field: 'freeze_time'
  })
}

function readOrder(
  { freezes, reason, sinceMs, clientNames }: FreezeRequest,
  { clock }: FreezeDependencies
): FreezeOrder {
  // eslint-disable-next-line no-control-regex -- because control characters are what must not be in a reason
  if (reason.length > REASON_LENGTH_MAX || /[\u0000-\u001f\u007f]/.test(reason)) {
    throw invalidCallField(
      'reason',
      `must be at most ${REASON_LENGTH_MAX} characters, none of them control characters`
    )
  }
  return { freezes, reason, by: namesText(clientNames), sinceMs, nowMs: clock.now() }
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
