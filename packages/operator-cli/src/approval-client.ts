import type { wallet } from '@open-payments-server/proto'
import { type Amount, parseAmountValue } from '@open-payments-server/value-types/amounts'
import { assetOf, present, textOf } from './messages.js'
import { type OperatorClient, type OperatorPayment, paymentOf } from './operator-client.js'

/** Maximum duration of creating a rule: one about first payees reads all payments. */
const RULE_DEADLINE_MS = 600_000

/** The approval of a payment that met a rule. */
export interface OperatorApproval {
  readonly ruleId: string
  readonly requestedAt: Date | undefined
  /** When it is declined unless it is decided. */
  readonly expiresAt: Date | undefined
  /** `approved`, `declined` or `timed_out`, and what that means; undefined while it waits. */
  readonly decision: { readonly name: string; readonly meaning: string } | undefined
  readonly decidedAt: Date | undefined
  /** Names in the certificate of whoever decided. */
  readonly decidedBy: string | undefined
  readonly reason: string | undefined
}

/** An outgoing payment, with what was decided about it. */
export interface OperatorOutgoingPayment extends OperatorPayment {
  readonly url: string
  /** The client that created it: URL of its wallet address, or `jwk:` and its key's thumbprint. */
  readonly client: string
  /** Amount that the receiver is to get. */
  readonly receiveAmount: Amount
  /** undefined for a payment that met no rule. */
  readonly approval: OperatorApproval | undefined
}

/** The conditions of a rule of approval: a payment meets it by meeting all. One that is undefined is met by every payment. */
export interface ApprovalConditions {
  /** The debit is above this, in the smallest unit of its asset. A decimal string, read by the service. */
  readonly above: string | undefined
  /** URL of the wallet address that pays. */
  readonly walletAddress: string | undefined
  readonly client: string | undefined
  /** Whether the wallet address has never paid that of the receiver. */
  readonly firstPayee: boolean
  readonly method: string | undefined
}

/** A rule: which payments await approval. */
export interface OperatorApprovalRule extends ApprovalConditions {
  readonly id: string
  readonly createdAt: Date | undefined
}

/** The operator calls about the approval of payments. Every method throws as those of {@link OperatorClient}. */
export class ApprovalClient {
  readonly #client: OperatorClient

  constructor(client: OperatorClient) {
    this.#client = client
  }

  /** Reads an outgoing payment by its URL. */
  async show(outgoingPayment: string): Promise<OperatorOutgoingPayment> {
    const { payment } = await this.#client.callWallet(
      'getOutgoingPayment',
      { outgoingPayment },
      { idempotent: true }
    )
    return outgoingPaymentOf(payment)
  }

  /**
   * Approves or declines an outgoing payment that awaits approval. Idempotent.
   *
   * @param reason empty for none
   */
  async decide(
    answer: 'approve' | 'decline',
    outgoingPayment: string,
    reason: string
  ): Promise<OperatorOutgoingPayment> {
    const method = answer === 'approve' ? 'approvePayment' : 'declinePayment'
    const { payment } = await this.#client.callWallet(
      method,
      { outgoingPayment, reason },
      { idempotent: true }
    )
    return outgoingPaymentOf(payment)
  }

  /** Creates a rule of approval. One about first payees reads all payments first. */
  async createRule(conditions: ApprovalConditions): Promise<OperatorApprovalRule> {
    const { above, walletAddress, client, firstPayee, method } = conditions
    const request = {
      aboveValue: above ?? '',
      walletAddress: walletAddress ?? '',
      client: client ?? '',
      firstPayee,
      method: method ?? ''
    }
    const options = { idempotent: false, deadlineMs: RULE_DEADLINE_MS }
    const { rule } = await this.#client.callWallet('createApprovalRule', request, options)
    return approvalRuleOf(present(rule, 'rule'))
  }

  /** Lists all rules of approval, oldest first. */
  async listRules(): Promise<readonly OperatorApprovalRule[]> {
    const { rules } = await this.#client.callWallet('listApprovalRules', {}, { idempotent: true })
    return rules.map(approvalRuleOf)
  }

  /** Deletes a rule of approval by its id. */
  async deleteRule(ruleId: string): Promise<void> {
    await this.#client.callWallet('deleteApprovalRule', { ruleId }, { idempotent: false })
  }
}

function outgoingPaymentOf(message: wallet.OutgoingPayment | undefined): OperatorOutgoingPayment {
  const shown = present(message, 'payment')
  return {
    ...paymentOf(present(shown.payment, 'payment')),
    url: shown.url,
    client: shown.client,
    receiveAmount: { value: parseAmountValue(shown.receiveValue), asset: assetOf(shown.receiveAsset) },
    approval: shown.approval && approvalOf(shown.approval)
  }
}

function approvalOf(approval: wallet.Approval): OperatorApproval {
  const { ruleId, decision, decisionMeaning } = approval
  return {
    ruleId,
    requestedAt: approval.requestTime,
    expiresAt: approval.expireTime,
    decision: decision === '' ? undefined : { name: decision, meaning: decisionMeaning },
    decidedAt: approval.decideTime,
    decidedBy: textOf(approval.decidedBy),
    reason: textOf(approval.reason)
  }
}

function approvalRuleOf(rule: wallet.ApprovalRule): OperatorApprovalRule {
  return {
    id: rule.id,
    above: textOf(rule.aboveValue),
    walletAddress: textOf(rule.walletAddress),
    client: textOf(rule.client),
    firstPayee: rule.firstPayee,
    method: textOf(rule.method),
    createdAt: rule.createTime
  }
}
