import type { Mutation, TestReference } from '../mutation.js'

const PERSIST = 'services/resource-server/src/features/create-outgoing-payment/persist.ts'
const ROOM = 'services/resource-server/src/modules/incoming-payments/room.ts'
const HOLD = 'services/resource-server/src/modules/ledger/hold.ts'
const OPENED = 'services/resource-server/src/modules/grant-outcomes/outcome.ts'
const TWIN = 'services/resource-server/src/modules/outgoing-payments/twin.ts'
const QUOTES = 'services/resource-server/src/modules/quotes/read.ts'
const CREATE = 'services/resource-server/src/features/create-outgoing-payment/create-outgoing-payment.ts'
const REMEMBERED = 'services/resource-server/src/modules/quotes/read.ts'
const IDEMPOTENCY = 'services/resource-server/src/domain/idempotency.ts'
const SWEEP = 'services/resource-server/src/modules/grant-outcomes/sweep.ts'
const TIMELINE = 'services/resource-server/src/modules/timeline/timeline.ts'
const DELIVER = 'services/resource-server/src/modules/grant-outcomes/deliver.ts'

const LISTED_TOGETHER: TestReference = {
  file: 'services/resource-server/test/lists-together.test.ts',
  title:
    'pages that are asked for at the same time are read with one statement for each kind, each as if alone'
}

const creating = (title: string): TestReference => ({
  file: 'services/resource-server/test/outgoing-payments.test.ts',
  title
})
const replaying = (title: string): TestReference => ({
  file: 'services/resource-server/test/outgoing-payment-replays.test.ts',
  title
})
const ending = (title: string): TestReference => ({
  file: 'services/resource-server/test/reservation-outcomes.test.ts',
  title
})
const receiving = (title: string): TestReference => ({
  file: 'services/resource-server/test/incoming-payments.test.ts',
  title
})
const claiming = (title: string): TestReference => ({
  file: 'services/resource-server/test/outcome-claims.test.ts',
  title
})

const together: TestReference = {
  file: 'services/resource-server/test/persist-together.test.ts',
  title: 'are as if they were persisted one by one'
}

