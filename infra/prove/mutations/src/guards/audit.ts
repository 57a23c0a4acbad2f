import type { Mutation, TestReference } from '../mutation.js'

const LIMITS = 'services/auth-server/src/features/audit-limits/audit-limits.ts'
const LEDGER = 'services/resource-server/src/features/audit-money/ledger-checks.ts'
const RESERVATIONS = 'services/resource-server/src/features/audit-money/reservation-checks.ts'
const DELIVER = 'services/resource-server/src/features/deliver-reservation-outcomes/deliver-outcomes.ts'
const LOST = 'services/resource-server/src/features/audit-money/lost-payments.ts'

const auditingLimits = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/audit-limits/audit-limits.test.ts',
  title
})
const auditing = (title: string): TestReference => ({
  file: 'services/resource-server/test/audit.test.ts',
  title
})
const auditingTerms = (title: string): TestReference => ({
  file: 'services/resource-server/test/audit-of-terms.test.ts',
  title
})
const auditingBoth = (title: string): TestReference => ({
  file: 'infra/prove/acceptance/test/corrupted-databases.test.ts',
  title: `an audit names both databases changed by hand to tell of ${title}`
})
const losing = (title: string): TestReference => ({
  file: 'services/resource-server/test/lost-payments.test.ts',
  title
})

/** The audit names what was changed by hand, and lost payments are left to an operator. */
export const AUDIT_GUARDS: readonly Mutation[] = [
  {
    guard: 'a repeated request does not release a reservation whose payment may be lost',
    file: 'services/resource-server/src/modules/grant-outcomes/give-up.ts',
    text: "coalesce(r.given_up_cause in ('reservation_unknown', 'reservation_repeated'), false)",
    broken: "coalesce(r.given_up_cause in ('reservation_unknown'), false)",
    test: losing('stay with an operator where their request is repeated and its receiver takes no more')
  },
  {
    guard: "an operator's decision about a lost payment is not overwritten by a delivery",
    file: 'services/resource-server/src/modules/grant-outcomes/deliver.ts',
    text: 'and next_attempt_at > now()\n',
    broken: 'and next_attempt_at is not null\n',
    test: losing('are not kept from an operator who decides while their release is delivered')
  },
  {
    guard: 'the audit finds another receiver or grant that both services agree on',
    file: RESERVATIONS,
    text: "contentHash(payment, payment.grantId).toString('hex'),",
    broken: "contentHash && reservation.contentHash?.toString('hex'),",
    test: auditingBoth('another receiver')
  },
  {
    guard: 'the audit finds money that was moved twice',
    file: LEDGER,
    text: 'having count(*) > 1',
    broken: 'having count(*) > 2',
    test: auditingBoth('money moved twice')
  },
  {
    guard: 'the audit finds a charge moved to another interval that both services agree on',
    file: LEDGER,
    text: 'or (p.charged_at < p.created_at - p.apart',
    broken: 'or (false',
    test: auditingBoth('another interval, with the instant of its charge')
  },
  {
    guard: 'the audit finds payments without the item of a consent',
    file: LIMITS,
    text: 'from audited where not has_item',
    broken: 'from audited where false',
    test: auditingBoth('a consent without limits, which is missing')
  },
  {
    guard: 'the audit finds a raised payment that both services agree on',
    file: LEDGER,
    text: 'or p.grant_counted_less or',
    broken: 'or',
    test: auditingBoth('a higher amount')
  },
  {
    guard: 'the audit finds a window raised with one of its payments',
    file: LIMITS,
    text: 'from audited where spent_debit_value > answered_debit_value',
    broken: 'from audited where false',
    test: auditingLimits(
      'finds a payment raised with its window though others were made under the grant before'
    )
  },
  {
    guard: 'the audit finds a refund of a delivered payment that both services agree on',
    file: LEDGER,
    text: "when 'partially_delivered' then terms.receiver_room >= terms.room_left_max",
    broken: "when 'partially_delivered' then false",
    test: auditingBoth('half of a delivered payment given back')
  },
  {
    guard: 'the audit finds a conversion at an exchange rate that had ended',
    file: LEDGER,
    text: 'and t.ended_at >= p.begin_until + ',
    broken: 'and t.ended_at < p.begin_until - ',
    test: auditingTerms(
      'finds a payment between currencies that was approved, and paid after its terms had ended'
    )
  },
  {
    guard: 'the audit finds a payment that says its exchange rate ended, and had none or did not wait',
    file: LEDGER,
    text: "when 'rate_changed' then coalesce(terms.begin_until > terms.updated_at, true)",
    broken: "when 'rate_changed' then false",
    test: auditing(
      'finds a delivered payment that failed with rate_changed, though its receiver could take it'
    )
  },
  {
    guard: 'the audit finds payments from a wallet whose account holder did not agree',
    file: LIMITS,
    text: 'and i.wallet_address <> r.wallet_address',
    broken: 'and false',
    test: auditingBoth('a wallet whose account holder did not agree')
  },
  {
    guard: 'the audit finds what needs consent beside payments',
    file: LIMITS,
    text: "(a.type = 'outgoing-payment' or 'list-all' = any (a.actions))",
    broken: "(a.type = 'outgoing-payment')",
    test: auditingLimits('finds what lists all payments of a wallet whose account holder did not agree')
  },
  {
    guard: 'the audit finds a subject that another account holder agreed to',
    file: LIMITS,
    text: "and i.wallet_address is distinct from s ->> 'id'",
    broken: 'and false',
    test: auditingLimits('finds a subject of another account holder')
  },
  {
    guard: 'the audit finds payments charged under a revoked grant',
    file: LIMITS,
    text: 'and r.charged_at > g.updated_at',
    broken: "and r.charged_at > g.updated_at + interval '1 year'",
    test: auditingLimits('finds a payment that was charged after its grant was revoked')
  },
  {
    guard: 'the audit finds a pending payment whose hold vanished',
    file: LEDGER,
    text: 'r.held is not false),',
    broken: "r.held is not false and p.state <> 'pending'),",
    test: auditing('finds a pending payment whose hold vanished with the money that it held')
  },
  {
    guard: 'a repeated request never releases the reservation of a lost payment',
    file: DELIVER,
    text: 'reservation.createdAtMs < changedAtMs',
    broken: 'reservation.createdAtMs > changedAtMs',
    test: losing(
      'are left to an operator where their request is repeated while the auth server is away: open'
    )
  },
  {
    guard: 'a lost payment whose id a request gave up is left to an operator',
    file: LOST,
    text: '(entry === undefined || (entry.payment === undefined && !entry.isLost)) &&',
    broken: 'entry === undefined &&',
    test: losing(
      'are left to an operator where their request is repeated while the auth server is away: settled'
    )
  },
  {
    guard: 'the audit finds a payment beyond what a lowering left, though more had been spent before it',
    file: LIMITS,
    text: 'and (r.spent_debit_value > l.limit_debit_value or r.spent_receive_value > l.limit_receive_value)',
    broken: 'and (r.spent_debit_value < 0 or r.spent_receive_value < 0)',
    test: {
      file: 'services/auth-server/src/features/audit-limits/audit-consents.test.ts',
      title: 'finds a payment beyond what a lowering left, though more had been spent before it'
    }
  }
]
