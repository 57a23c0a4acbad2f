import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import {
  cutPage,
  readPageSize,
  readPageToken,
  readTextToken,
  writePageToken,
  writeTextToken
} from '@open-payments-server/service-kit/grpc'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { HoldingDependencies } from '../../features/holding.js'
import { type AccountOfHolder, listHolderAccounts } from '../../features/serve-holders/accounts.js'
import {
  listGrantPayments,
  listHolderPayments,
  type PaymentOfHolder
} from '../../features/serve-holders/payments.js'
import {
  type AskingDependencies,
  type DescribedReceiver,
  describeReceivers
} from '../../features/serve-holders/receivers.js'
import { type OwnershipDependencies, stateOwnership } from '../../features/state-ownership/state-ownership.js'

/** Maximum number of items of a page: with receivers that are described at length, it still fits a message. */
const PAGE_SIZE_MAX = 200

/** `HolderService.StateOwnership`. */
export function stateOwnershipRpc(
  dependencies: OwnershipDependencies
): UnaryHandler<wallet.StateOwnershipRequest, wallet.StateOwnershipResponse> {
  return async (request) => {
    const { statement, expiresAtMs } = await stateOwnership(request, dependencies)
    return { statement, expireTime: new Date(expiresAtMs) }
  }
}

/** `HolderService.ListHolderAccounts`. */
export function listHolderAccountsRpc(
  dependencies: HoldingDependencies
): UnaryHandler<wallet.ListHolderAccountsRequest, wallet.ListHolderAccountsResponse> {
  return async ({ pageSize: size, pageToken, ...person }) => {
    const pageSize = readPageSize(size, PAGE_SIZE_MAX)
    const after = readTextToken(pageToken)
    const found = await listHolderAccounts({ ...person, after, limit: pageSize + 1 }, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, ({ accountName }) =>
      writeTextToken(accountName)
    )
    return { accounts: items.map(toAccountMessage), nextPageToken }
  }
}

/** `HolderService.DescribeReceivers`. */
export function describeReceiversRpc(
  dependencies: AskingDependencies
): UnaryHandler<wallet.DescribeReceiversRequest, wallet.DescribeReceiversResponse> {
  return async ({ urls, askProviders }) => {
    const described = await describeReceivers(urls, { asksProviders: askProviders }, dependencies)
    return { receivers: described.map(toReceiverMessage) }
  }
}

/** `HolderService.ListHolderPayments`. */
export function listHolderPaymentsRpc(
  dependencies: HoldingDependencies
): UnaryHandler<wallet.ListHolderPaymentsRequest, wallet.ListHolderPaymentsResponse> {
  return async ({ pageSize: size, pageToken, ...request }) => {
    const pageSize = readPageSize(size, PAGE_SIZE_MAX)
    const range = { after: readPageToken(pageToken), limit: pageSize + 1 }
    const { fromTime, untilTime } = request
    const found = await listHolderPayments({ ...request, fromTime, untilTime, ...range }, dependencies)
    return toPaymentPage(found, pageSize, dependencies.urls)
  }
}

/** `HolderService.ListGrantPayments`. */
export function listGrantPaymentsRpc(
  dependencies: HoldingDependencies
): UnaryHandler<wallet.ListGrantPaymentsRequest, wallet.ListGrantPaymentsResponse> {
  return async ({ pageSize: size, pageToken, ...request }) => {
    const pageSize = readPageSize(size, PAGE_SIZE_MAX)
    const range = { after: readPageToken(pageToken), limit: pageSize + 1 }
    const found = await listGrantPayments({ ...request, ...range }, dependencies)
    return toPaymentPage(found, pageSize, dependencies.urls)
  }
}

function toPaymentPage(
  found: readonly PaymentOfHolder[],
  pageSize: number,
  urls: ResourceUrls
): wallet.ListHolderPaymentsResponse {
  const { items, nextPageToken } = cutPage(found, pageSize, writePageToken)
  return { payments: items.map((payment) => toPaymentMessage(payment, urls)), nextPageToken }
}

function toAccountMessage(account: AccountOfHolder): wallet.HolderAccount {
  return {
    name: account.accountName,
    asset: account.asset,
    balanceValue: account.balance.toString(),
    availableValue: account.available.toString(),
    frozen: account.isFrozen,
    walletAddresses: account.walletAddresses.map(({ url, publicName, isFrozen }) => ({
      url,
      publicName: publicName ?? '',
      frozen: isFrozen
    }))
  }
}

const KINDS: Readonly<Record<DescribedReceiver['kind'], wallet.ReceiverKind>> = {
  'wallet-address': wallet.ReceiverKind.RECEIVER_KIND_WALLET_ADDRESS,
  'incoming-payment': wallet.ReceiverKind.RECEIVER_KIND_INCOMING_PAYMENT,
  unknown: wallet.ReceiverKind.RECEIVER_KIND_UNKNOWN,
  elsewhere: wallet.ReceiverKind.RECEIVER_KIND_ELSEWHERE
}

function toReceiverMessage(receiver: DescribedReceiver): wallet.Receiver {
  const { url, domain, kind } = receiver
  const payment = kind === 'incoming-payment' ? receiver : undefined
  const hosted = 'asset' in receiver ? receiver : undefined
  return {
    url,
    kind: KINDS[kind],
    domain,
    walletAddress: ('walletAddress' in receiver ? receiver.walletAddress : undefined) ?? '',
    publicName: hosted?.publicName ?? '',
    description: payment?.description ?? '',
    incomingValue: payment?.incomingValue?.toString() ?? '',
    receivedValue: payment?.receivedValue.toString() ?? '',
    asset: hosted?.asset,
    completed: payment?.completed ?? false,
    expireTime: payment && new Date(payment.expiresAtMs)
  }
}

function toPaymentMessage(payment: PaymentOfHolder, urls: ResourceUrls): wallet.HolderPayment {
  const { refundOf } = payment
  return {
    payment: urls.of('outgoing-payments', payment.id),
    grantId: payment.grantId,
    client: payment.client,
    walletAddress: payment.walletAddressUrl,
    state: payment.state,
    failureReason: payment.failureReason ?? '',
    failureMeaning: payment.failureMeaning ?? '',
    debitValue: payment.debitValue.toString(),
    sentValue: payment.settledDebitValue.toString(),
    debitAsset: payment.debitAsset,
    receiveValue: payment.receiveValue.toString(),
    receivedValue: payment.settledReceiveValue.toString(),
    refundedValue: payment.refundedValue.toString(),
    receiveAsset: payment.receiveAsset,
    receiver: toReceiverMessage(payment.describedReceiver),
    refundOf: refundOf === undefined ? '' : urls.of('outgoing-payments', refundOf),
    createTime: new Date(payment.createdAtMs),
    updateTime: new Date(payment.updatedAtMs)
  }
}