/** A payment is created once and only where it may be, and its outcome reaches the auth server. */
export const PAYMENT_GUARDS: readonly Mutation[] = [
  {
    guard: 'no payment is persisted that was charged long ago',
    file: CREATE,
    text: 'if (!isStaleCharge(chargedAtMs, context.clock.now())) return',
    broken: 'if (chargedAtMs > 0) return',
    test: replaying('is charged anew where a long outage left its reservation behind')
  },
  {
    guard: 'no payment is created to a completed receiver',
    file: ROOM,
    text: 'not ${payment}.completed and ${payment}.expires_at > ${now}',
    broken: '${payment}.expires_at > ${now}',
    test: creating('refuses a receiver that is completed with 400 `invalid receiver`, known before or not')
  },
  {
    guard: 'no payment is created to an expired receiver',
    file: ROOM,
    text: 'not ${payment}.completed and ${payment}.expires_at > ${now}',
    broken: 'not ${payment}.completed and ${now} is not null',
    test: creating('refuses a receiver that is expired with 400 `invalid receiver`, known before or not')
  },
  {
    guard: 'no payment is created that its receiver has no room for',
    file: ROOM,
    text: 'and i.received_value + ${value} <= coalesce(i.incoming_value, ${LARGEST})',
    broken: 'and ${value} <= ${LARGEST}',
    test: creating('refuses more than the receiver can take with 400 `invalid receiver`')
  },
  {
    guard: 'no payment is created under an id that was given up',
    file: OPENED,
    text: 'select id, quote_id, fee_value, charged_at, held from placed join wanted using (id) order by id',
    broken:
      'select id, quote_id, fee_value, charged_at, held from placed join wanted using (id) order by id on conflict do nothing',
    test: ending('whose request was only slow: the tombstone wins, 503, and nothing is paid')
  },
  {
    guard: 'the statement that cannot persist a payment releases its reservation',
    file: OPENED,
    text: 'from wanted where not payable order by id',
    broken: 'from wanted where not payable and false order by id',
    test: creating('refuses a receiver that is completed with 400 `invalid receiver`, known before or not')
  },
  {
    guard: "a hold is placed only on the payer's account",
    file: HOLD,
    text: ' and counted.with_smaller <= sender.available',
    broken: '',
    test: {
      file: 'services/resource-server/test/process-outgoing-payments.test.ts',
      title: 'is created, fails with nothing sent, and is given back to the grant'
    }
  },
  {
    guard: 'no payment of a batch is created to a completed receiver',
    file: ROOM,
    text: 'not ${payment}.completed and ${payment}.expires_at > ${now}',
    broken: '${payment}.expires_at > ${now}',
    test: together
  },
  {
    guard: 'no payment of a batch is created that its receiver has no room for',
    file: ROOM,
    text: 'and i.received_value + ${value} <= coalesce(i.incoming_value, ${LARGEST})',
    broken: 'and ${value} <= ${LARGEST}',
    test: together
  },
  {
    guard: 'no payment of a batch is created under an id that was given up',
    file: OPENED,
    text: 'select id, quote_id, fee_value, charged_at, held from placed join wanted using (id) order by id',
    broken:
      'select id, quote_id, fee_value, charged_at, held from placed join wanted using (id) order by id on conflict do nothing',
    test: together
  },
  {
    guard: 'the payments of a batch never hold more than the balance',
    file: HOLD,
    text: ' and counted.with_smaller <= sender.available',
    broken: ' and counted.debit_value <= sender.available',
    test: together
  },
  {
    guard: 'a request that occurs twice in a batch is one payment',
    file: PERSIST,
    text: 'firstOfId.get(payment.id) === payment ? rowOfId.get(payment.id) : undefined',
    broken: 'rowOfId.get(payment.id)',
    test: together
  },
  {
    guard: 'a payment id whose reservation is uncertain is given up',
    file: TWIN,
    text: 'return (await GIVE_UP.rows(on, { ids: [id], signatureId, cause: snakeCase(cause) })).length === 1',
    broken: 'return Promise.resolve([on, id, signatureId, cause].length === 4)',
    test: ending('never reached the auth server: 503, and it never will be reserved')
  },
  {
    guard: 'a payment id whose payment is uncertain is given up',
    file: CREATE,
    text: `
    await giveUp(payment.id, cause, identity, context)`,
    broken: '',
    test: {
      file: 'services/resource-server/test/truthful-answers.test.ts',
      title: 'is answered as it comes out when its statement still runs, for 1024 ms more'
    }
  },
  {
    guard: 'a payment that lost its quote to another releases its reservation',
    file: CREATE,
    text: `
      await giveUp(paymentId, causeOf(reserved, 'id-taken'), identity, context)
      throw (await isQuoteUsed`,
    broken: `
      throw (await isQuoteUsed`,
    test: creating('answers 400 `invalid quote`, and the grant has spent nothing for it')
  },
  {
    guard: 'a used quote is reported as used, even if the grant has no room left',
    file: CREATE,
    text: '(await isQuoteUsed(request.terms, context)) ? invalidQuote() : refusal(reason, reservation)',
    broken: 'refusal(reason, reservation)',
    test: creating('answers the same where the grant has no room for it, either')
  },
  {
    guard: 'a quote is paid only by its client and from its wallet address',
    file: QUOTES,
    text: 'isOwnedBy(quote, owner) ? quote : undefined',
    broken: 'quote',
    test: creating(
      'cannot be paid by another client, nor from another wallet address, which leaves it to be paid'
    )
  },
  {
    guard: 'a cached quote is returned only to its owner',
    file: REMEMBERED,
    text: 'if (quote === undefined || !isOwnedBy(quote, owner)) return undefined',
    broken: 'if (quote === undefined) return undefined',
    test: creating(
      'cannot be paid by another client, nor from another wallet address, which leaves it to be paid'
    )
  },
  {
    guard: 'a cached quote is used once',
    file: REMEMBERED,
    text: `
      remembered.delete(id)`,
    broken: '',
    test: creating(
      'looks one up that was created here only when it is asked for again, and any other one each time'
    )
  },
  {
    guard: 'the id of an existing payment is never given up',
    file: SWEEP,
    text: 'on conflict do nothing returning payment_id\n  )',
    broken: "on conflict (payment_id) do update set outcome = 'release' returning payment_id\n  )",
    test: ending('of a payment that is just being processed is left alone')
  },
  {
    guard: 'a reservation without a payment is given up',
    file: SWEEP,
    text: 'from given where not is_before_change order by given.id',
    broken: 'from given where false order by given.id',
    test: ending('left behind by a process that died is swept and released')
  },
  {
    guard: 'a reservation from before a failover is left to an operator',
    file: SWEEP,
    text: 'from given where not is_before_change order by given.id',
    broken: 'from given order by given.id',
    test: {
      file: 'services/resource-server/test/sweep-orphans.test.ts',
      title: 'keeps unknown reservations from before the change for an operator'
    }
  },
  {
    guard: 'reservations are not given up on a timeline that has not been recorded',
    file: TIMELINE,
    text: "then 'infinity'",
    broken: "then '-infinity'",
    test: {
      file: 'services/resource-server/test/sweep-orphans.test.ts',
      title: 'nothing is given up by whoever did not meet the new one yet'
    }
  },
  {
    guard: 'a restored dump is not taken for the database that was dumped',
    file: 'packages/database/src/timeline.ts',
    text: "${rawSql(`'${table}'::regclass::oid::bigint`)} as table_oid",
    broken: '0::bigint as table_oid',
    test: {
      file: 'services/resource-server/test/lost-sendings.test.ts',
      title: 'waits in a dump that is restored to the same cluster, whose timeline is the same'
    }
  },
  {
    guard: 'an operator can give up only lost payments',
    file: 'services/resource-server/src/features/audit-money/lost-payments.ts',
    text: '    reservation.createdAtMs < lossBoundMs',
    broken: '    lossBoundMs > 0',
    test: {
      file: 'services/resource-server/test/lost-payments.test.ts',
      title: 'is refused for what was reserved since, and for what is known'
    }
  },
  {
    guard: 'both services record when a payment was charged, which decides its interval',
    file: 'services/resource-server/src/features/audit-money/reservation-checks.ts',
    text: "'time of charge': [describeInstant(payment.chargedAtMs), describeInstant(reservation.chargedAtMs)]",
    broken: "'time of charge': [describeInstant(0), describeInstant(0)]",
    test: {
      file: 'services/resource-server/test/audit.test.ts',
      title: 'finds a reservation that was moved to another interval with its instant and its window'
    }
  },
  {
    guard: 'a repeated payment request must have the same content',
    file: CREATE,
    text: 'found.requestHash.equals(identity.requestHash)',
    broken: 'true',
    test: replaying('with other metadata answers 422, and pays nothing')
  },
  {
    guard: 'an idempotency key stays bound to its body after its first payment id was given up',
    file: CREATE,
    text: "if (by === 'mismatch') return differentRequest()",
    broken: "if (by === 'mismatch' && !(await isTaken(database, paymentId))) return differentRequest()",
    test: {
      file: 'services/resource-server/test/outgoing-payment-replays.test.ts',
      title:
        'stays bound to its body after 503: another is 422, before and after the release, and the first still pays'
    }
  },
  {
    guard: 'a second key of one signed request stands for its payment',
    file: 'services/resource-server/src/modules/grant-outcomes/give-up.ts',
    text: 'select stands_for from grant_reservation where payment_id = any(${ids}) and stands_for is not null)',
    broken: 'select stands_for from grant_reservation where false)',
    test: {
      file: 'services/resource-server/test/outgoing-payment-replays.test.ts',
      title: 'is one payment for all of them, also when a later one is signed anew'
    }
  },
  {
    guard: 'a repeated idempotency key must come under the same grant',
    file: IDEMPOTENCY,
    text: 'sha256(`${grantId}\\n`, ...content)',
    broken: 'sha256(`${typeof grantId}\\n`, ...content)',
    test: {
      file: 'services/resource-server/test/incoming-payments.test.ts',
      title: 'answers 422 for the same key under another grant'
    }
  },
  {
    guard: 'a repeated idempotency key must have the same content',
    file: IDEMPOTENCY,
    text: '(found.requestHash !== null && identity.requestHash.equals(found.requestHash))',
    broken: 'found.requestHash !== null',
    test: receiving('answers 422 for the same key with another body')
  },
  {
    guard: 'an incoming payment is completed once',
    file: ROOM,
    text: 'not ${payment}.completed and ${payment}.expires_at > ${now}',
    broken: '${payment}.expires_at > ${now}',
    test: receiving('lets exactly one of many at once succeed')
  },
  {
    guard: 'an expired incoming payment is not completed',
    file: ROOM,
    text: 'not ${payment}.completed and ${payment}.expires_at > ${now}',
    broken: 'not ${payment}.completed and ${now} is not null',
    test: receiving('answers 409 when it has expired, and leaves it as it is')
  },
  {
    guard: 'a delivered outcome is not delivered again',
    file: DELIVER,
    text: 'where outcome is not null and delivered_at is null and next_attempt_at <= now()',
    broken: 'where outcome is not null and next_attempt_at <= now()',
    test: claiming('is never claimed again once it was delivered')
  },
  {
    guard: 'a pending payment has no outcome to deliver',
    file: DELIVER,
    text: 'where outcome is not null and delivered_at is null and next_attempt_at <= now()',
    broken: 'where delivered_at is null and next_attempt_at <= now()',
    test: claiming('is not there while the payment is pending')
  },
  {
    guard: 'an outcome waits for its time',
    file: DELIVER,
    text: 'where outcome is not null and delivered_at is null and next_attempt_at <= now()',
    broken: 'where outcome is not null and delivered_at is null',
    test: claiming('is claimed again as soon as a failed delivery has paused')
  },
  {
    guard: 'a claimed outcome stays with its claimant',
    file: DELIVER,
    text: "next_attempt_at = now() + ${placeholder('leaseMs')}::integer * interval '1 millisecond'",
    broken: "next_attempt_at = r.next_attempt_at + ${placeholder('leaseMs')}::integer * interval '0'",
    test: claiming('is claimed by one of several that ask, until its lease is over')
  },
  {
    guard: 'concurrent claims of outcomes do not wait for each other',
    file: DELIVER,
    text: 'for no key update skip locked',
    broken: 'for no key update',
    test: claiming('is passed over, and not waited for, while another is claiming it')
  },
  {
    guard: 'a page that shares a statement with others has its own payments',
    file: 'packages/database/src/keyset.ts',
    text: 'found.get(place)',
    broken: 'found.get(0)',
    test: LISTED_TOGETHER
  },
  {
    guard: 'a list of what a client created has nothing of other clients',
    file: 'packages/database/src/keyset.ts',
    text: 'sql`p.${name} = asked.${name}`',
    broken: 'sql`p.wallet_address_id = asked.wallet_address_id`',
    test: LISTED_TOGETHER
  }
]
