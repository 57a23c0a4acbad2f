import type { Mutation, TestReference } from '../mutation.js'

const CREATE = 'services/resource-server/src/modules/refunds/create.ts'
const END = 'services/resource-server/src/modules/refunds/end.ts'
const ORIGINAL = 'services/resource-server/src/modules/outgoing-payments/refund.ts'
const MADE = 'services/resource-server/src/features/refund-payments/create-refund.ts'
const LEDGER = 'services/resource-server/src/modules/ledger/refund.ts'
const PERSIST = 'services/resource-server/src/features/create-outgoing-payment/persist.ts'
const REFUND_OF = 'services/resource-server/src/features/create-outgoing-payment/refund-of.ts'
const PROCESS = 'services/resource-server/src/features/process-outgoing-payments/process-batch.ts'
const BATCH = 'services/resource-server/src/features/process-outgoing-payments/settle-batch.ts'
const AUDIT = 'services/resource-server/src/features/audit-money/refund-checks.ts'

const refunding = (title: string): TestReference => ({
  file: 'services/resource-server/test/refunds.test.ts',
  title
})
const RACING = refunding(
  '64 refunds that race never take more than was delivered, nor more than the receiver has'
)
const PERSISTING = refunding('is refused as it is persisted, if another took what was left meanwhile')
const GIVING_BACK = refunding(
  'gives back what it took of the bound if it fails, all or the part that it did not send'
)

