import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { oneAtATime } from '@open-payments-server/runtime'
import {
  cutPage,
  readInstant,
  readPageSize,
  readPageToken,
  readTextToken,
  unknownPageToken,
  writePageToken,
  writeTextToken
} from '@open-payments-server/service-kit/grpc'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { invalidCallField } from '../../domain/call-refused.js'
import {
  type AcceptPaymentsDependencies,
  acceptUncounted
} from '../../features/audit-money/accept-payments.js'
import { auditMoney, type AuditMoneyDependencies } from '../../features/audit-money/audit-money.js'
import {
  type GiveUpLostDependencies,
  giveUpLostPayments,
  listLostPayments,
  type LossDependencies
} from '../../features/audit-money/lost-payments.js'
import {
  restoreReservations,
  type RestoreReservationsDependencies
} from '../../features/audit-money/restore-reservations.js'
import { createAccount, listAccounts } from '../../features/operate-wallets/accounts.js'
import { createAsset, listAssets } from '../../features/operate-wallets/assets.js'
import { addClientKey, revokeClientKey } from '../../features/operate-wallets/client-keys.js'
import type { OperatorDependencies } from '../../features/operate-wallets/dependencies.js'
import {
  type FreezeDependencies,
  freezeAccountByName,
  freezeWalletAddressByUrl
} from '../../features/operate-wallets/freeze.js'
import { type HolderDependencies, setAccountHolder } from '../../features/operate-wallets/holder.js'
import { deposit, withdraw } from '../../features/operate-wallets/money.js'
import { listPayments, type OperatedPayment } from '../../features/operate-wallets/payments.js'
import { createWalletAddress, listWalletAddresses } from '../../features/operate-wallets/wallet-addresses.js'
import { required } from './answer.js'
import {
  namesOf,
  toAccountMessage,
  toLostPaymentMessage,
  toPaymentMessage,
  toRefusedReservationMessage,
  toWalletAddressMessage
} from './messages.js'

/** `WalletOperatorService.CreateAsset`. */
export function createAssetRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.CreateAssetRequest, wallet.CreateAssetResponse> {
  return async ({ asset }) => ({ asset: await createAsset(required(asset, 'asset'), dependencies) })
}

/** `WalletOperatorService.ListAssets`. */
export function listAssetsRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.ListAssetsRequest, wallet.ListAssetsResponse> {
  return async () => ({ assets: [...(await listAssets(dependencies))] })
}

/** `WalletOperatorService.CreateAccount`. */
export function createAccountRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.CreateAccountRequest, wallet.CreateAccountResponse> {
  return async ({ name, asset }) => {
    const account = await createAccount({ name, asset: required(asset, 'asset') }, dependencies)
    return { account: toAccountMessage(account) }
  }
}

