import type { Mutation, TestReference } from '../mutation.js'

const SETTLEMENT = 'services/resource-server/src/domain/settlement.ts'
const BATCH = 'services/resource-server/src/features/process-outgoing-payments/settle-batch.ts'
const WRITE = 'services/resource-server/src/features/process-outgoing-payments/process-batch.ts'
const ENDED = 'services/resource-server/src/modules/outgoing-payments/process.ts'
const DETERMINED = 'services/resource-server/src/modules/grant-outcomes/outcome.ts'
const POST = 'services/resource-server/src/modules/ledger/post.ts'
const MONEY = 'services/resource-server/src/modules/ledger/move.ts'
const RECEIVER = 'services/resource-server/src/domain/receiver.ts'
const RATE = 'packages/value-types/src/amounts/rate.ts'
const QUOTED = 'packages/value-types/src/amounts/quoted-amounts.ts'
const ACTS = 'packages/service-kit/src/operators/acts/acts.ts'
const AUDIT = 'services/auth-server/src/features/audit-limits/audit-limits.ts'

const RATE_SERVICE = 'services/resource-server/src/features/exchange-rates/rate-service.ts'

const servingRates = (title: string): TestReference => ({
  file: 'services/resource-server/src/features/exchange-rates/rate-service.test.ts',
  title
})
const settling = (title: string): TestReference => ({
  file: 'services/resource-server/src/domain/settlement.test.ts',
  title
})
const batching = (title: string): TestReference => ({
  file: 'services/resource-server/src/features/process-outgoing-payments/settle-batch.test.ts',
  title
})
const writing = (title: string): TestReference => ({
  file: 'services/resource-server/test/settle-write.test.ts',
  title
})
const converting = (title: string): TestReference => ({
  file: 'packages/value-types/src/amounts/rate.test.ts',
  title
})

const exchanging = (title: string): TestReference => ({
  file: 'services/resource-server/test/payments-between-currencies.test.ts',
  title
})