/** No payment is refunded more than it delivered, and refunds move exactly the money that they say. */
export const REFUND_GUARDS: readonly Mutation[] = [
  {
    guard: 'the provider refunds no more than a payment delivered',
    file: CREATE,
    text: 'where original.refunded_value + asked.value <= original.settled_receive_value and',
    broken: 'where original.settled_receive_value > 0 and',
    test: refunding('of more than was delivered is refused')
  },
  {
    guard: 'a refund is counted before the next one of its payment is looked at',
    file: ORIGINAL,
    text: "and p.state::text not in ('pending', 'awaiting_approval')\n     order by p.id for no key update",
    broken: "and p.state::text not in ('pending', 'awaiting_approval')\n     order by p.id",
    test: RACING
  },
  {
    guard: 'a refund takes no money that the receiver lacks or that is on hold',
    file: CREATE,
    text: 'and party.available >= asked.value',
    broken: 'and party.available > asked.value - 1000000000',
    test: refunding('is refused where the receiver has less money, and takes nothing that a payment holds')
  },
  {
    guard: 'a refund with one key is made once',
    file: CREATE,
    text: 'on conflict (idempotency_hash) where idempotency_hash is not null do nothing',
    broken: 'on conflict (id) do nothing',
    test: refunding('with the same key is made once, and another one is refused')
  },
  {
    guard: 'a key of one refund is not taken for another',
    file: MADE,
    text: 'found.requestHash?.equals(refund.identity.requestHash) !== true',
    broken: 'found.requestHash === undefined',
    test: refunding('with the same key is made once, and another one is refused')
  },
  {
    guard: 'parts of a refund are rounded so that together they are the whole',
    file: CREATE,
    text: '`div((${part.to}) * ${amount}, ${whole}) - div((${part.from}) * ${amount}, ${whole})`',
    broken: '`div((${part.to} - (${part.from})) * ${amount}, ${whole})`',
    test: refunding('whatever the parts are, together they give back exactly what the whole would')
  },
  {
    guard: "the provider's refunds are rounded after one another, whatever clients refund in between",
    file: CREATE,
    text: 'from: Prisma.sql`original.provider_refunded_value`,',
    broken: 'from: Prisma.sql`original.refunded_value`,',
    test: RACING
  },
  {
    guard: 'the fee is returned only where that is asked for',
    file: CREATE,
    text: 'case when asked.returns_fee then ${shareOf',
    broken: 'case when true then ${shareOf',
    test: refunding('returns the fee only where that is asked for, in proportion')
  },
  {
    guard: 'what the payer gets of a refund is credited with the returned fee',
    file: LEDGER,
    text: 'then f.returned_value + f.returned_fee_value else 0 end',
    broken: 'then f.returned_value else 0 end',
    test: refunding('returns the fee only where that is asked for, in proportion')
  },
  {
    guard: "a client's payment refunds no more than is left as it is persisted",
    file: PERSIST,
    text: '${CAN_TAKE} and ${canRefund({',
    broken: '${CAN_TAKE} or ${canRefund({',
    test: PERSISTING
  },
  {
    guard: "a client's payment counts as a refund from the statement on that persists it",
    file: PERSIST,
    text: '${refundedByPayment}, ${refundCounted},',
    broken: '${refundedByPayment},',
    test: PERSISTING
  },
  {
    guard: 'a payment is refunded only from the wallet address that received it',
    file: REFUND_OF,
    text: 'found.receiverWalletAddressId !== payment.walletAddress.id',
    broken: 'found.receiverWalletAddressId === undefined',
    test: refunding('from another wallet address is refused with the field, and spends nothing')
  },
  {
    guard: 'a payment is refunded only to the wallet address that paid it',
    file: REFUND_OF,
    text: 'found.returnedToWalletAddressId !== found.payerWalletAddressId',
    broken: 'found.returnedToWalletAddressId === undefined',
    test: refunding('to another wallet address is refused with the field, and spends nothing')
  },
  {
    guard: 'the end of a payment ends the refund that it makes',
    file: PROCESS,
    text: 'if (batch.refundEndings.length > 0)',
    broken: 'if (batch.refundEndings.length > 1_000)',
    test: GIVING_BACK
  },
  {
    guard: 'a refund by payment takes what that payment debited without its fee',
    file: BATCH,
    text: 'const settledValue = settlement.settledDebitValue - settlement.settledFeeValue',
    broken: 'const settledValue = settlement.settledDebitValue === 0n ? 0n : value',
    test: GIVING_BACK
  },
  {
    guard: 'a refund ends once',
    file: END,
    text: "where f.id = e.id and f.id = any (array(select id from ending)) and f.state = 'pending'",
    broken: 'where f.id = e.id and f.id = any (array(select id from ending))',
    test: refunding('an ended refund is not ended again, and nothing of such a batch is kept')
  },
  {
    guard: 'the audit finds refunds above what was delivered',
    file: AUDIT,
    text: 'or coalesce(f.taken, 0) > p.settled_receive_value',
    broken: 'or coalesce(f.taken, 0) > p.settled_receive_value * 2',
    test: refunding('a refund above what was delivered')
  },
  {
    guard: 'the audit finds a refund that its payment does not count',
    file: AUDIT,
    text: 'where (p.refunded_value, p.provider_refunded_value) <> (coalesce(f.taken, 0), coalesce(f.taken_by_provider, 0))',
    broken:
      'where (p.refunded_value, p.provider_refunded_value) <> (p.refunded_value, p.provider_refunded_value)',
    test: refunding('a refund that its payment does not count')
  },
  {
    guard: 'the audit finds a refund whose money did not move, and money without a refund',
    file: AUDIT,
    text: "full join (select * from transfer where kind in ('refund', 'refund_conversion', 'refund_fee')) t",
    broken: "join (select * from transfer where kind in ('refund', 'refund_conversion', 'refund_fee')) t",
    test: refunding('a refund without its transfer')
  },
  {
    guard: 'the audit finds a refund at another rate',
    file: AUDIT,
    text: "is distinct from ('completed', value, before, due, fee_due) as rate_differs",
    broken: "is distinct from ('completed', value, before, returned_value, fee_due) as rate_differs",
    test: refunding('a refund at another rate')
  },
  {
    guard: 'the audit finds a refund by payment that differs from that payment',
    file: AUDIT,
    text: 'and (settled_value, returned_value) is distinct from (making_net, making_returned)',
    broken: 'and (settled_value, returned_value) is distinct from (settled_value, making_returned)',
    test: refunding('a refund by a payment whose amounts differ from that payment')
  }
]
