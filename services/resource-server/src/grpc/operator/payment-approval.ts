import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { type Approval, APPROVAL_DECISIONS } from '../../domain/approval.js'
import { FAILURE_REASONS } from '../../domain/failure-reasons.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { approvePayment, declinePayment } from '../../features/approve-payments/decide.js'
import type { DecideDependencies, RuleDependencies } from '../../features/approve-payments/dependencies.js'
import {
  createRule,
  deleteApprovalRule,
  listApprovalRules,
  type OperatedRule
} from '../../features/approve-payments/rules.js'
import {
  showPayment,
  type ShownPayment,
  type ShowPaymentDependencies
} from '../../features/approve-payments/show-payment.js'
import { namesOf, toPaymentMessage } from './messages.js'

/** `WalletOperatorService.GetOutgoingPayment`. */
export function getOutgoingPaymentRpc(
  dependencies: ShowPaymentDependencies
): UnaryHandler<wallet.GetOutgoingPaymentRequest, wallet.GetOutgoingPaymentResponse> {
  return async ({ outgoingPayment }) => ({
    payment: toShownPaymentMessage(await showPayment(outgoingPayment, dependencies), dependencies.urls)
  })
}

/** `WalletOperatorService.ApprovePayment`. */
export function approvePaymentRpc(
  dependencies: DecideDependencies & Acting
): UnaryHandler<wallet.ApprovePaymentRequest, wallet.ApprovePaymentResponse> {
  return async ({ outgoingPayment: url, reason }, { clientNames }) => {
    const shown = await approvePayment({ url, reason, by: namesOf(clientNames) }, dependencies)
    return { payment: toShownPaymentMessage(shown, dependencies.urls) }
  }
}

/** `WalletOperatorService.DeclinePayment`. */
export function declinePaymentRpc(
  dependencies: DecideDependencies & Acting
): UnaryHandler<wallet.DeclinePaymentRequest, wallet.DeclinePaymentResponse> {
  return async ({ outgoingPayment: url, reason }, { clientNames }) => {
    const shown = await declinePayment({ url, reason, by: namesOf(clientNames) }, dependencies)
    return { payment: toShownPaymentMessage(shown, dependencies.urls) }
  }
}

/** `WalletOperatorService.CreateApprovalRule`. */
export function createApprovalRuleRpc(
  dependencies: RuleDependencies
): UnaryHandler<wallet.CreateApprovalRuleRequest, wallet.CreateApprovalRuleResponse> {
  return async (request) => ({ rule: toRuleMessage(await createRule(request, dependencies)) })
}

/** `WalletOperatorService.ListApprovalRules`. */
export function listApprovalRulesRpc(
  dependencies: RuleDependencies
): UnaryHandler<wallet.ListApprovalRulesRequest, wallet.ListApprovalRulesResponse> {
  return async () => ({ rules: (await listApprovalRules(dependencies)).map(toRuleMessage) })
}

/** `WalletOperatorService.DeleteApprovalRule`. */
export function deleteApprovalRuleRpc(
  dependencies: RuleDependencies
): UnaryHandler<wallet.DeleteApprovalRuleRequest, wallet.DeleteApprovalRuleResponse> {
  return async ({ ruleId }) => {
    await deleteApprovalRule(ruleId, dependencies)
    return {}
  }
}

/** An outgoing payment on the wire, with what was decided about it. */
export function toShownPaymentMessage(
  { payment, approval }: ShownPayment,
  urls: ResourceUrls
): wallet.OutgoingPayment {
  const { failureReason } = payment
  return {
    payment: toPaymentMessage({
      ...payment,
      kind: 'outgoing',
      walletAddress: payment.walletAddressUrl,
      failure: failureReason && { reason: failureReason, meaning: FAILURE_REASONS[failureReason].meaning },
      value: payment.debitValue,
      movedValue: payment.settledDebitValue,
      refundedAsset: payment.receiveAsset,
      refundOf: payment.refundOf && urls.of('outgoing-payments', payment.refundOf),
      asset: payment.debitAsset
    }),
    url: urls.of('outgoing-payments', payment.id),
    client: payment.client,
    receiveValue: payment.receiveValue.toString(),
    receiveAsset: payment.receiveAsset,
    approval: approval && toApprovalMessage(approval)
  }
}

/** An approval on the wire. */
export function toApprovalMessage({
  ruleId,
  requestedAtMs,
  expiresAtMs,
  decided
}: Approval): wallet.Approval {
  return {
    ruleId,
    requestTime: new Date(requestedAtMs),
    expireTime: new Date(expiresAtMs),
    decision: decided?.decision ?? '',
    decisionMeaning: decided === undefined ? '' : APPROVAL_DECISIONS[decided.decision],
    decideTime: decided && new Date(decided.atMs),
    decidedBy: decided?.by ?? '',
    reason: decided?.reason ?? ''
  }
}

/** A rule on the wire. */
export function toRuleMessage(rule: OperatedRule): wallet.ApprovalRule {
  return {
    id: rule.id,
    aboveValue: rule.aboveValue?.toString() ?? '',
    walletAddress: rule.walletAddress ?? '',
    client: rule.client ?? '',
    firstPayee: rule.firstPayee,
    method: rule.method ?? '',
    createTime: new Date(rule.createdAtMs)
  }
}