/** `WalletOperatorService.ListAccounts`. */
export function listAccountsRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.ListAccountsRequest, wallet.ListAccountsResponse> {
  return async ({ name, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = readTextToken(pageToken)
    const found = await listAccounts({ name, after, limit: pageSize + 1 }, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, (account) => writeTextToken(account.name))
    return { accounts: items.map(toAccountMessage), nextPageToken }
  }
}

/** `WalletOperatorService.SetAccountHolder`. */
export function setAccountHolderRpc(
  dependencies: HolderDependencies & Acting
): UnaryHandler<wallet.SetAccountHolderRequest, wallet.SetAccountHolderResponse> {
  return async ({ accountName, holder }, { clientNames }) => ({
    account: toAccountMessage(await setAccountHolder({ accountName, holder, clientNames }, dependencies))
  })
}

/** `WalletOperatorService.CreateWalletAddress`. */
export function createWalletAddressRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.CreateWalletAddressRequest, wallet.CreateWalletAddressResponse> {
  return async (request) => ({
    walletAddress: toWalletAddressMessage(await createWalletAddress(request, dependencies))
  })
}

/** `WalletOperatorService.ListWalletAddresses`. */
export function listWalletAddressesRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.ListWalletAddressesRequest, wallet.ListWalletAddressesResponse> {
  return async ({ pageSize: size, pageToken, accountName, walletAddress }) => {
    const pageSize = readPageSize(size)
    const after = readTextToken(pageToken)
    const found = await listWalletAddresses(
      { accountName, walletAddress, after, limit: pageSize + 1 },
      dependencies
    )
    const { items, nextPageToken } = cutPage(found, pageSize, ({ path }) => writeTextToken(path))
    return { walletAddresses: items.map(toWalletAddressMessage), nextPageToken }
  }
}

/**
 * `WalletOperatorService.FreezeAccount` and `UnfreezeAccount`.
 *
 * @param freezes which of the two
 */
export function freezeAccountRpc(
  freezes: boolean,
  dependencies: FreezeDependencies & Acting
): UnaryHandler<wallet.UnfreezeAccountRequest, wallet.FreezeAccountResponse> {
  return async ({ accountName: name, reason, freezeTime }, { clientNames }) => {
    const sinceMs = readInstant(freezeTime, 'freeze_time')
    const order = { freezes, name, reason, sinceMs, clientNames }
    return { account: toAccountMessage(await freezeAccountByName(order, dependencies)) }
  }
}

/**
 * `WalletOperatorService.FreezeWalletAddress` and `UnfreezeWalletAddress`.
 *
 * @param freezes which of the two
 */
export function freezeWalletAddressRpc(
  freezes: boolean,
  dependencies: FreezeDependencies & Acting
): UnaryHandler<wallet.UnfreezeWalletAddressRequest, wallet.FreezeWalletAddressResponse> {
  return async ({ walletAddress: name, reason, freezeTime }, { clientNames }) => {
    const sinceMs = readInstant(freezeTime, 'freeze_time')
    const order = { freezes, name, reason, sinceMs, clientNames }
    return { walletAddress: toWalletAddressMessage(await freezeWalletAddressByUrl(order, dependencies)) }
  }
}

/** `WalletOperatorService.AddClientKey`. */
export function addClientKeyRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.AddClientKeyRequest, wallet.AddClientKeyResponse> {
  return async (request) => {
    await addClientKey(request, dependencies)
    return {}
  }
}

/** `WalletOperatorService.RevokeClientKey`. */
export function revokeClientKeyRpc(
  dependencies: OperatorDependencies & Acting
): UnaryHandler<wallet.RevokeClientKeyRequest, wallet.RevokeClientKeyResponse> {
  return async (request) => {
    await revokeClientKey(request, dependencies)
    return {}
  }
}

/** `WalletOperatorService.Deposit`. */
export function depositRpc(
  dependencies: OperatorDependencies & Acting
): UnaryHandler<wallet.DepositRequest, wallet.DepositResponse> {
  return async ({ depositId, accountName, value }) => ({
    account: toAccountMessage(await deposit({ id: depositId, accountName, value }, dependencies))
  })
}

/** `WalletOperatorService.Withdraw`. */
export function withdrawRpc(
  dependencies: OperatorDependencies & Acting
): UnaryHandler<wallet.WithdrawRequest, wallet.WithdrawResponse> {
  return async ({ withdrawalId, accountName, value }) => ({
    account: toAccountMessage(await withdraw({ id: withdrawalId, accountName, value }, dependencies))
  })
}

/** `WalletOperatorService.ListPayments`. */
export function listPaymentsRpc(
  dependencies: OperatorDependencies
): UnaryHandler<wallet.ListPaymentsRequest, wallet.ListPaymentsResponse> {
  return async ({ pageSize, pageToken, fromTime, untilTime, ...request }) => {
    const { payments, next } = await listPayments(
      {
        ...request,
        fromTime,
        untilTime,
        kind: readKind(request.kind),
        after: readPageToken(pageToken),
        limit: readPageSize(pageSize)
      },
      dependencies
    )
    return {
      payments: payments.map(toPaymentMessage),
      nextPageToken: next === undefined ? '' : writePageToken(next)
    }
  }
}

/** `WalletOperatorService.ListLostPayments`. */
export function listLostPaymentsRpc(
  dependencies: LossDependencies
): UnaryHandler<wallet.ListLostPaymentsRequest, wallet.ListLostPaymentsResponse> {
  return async ({ pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = pageToken === '' ? undefined : readTextToken(pageToken)
    if (after !== undefined && !isUuid(after)) throw unknownPageToken()
    const found = await listLostPayments({ after, limit: pageSize + 1 }, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, ({ paymentId }) => writeTextToken(paymentId))
    return { payments: items.map(toLostPaymentMessage), nextPageToken }
  }
}

/** `WalletOperatorService.GiveUpLostPayments`. */
export function giveUpLostPaymentsRpc(
  dependencies: GiveUpLostDependencies
): UnaryHandler<wallet.GiveUpLostPaymentsRequest, wallet.GiveUpLostPaymentsResponse> {
  return async ({ paymentIds }) => ({
    paymentIds: [...(await giveUpLostPayments(paymentIds, dependencies))]
  })
}

/** `WalletOperatorService.RestoreReservations`. */
export function restoreReservationsRpc(
  dependencies: RestoreReservationsDependencies
): UnaryHandler<wallet.RestoreReservationsRequest, wallet.RestoreReservationsResponse> {
  return async () => {
    const { restoredCount, outcomeCount, refusedCount, refused } = await restoreReservations(dependencies)
    return {
      restoredCount: BigInt(restoredCount),
      outcomeCount: BigInt(outcomeCount),
      refusedCount: BigInt(refusedCount),
      refused: refused.map(toRefusedReservationMessage)
    }
  }
}

/** `WalletOperatorService.AcceptUncountedPayments`. */
export function acceptUncountedPaymentsRpc(
  dependencies: AcceptPaymentsDependencies
): UnaryHandler<wallet.AcceptUncountedPaymentsRequest, wallet.AcceptUncountedPaymentsResponse> {
  return async ({ paymentIds, reason }, { clientNames }) => {
    const order = { paymentIds, reason, by: namesOf(clientNames) }
    return { paymentIds: [...(await acceptUncounted(order, dependencies))] }
  }
}

/** `WalletOperatorService.Audit`. */
export function auditRpc(
  dependencies: AuditMoneyDependencies
): UnaryHandler<wallet.AuditRequest, wallet.AuditResponse> {
  // It reads all there is, on one of the few connections for that: whoever asks the same meanwhile gets the same answer.
  const audit = oneAtATime((openAgeMaxSeconds: number) => auditMoney(openAgeMaxSeconds, dependencies))
  return async ({ openReservationAgeMaxSeconds }, { signal }) => {
    const checks = await audit(openReservationAgeMaxSeconds, signal)
    return { checks: checks.map((check) => ({ ...check, violations: [...check.violations] })) }
  }
}

function readKind(kind: wallet.PaymentKind): OperatedPayment['kind'] {
  switch (kind) {
    case wallet.PaymentKind.PAYMENT_KIND_INCOMING:
      return 'incoming'
    case wallet.PaymentKind.PAYMENT_KIND_OUTGOING:
      return 'outgoing'
    case wallet.PaymentKind.PAYMENT_KIND_UNSPECIFIED:
    case wallet.PaymentKind.UNRECOGNIZED:
      throw invalidCallField('kind', 'must be incoming or outgoing')
  }
}