/** Money never appears, disappears or goes to the wrong account. */
export const LEDGER_GUARDS: readonly Mutation[] = [
  {
    guard: 'nothing is settled at an exchange rate that ended long ago',
    file: BATCH,
    text: 'settleUntilMs !== undefined && settleUntilMs <= nowMs',
    broken: 'settleUntilMs !== undefined && settleUntilMs <= 0',
    test: exchanging('is not paid at a rate that ended long ago')
  },
  {
    guard: 'a payment that waits for nobody is paid although this provider delayed it for minutes',
    file: ENDED,
    text: "${PAID_AFTER_TERMS_MAX_MS} * interval '1 millisecond'",
    broken: "0 * interval '1 millisecond'",
    test: exchanging('is paid although this provider delayed it for minutes')
  },
  {
    guard: 'a completed receiver gets nothing',
    file: SETTLEMENT,
    text: "if (receiver.completed) return nothingSent('receiver_completed')",
    broken: '',
    test: settling(
      'sends nothing to a receiver that is missing, completed, expired or full, nor without the money'
    )
  },
  {
    guard: 'an expired receiver gets nothing',
    file: SETTLEMENT,
    text: "if (receiver.expired) return nothingSent('receiver_expired')",
    broken: '',
    test: settling(
      'sends nothing to a receiver that is missing, completed, expired or full, nor without the money'
    )
  },
  {
    guard: 'a receiver gets no more than it has room for',
    file: SETTLEMENT,
    text: 'receiver.room < coveredPart ? receiver.room : coveredPart',
    broken: 'coveredPart',
    test: settling('never gives the receiver more than fits, nor takes more than was agreed, at any amounts')
  },
  {
    guard: 'a failed payment has not sent its whole debit',
    file: SETTLEMENT,
    text: '((debitValue - 1n) * receiveValue) / debitValue',
    broken: 'receiveValue',
    test: settling('sends nothing rather than the whole debit for a part: a debit of one unit has no part')
  },
  {
    guard: 'what a receiver elsewhere has is charged for, also if that is the whole debit',
    file: SETTLEMENT,
    text: 'deliveredValue > largestPart(shared) ? receiveValue : deliveredValue',
    broken: 'deliveredValue',
    test: settling(
      'costs the whole debit, and completes it, where the share of what the receiver has is that, rounded up'
    )
  },
  {
    guard: 'the fixed part of the fee is paid whole where anything was delivered elsewhere',
    file: SETTLEMENT,
    text: 'settledDebitValue: settled.settledDebitValue + fixedFeeValue',
    broken: 'settledDebitValue: settled.settledDebitValue',
    test: settling(
      'costs the fixed part of the fee whole, however little was delivered, and its share of the rest'
    )
  },
  {
    guard: 'a payment without sufficient funds sends nothing',
    file: BATCH,
    text: 'if (!held) return insufficientFunds()',
    broken: 'if (!held && amounts.debitValue < 0n) return insufficientFunds()',
    test: batching('changes no account for a payment without a hold')
  },
  {
    guard: 'each payment of a batch reduces the room of the next',
    file: BATCH,
    text: 'receivedValue: receiver.receivedValue + value',
    broken: 'receivedValue: receiver.receivedValue + value * 0n',
    test: batching('lets what one payment delivers be gone from the room of the next')
  },
  {
    guard: 'nothing is delivered at the instant of expiry',
    file: RECEIVER,
    text: 'receiver.expiresAtMs <= nowMs',
    broken: 'receiver.expiresAtMs < nowMs',
    test: batching('takes nothing at the instant of expiry')
  },
  {
    guard: 'within one asset, clearing pays out what it received',
    file: BATCH,
    text: 'if (settledDebitValue !== settledFeeValue + settledReceiveValue)',
    broken: 'if (settledDebitValue < 0n)',
    test: batching('refuses amounts that do not add up in one asset, rather than lose or make money')
  },
  {
    guard: 'a payment that has ended is not ended again',
    file: ENDED,
    text: "p.id = any (array(select id from ending)) and p.state::text = 'pending'",
    broken: 'p.id = any (array(select id from ending))',
    test: writing('is not settled when it has ended meanwhile')
  },
  {
    guard: 'a recorded outcome never changes',
    file: DETERMINED,
    text: 'r.payment_id = any (array(select id from ending)) and r.outcome is null returning r.held',
    broken: 'r.payment_id = any (array(select id from ending)) returning r.held',
    test: writing('is not settled when its outcome is recorded already')
  },
  {
    guard: 'a hold that has ended is not ended again',
    file: POST,
    text: "t.id = any (array(select id from ending)) and t.state = 'pending' returning 1",
    broken: 't.id = any (array(select id from ending)) returning 1',
    test: writing('is not settled when its hold has ended already')
  },
  {
    guard: 'a batch that changes another number of rows than it must changes none',
    file: WRITE,
    text: 'where changed <> wanted`',
    broken: 'where false`',
    test: {
      file: 'services/resource-server/test/settle-together.test.ts',
      title: 'is not written, without a transaction either: reservations'
    }
  },
  {
    guard: 'a deposit id is used once',
    file: MONEY,
    text: 'on conflict (id) do nothing\n    returning credit_account_id',
    broken: 'on conflict (id) do update set id = excluded.id\n    returning credit_account_id',
    test: {
      file: 'services/resource-server/test/operator.test.ts',
      title: 'is brought in and taken out once for each id'
    }
  },
  {
    guard: 'a withdrawal never exceeds the available balance',
    file: MONEY,
    text: 'where name = ${NAME} and ${AVAILABLE} >= ${VALUE}',
    broken: 'where name = ${NAME}',
    test: {
      file: 'services/resource-server/test/operator.test.ts',
      title: 'cannot be taken out that is not there, however many try'
    }
  },
  {
    guard: 'a quote never promises more than the debit covers',
    file: RATE,
    text: "return assertUint64((assertUint64(value, 'value') * multiplier) / divisor, 'value')",
    broken:
      "return assertUint64(divideRoundedUp(assertUint64(value, 'value') * multiplier, divisor), 'value')",
    test: converting('gives the maximum that the source covers')
  },
  {
    guard: 'a debit covers what the quote promises',
    file: RATE,
    text: 'return (dividend + divisor - 1n) / divisor',
    broken: 'return dividend / divisor',
    test: converting('needs the minimum that covers the target')
  },
  {
    guard: 'a partial delivery costs its share, rounded up',
    file: QUOTED,
    text: 'divideRoundedUp(quoted.debitValue * received, quoted.receiveValue)',
    broken: '(quoted.debitValue * received) / quoted.receiveValue',
    test: {
      file: 'packages/value-types/src/amounts/quoted-amounts.test.ts',
      title: 'keeps its share, rounded up'
    }
  },
  {
    guard: 'no request waits for a second connection while it has one',
    file: ACTS,
    text: 'await recordAction(transaction, { ...action, subject: seen.subject }, end)',
    broken: 'await recordAction(this.#options.database, { ...action, subject: seen.subject }, end)',
    test: {
      file: 'infra/prove/acceptance/test/pool.test.ts',
      title: '8 at once all end, none later than 5 s: Deposit'
    }
  },
  {
    guard: 'the audit finds a limit evaded by a window that counts another asset',
    file: AUDIT,
    text: 'or (w.receive_code, w.receive_scale) <> (a.limit_receive_code, a.limit_receive_scale)',
    broken: '',
    test: {
      file: 'services/auth-server/src/features/audit-limits/audit-limits.test.ts',
      title: 'finds a limit that is evaded because its window counts another asset'
    }
  },
  {
    guard: 'the audit finds a grant with the consent of another account holder',
    file: AUDIT,
    text: 'and i.wallet_address is distinct from a.identifier',
    broken: 'and false',
    test: {
      file: 'services/auth-server/src/features/audit-limits/audit-limits.test.ts',
      title: 'finds an interaction of another account holder'
    }
  },
  {
    guard: 'fetched rates that gain there and back are refused',
    file: RATE_SERVICE,
    text: 'const cycle = findGainfulCycle(rates, inUse)',
    broken: 'const cycle = findGainfulCycle(rates.slice(1), inUse)',
    test: servingRates('cannot be had now, either way, where going there and back gains, to the last digit')
  },
  {
    guard: 'fetched rates that gain in a cycle with rates in use are refused',
    file: RATE_SERVICE,
    text: 'findGainfulCycle(rates, inUse)',
    broken: 'findGainfulCycle(rates)',
    test: servingRates(
      'cannot be had now where going round over others in use gains, and no other is refused'
    )
  },
  {
    guard: 'the two directions of a rate are kept together',
    file: RATE_SERVICE,
    text: 'const pair = JSON.stringify(codes.toSorted())',
    broken: 'const pair = JSON.stringify(codes)',
    test: servingRates('is never used beside the other direction of another time')
  }
]
