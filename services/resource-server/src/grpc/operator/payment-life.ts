import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import { cutPage, readPageSize, readPageToken, writePageToken } from '@open-payments-server/service-kit/grpc'
import { listAccountEntries } from '../../features/show-payments/account-entries.js'
import { countPayments } from '../../features/show-payments/payment-hours.js'
import {
  type IncomingLife,
  listAwaitingPayments,
  type OutgoingLife,
  showPaymentLife,
  type ShowPaymentsDependencies
} from '../../features/show-payments/payment-life.js'
import type { LedgerEntry } from '../../modules/ledger/index.js'
import { toPaymentMessage, toRefundMessage } from './messages.js'
import { toApprovalMessage, toShownPaymentMessage } from './payment-approval.js'

/** `WalletOperatorService.CountPayments`. */
export function countPaymentsRpc(
  dependencies: ShowPaymentsDependencies
): UnaryHandler<wallet.CountPaymentsRequest, wallet.CountPaymentsResponse> {
  return async ({ hours }) => ({
    hours: (await countPayments(hours, dependencies)).map((hour) => ({
      startTime: new Date(hour.startedAtMs),
      createdCount: BigInt(hour.createdCount),
      completedCount: BigInt(hour.completedCount),
      failedCount: BigInt(hour.failedCount)
    }))
  })
}

/** `WalletOperatorService.GetPaymentLife`. */
export function getPaymentLifeRpc(
  dependencies: ShowPaymentsDependencies
): UnaryHandler<wallet.GetPaymentLifeRequest, wallet.GetPaymentLifeResponse> {
  return async ({ paymentId }) => {
    const life = await showPaymentLife(paymentId, dependencies)
    return life.kind === 'outgoing' ? toOutgoingLife(life, dependencies) : toIncomingLife(life, dependencies)
  }
}

/** `WalletOperatorService.ListAccountEntries`. */
export function listAccountEntriesRpc(
  dependencies: ShowPaymentsDependencies
): UnaryHandler<wallet.ListAccountEntriesRequest, wallet.ListAccountEntriesResponse> {
  return async ({ accountName, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const range = { after: readPageToken(pageToken), limit: pageSize + 1 }
    const found = await listAccountEntries({ accountName, ...range }, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, writePageToken)
    return { entries: items.map(toEntryMessage), nextPageToken }
  }
}

/** Maximum number of payments on a page of those that await approval: each is shown whole. */
const AWAITING_MAX = 100

/** `WalletOperatorService.ListAwaitingPayments`. */
export function listAwaitingPaymentsRpc(
  dependencies: ShowPaymentsDependencies
): UnaryHandler<wallet.ListAwaitingPaymentsRequest, wallet.ListAwaitingPaymentsResponse> {
  return async ({ pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size, AWAITING_MAX)
    const range = { after: readPageToken(pageToken), limit: pageSize + 1 }
    const found = await listAwaitingPayments(range, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, ({ payment, approval }) =>
      writePageToken({ id: payment.id, createdAtMs: approval.expiresAtMs })
    )
    return { payments: items.map((each) => toShownPaymentMessage(each, dependencies.urls)), nextPageToken }
  }
}

function toOutgoingLife(
  life: OutgoingLife,
  { urls }: ShowPaymentsDependencies
): wallet.GetPaymentLifeResponse {
  const { payment, details, approval, outcome } = life
  const shown = toShownPaymentMessage({ payment, approval }, urls)
  return {
    payment: shown.payment,
    url: shown.url,
    client: shown.client,
    outgoing: {
      grantId: details.grantId,
      quote: payment.quoteId === undefined ? '' : urls.of('quotes', payment.quoteId),
      feeValue: details.feeValue.toString(),
      receiveValue: payment.receiveValue.toString(),
      receivedValue: details.settledReceiveValue.toString(),
      receiveAsset: payment.receiveAsset,
      approval: approval && toApprovalMessage(approval),
      outcome: outcome?.outcome ?? '',
      outcomeAttempts: outcome?.attempts ?? 0,
      outcomeTime: outcome?.deliveredAtMs === undefined ? undefined : new Date(outcome.deliveredAtMs)
    },
    expireTime: undefined,
    entries: life.entries.map(toEntryMessage),
    refunds: life.refunds.map((refund) => toRefundMessage(refund, urls))
  }
}

function toIncomingLife(
  { payment, isExpired, entries }: IncomingLife,
  { urls }: ShowPaymentsDependencies
): wallet.GetPaymentLifeResponse {
  return {
    payment: toPaymentMessage({
      ...payment,
      kind: 'incoming',
      walletAddress: payment.walletAddressUrl,
      state: payment.completed ? 'completed' : isExpired ? 'expired' : 'pending',
      failure: undefined,
      value: payment.incomingValue,
      movedValue: payment.receivedValue,
      receiver: '',
      refundedAsset: payment.asset,
      refundOf: payment.refundOf && urls.of('outgoing-payments', payment.refundOf)
    }),
    url: urls.of('incoming-payments', payment.id),
    client: payment.client,
    outgoing: undefined,
    expireTime: new Date(payment.expiresAtMs),
    entries: entries.map(toEntryMessage),
    refunds: []
  }
}

function toEntryMessage(entry: LedgerEntry): wallet.LedgerEntry {
  return {
    transferId: entry.id,
    kind: entry.kind,
    state: entry.state,
    debitAccount: entry.debitAccount,
    creditAccount: entry.creditAccount,
    value: entry.value.toString(),
    postedValue: entry.postedValue?.toString() ?? '',
    asset: entry.asset,
    paymentId: entry.paymentId ?? '',
    incomingPaymentId: entry.incomingPaymentId ?? '',
    createTime: new Date(entry.createdAtMs),
    endTime: entry.endedAtMs === undefined ? undefined : new Date(entry.endedAtMs)
  }
}
