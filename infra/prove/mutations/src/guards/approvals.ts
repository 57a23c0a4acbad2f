import type { Mutation, TestReference } from '../mutation.js'

const MODULE = 'services/resource-server/src/modules/approvals'
const RULES = `${MODULE}/rules.ts`
const APPROVAL = `${MODULE}/approval.ts`
const PAYMENTS = 'services/resource-server/src/modules/outgoing-payments'
const DECIDE = 'services/resource-server/src/features/approve-payments/decide.ts'
const TERMS = 'services/resource-server/src/features/create-outgoing-payment/terms.ts'
const AUDIT = 'services/resource-server/src/features/audit-money/ledger-checks.ts'

const sending = (title: string): TestReference => ({
  file: 'services/resource-server/test/send-payments.test.ts',
  title
})
const approving = (title: string): TestReference => ({
  file: 'services/resource-server/test/approval.test.ts',
  title
})
const exchanging = (title: string): TestReference => ({
  file: 'services/resource-server/test/payments-between-currencies.test.ts',
  title
})

/** The approval of payments by the provider. */
export const APPROVAL_GUARDS: readonly Mutation[] = [
  {
    guard: 'a payment that meets a rule awaits approval before anything processes it',
    file: `${PAYMENTS}/create.ts`,
    text: "case when approval_rule_id is null then 'pending' else 'awaiting_approval' end::outgoing_payment_state",
    broken: "'pending'::outgoing_payment_state",
    test: approving('awaits approval: nothing processes it, and its money and its reservation are taken')
  },
  {
    guard: 'a payment that refunds another awaits approval as any other',
    file: 'services/resource-server/src/features/create-outgoing-payment/persist.ts',
    text: '${opened}, ${requested}, ${refundedByPayment},',
    broken: '${opened}, ${refundedByPayment},',
    test: approving('awaits approval as any other, and is refunded once it is approved')
  },
  {
    guard: 'a refund whose payment is declined takes nothing of what may be refunded',
    file: 'services/resource-server/src/modules/refunds/end.ts',
    text: 'returning f.*, f.value as given_back',
    broken: 'returning f.*, 0::numeric as given_back',
    test: approving('gives back all that it took of the bound when it is declined, or nobody decides in time')
  },
  {
    guard: 'a rule with an amount is met by debits above it, and by no others',
    file: RULES,
    text: 'and (${debitValue} > rule.above_value) is not false',
    broken: 'and (${debitValue} > rule.above_value + 1) is not false',
    test: approving('is met by a debit above its amount')
  },
  {
    guard: 'a rule with a wallet address is met by its payments',
    file: RULES,
    text: '(rule.wallet_address_id = ${walletAddressId} or rule.wallet_address_id is null)',
    broken: 'rule.wallet_address_id is null and ${walletAddressId} is not null',
    test: approving('is met by payments of its wallet address and client only')
  },
  {
    guard: 'a rule about first payees is met by the first payment to a wallet address',
    file: RULES,
    text: 'and (not rule.first_payee or not ${isPayeeKnown(walletAddressId, payee)})',
    broken: 'and (not rule.first_payee or ${isPayeeKnown(walletAddressId, payee)})',
    test: approving('about first payees is met until one payment has arrived, also before there was the rule')
  },
  {
    guard: 'a payment that was decided about is not decided about again',
    file: APPROVAL,
    text: "where a.payment_id = ${placeholder('id')}::uuid and a.decision is null and ",
    broken: "where a.payment_id = ${placeholder('id')}::uuid and ",
    test: approving(
      'is decided once: the same answer again is the same, another one is refused and changes nothing'
    )
  },
  {
    guard: 'a payment whose time is over cannot be approved',
    file: APPROVAL,
    text: "(a.expires_at <= ${placeholder('now')}::timestamptz) = ${placeholder('isOver')}::boolean",
    broken:
      "(a.expires_at <= ${placeholder('now')}::timestamptz or true) = (${placeholder('isOver')}::boolean or true)",
    test: approving('cannot be approved after its time, even if nothing has declined it yet')
  },
  {
    guard: 'a payment to another provider awaits approval no longer than its quote stands',
    file: APPROVAL,
    text: "least(${placeholder('approvalExpiresAt')}::timestamptz, begin_until)",
    broken: "${placeholder('approvalExpiresAt')}::timestamptz",
    test: sending(
      'is declined when its quote ends before anybody has approved it, and gives back its money and its room'
    )
  },
  {
    guard: 'a payment here to another currency awaits approval no longer than its rate stands',
    file: TERMS,
    text: 'return sending !== undefined || isExchanged(asset, receiveAsset)',
    broken: 'return sending !== undefined || isExchanged(asset, asset)',
    test: exchanging('fails if its rate ends between the approval and its settlement, as elsewhere')
  },
  {
    guard: 'a payment that was approved is not settled at a rate that has ended',
    file: `${PAYMENTS}/process.ts`,
    text: "case when ${metAnyRule(Prisma.sql`p.id`)} then interval '0' else",
    broken: "case when false then interval '0' else",
    test: exchanging('fails if its rate ends between the approval and its settlement, as elsewhere')
  },
  {
    guard: 'a payment whose rate ends while it is created is persisted all the same',
    file: APPROVAL,
    text: "greatest(least(${placeholder('approvalExpiresAt')}::timestamptz, begin_until), ${placeholder('now')}::timestamptz + ${INSTANT})",
    broken: "least(${placeholder('approvalExpiresAt')}::timestamptz, begin_until)",
    test: exchanging('is declined, too, if its rate ended while it was created')
  },
  {
    guard: 'a payment is not declined before its time is over',
    file: APPROVAL,
    text: "where a.decision is null and a.expires_at <= ${placeholder('now')}::timestamptz",
    broken: "where a.decision is null and a.expires_at > ${placeholder('now')}::timestamptz",
    test: approving('is declined when nobody decides in time')
  },
  {
    guard: 'only a payment that awaits approval ends as declined',
    file: `${PAYMENTS}/approval.ts`,
    text: "where p.id = any (array(select id from ending)) and p.state::text = 'awaiting_approval'",
    broken: 'where p.id = any (array(select id from ending))',
    test: approving('a payment that has ended otherwise changes nothing')
  },
  {
    guard: 'a hold that has ended is not returned again',
    file: 'services/resource-server/src/modules/ledger/void.ts',
    text: "where t.id = any (${paymentIds}) and t.state = 'pending'",
    broken: 'where t.id = any (${paymentIds})',
    test: approving('a payment that has lost its hold changes nothing')
  },
  {
    guard: 'a decision that changes another number of rows than it must changes none',
    file: DECIDE,
    text: 'where changed <> wanted)',
    broken: 'where false and changed <> wanted)',
    test: approving('a payment that has lost its hold changes nothing')
  },
  {
    guard: 'the audit finds a payment that went without a decision',
    file: AUDIT,
    text: "when a.decision is null then p.state <> 'awaiting_approval'",
    broken: 'when a.decision is null then false',
    test: approving('a payment that went without a decision')
  },
  {
    guard: 'the audit finds a payment that awaits approval, or was declined, of which nothing is recorded',
    file: AUDIT,
    text: "when a.payment_id is null then p.state = 'awaiting_approval' or p.failure_reason is not distinct from 'declined_by_provider'",
    broken: 'when a.payment_id is null then false',
    test: approving('a payment that waits although it was decided, and one that lost what it waits for')
  },
  {
    guard: 'the audit finds a payment that was declined although it was approved',
    file: AUDIT,
    text: " or p.failure_reason is not distinct from 'declined_by_provider'\n         else",
    broken: '\n         else',
    test: approving('a payment that was declined although it was approved, or without a decision')
  }
]
