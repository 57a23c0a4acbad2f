import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import { cutPage, readPageSize, readPageToken, writePageToken } from '@open-payments-server/service-kit/grpc'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { createRefund } from '../../features/refund-payments/create-refund.js'
import type { RefundDependencies } from '../../features/refund-payments/dependencies.js'
import { listRefunds } from '../../features/refund-payments/list-refunds.js'
import { namesOf, toRefundMessage } from './messages.js'

/** `WalletOperatorService.CreateRefund`. */
export function createRefundRpc(
  dependencies: RefundDependencies & Acting
): UnaryHandler<wallet.CreateRefundRequest, wallet.CreateRefundResponse> {
  return async (request, { clientNames }) => {
    const refund = await createRefund({ ...request, by: namesOf(clientNames) }, dependencies)
    return { refund: toRefundMessage(refund, dependencies.urls) }
  }
}

/** `WalletOperatorService.ListRefunds`. */
export function listRefundsRpc(
  dependencies: RefundDependencies
): UnaryHandler<wallet.ListRefundsRequest, wallet.ListRefundsResponse> {
  return async ({ refundOf, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = readPageToken(pageToken)
    const found = await listRefunds({ refundOf, after, limit: pageSize + 1 }, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, writePageToken)
    return { refunds: items.map((refund) => toRefundMessage(refund, dependencies.urls)), nextPageToken }
  }
}
