import type { Mutation, TestReference } from '../mutation.js'

const RESERVE = 'services/auth-server/src/modules/limits/reserve.ts'
const REFUSE = 'services/auth-server/src/modules/limits/refuse.ts'
const TOKENS = 'services/auth-server/src/modules/tokens/read.ts'
const RESERVE_SERVICE = 'services/auth-server/src/features/reserve-limits/reserve-limits.ts'
const END = 'services/auth-server/src/modules/limits/end.ts'
const ENDS = 'services/auth-server/src/domain/ends.ts'
const RESTORE = 'services/auth-server/src/modules/limits/restore.ts'
const WINDOWS = 'services/auth-server/src/modules/limits/windows.ts'
const RESTORE_SERVICE = 'services/auth-server/src/features/restore-reservations/restore-reservations.ts'
const INTERVALS = 'packages/value-types/src/intervals/repeating-interval.ts'

const reserving = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/reserve-limits/reserve.test.ts',
  title
})
const settling = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/end-reservations/settle.test.ts',
  title
})
const releasing = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/end-reservations/release.test.ts',
  title
})
const restoring = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/restore-reservations/restore.test.ts',
  title
})
const racing = (title: string): TestReference => ({
  file: 'services/auth-server/test/limit-races.test.ts',
  title
})

const together = (title: string): TestReference => ({
  file: 'services/auth-server/test/many-races.test.ts',
  title
})

/** Reservations stay within the limits of their grant, and each has one effect. */
export const RESERVATION_GUARDS: readonly Mutation[] = [
  {
    guard: 'a reservation that is recorded anew stays within the limit',
    file: RESTORE,
    text: '${GROWN_WINDOW}',
    broken:
      'on conflict (access_item_id, interval_index) do update set spent_debit_value = w.spent_debit_value + excluded.spent_debit_value',
    test: restoring('never counts beyond a limit')
  },
  {
    guard: 'only what was charged before a change of timeline is recorded anew',
    file: RESTORE_SERVICE,
    text: 'changedAtMs !== undefined && reservation.chargedAtMs < changedAtMs',
    broken: 'true',
    test: restoring('refuses what was charged since the database became what it is, which lost nothing')
  },
  {
    guard: 'a recorded payment id takes no room and does not wait for any',
    file: RESERVE,
    text: 'where not exists (select 1 from reservation r where r.payment_id = a.payment_id)',
    broken: 'where true',
    test: reserving('is answered without waiting for the window, whether it was reserved or refused')
  },
  {
    guard: 'the first payments of an interval are together within the debit limit',
    file: RESERVE,
    text: 'having sum(debit_value) <= coalesce(limit_debit_value, ${LARGEST_VALUE})\n       and',
    broken: 'having',
    test: together('that are the first of their interval are within the debit limit together')
  },
  {
    guard: 'the first payments of an interval are together within the receive limit',
    file: RESERVE,
    text: 'and sum(receive_value) <= coalesce(limit_receive_value, ${LARGEST_VALUE})',
    broken: '',
    test: together('that are the first of their interval are within the receive limit together')
  },
  {
    guard: 'later payments are together within the debit limit',
    file: WINDOWS,
    text: 'and w.spent_debit_value + excluded.spent_debit_value\n           <= coalesce(least(w.limit_debit_value, excluded.limit_debit_value), ${LARGEST_VALUE})',
    broken: '',
    test: together('are taken in their order while there is room, those without any not hindering the others')
  },
  {
    guard: 'a payment that waited for its window is checked against its current receive total',
    file: WINDOWS,
    text: 'then w.spent_receive_value + excluded.spent_receive_value\n                   <= coalesce(least(w.limit_receive_value, excluded.limit_receive_value), ${LARGEST_VALUE})',
    broken: 'then true',
    test: racing('finds the window as it is then: over the receive limit')
  },
  {
    guard: 'a window counts one debit asset',
    file: WINDOWS,
    text: 'where w.debit_code = excluded.debit_code and w.debit_scale = excluded.debit_scale',
    broken: 'where true',
    test: racing('finds the window as it is then: in another debit asset')
  },
  {
    guard: 'a window counts received amounts only in its asset',
    file: WINDOWS,
    text: 'case\n           when w.receive_code = excluded.receive_code and w.receive_scale = excluded.receive_scale',
    broken: 'case\n           when true',
    test: reserving('counts all of them as debited, and tells each one what its own asset received')
  },
  {
    guard: 'payments in another receive asset than that of their window are reserved alone',
    file: WINDOWS,
    text: 'else (select count(*) = 1 from wanted) end',
    broken: 'else true end',
    test: together('in several receive assets are each told what its own asset received')
  },
  {
    guard: 'payments in several receive assets are never added up',
    file: RESERVE,
    text: '!mixed.has(keyOf(window))',
    broken: 'true',
    test: together('in several receive assets are each told what its own asset received')
  },
  {
    guard: 'reservations lock their windows in one order',
    file: RESERVE,
    text: `
     order by access_item_id, interval_index
    \${GROWN_WINDOW}`,
    broken: `
    \${GROWN_WINDOW}`,
    test: together('is that of its windows, to reserve')
  },
  {
    guard: 'a rotated or revoked token reserves nothing, even if it is cached',
    file: TOKENS,
    text: ' and t.end_reason is null',
    broken: '',
    test: reserving('refuses a token that was rotated or revoked, though it is known from before')
  },
  {
    guard: 'an expired token reserves nothing',
    file: TOKENS,
    text: 't.expires_at > wanted.asked_at',
    broken: 'true',
    test: reserving('refuses a token from the instant it expires')
  },
  {
    guard: 'payments that share a statement are each decided at their own instant',
    file: RESERVE,
    text: 'join living using (token_hash, asked_at)',
    broken: 'join (select distinct token_hash, grant_id from living) as living using (token_hash)',
    test: reserving(
      'decides for each payment at its own instant, though another one shares the statement after the token expired'
    )
  },
  {
    guard: 'an inactive token is never recorded as a refusal',
    file: REFUSE,
    text: 'from wanted join living using (token_hash, asked_at)\n     where',
    broken: 'from wanted\n     where',
    test: reserving(
      'is reserved with the new token when it was refused because the one before had been rotated'
    )
  },
  {
    guard: 'a token of an ended grant reserves nothing',
    file: TOKENS,
    text: 'wanted.asked_at and ${IS_ISSUED} and',
    broken: 'wanted.asked_at and',
    test: reserving('refuses a token whose grant is over')
  },
  {
    guard: 'a reservation that loses to a concurrent one gets its result',
    file: RESERVE,
    text: "if (isUniqueViolation(error, 'reservation_pkey')) return",
    broken: "if (isUniqueViolation(error, 'no_constraint')) return",
    test: racing(
      'waits neither way: the barrier that comes while the reservation is being written finds it, or stops it'
    )
  },
  {
    guard: 'a refusal is final',
    file: REFUSE,
    text: "select payment_id, 'refused', content_hash,",
    broken: "select gen_random_uuid(), 'refused', content_hash,",
    test: reserving('refuses again what was refused, though there is room by now')
  },
  {
    guard: 'a repeated payment id must have the same content',
    file: RESERVE_SERVICE,
    text: '!recorded.contentHash.equals(asked.request.contentHash)',
    broken: 'false',
    test: reserving('is ALREADY_EXISTS for any other request, and changes nothing')
  },
  {
    guard: 'a released payment id stays bound to the request that reserved it',
    file: RESERVE_SERVICE,
    text: 'if (recorded.contentHash !== undefined &&',
    broken: "if (state !== 'released' && recorded.contentHash !== undefined &&",
    test: reserving(
      'is ALREADY_EXISTS for any other request after it was released, unless none had reserved it'
    )
  },
  {
    guard: 'a released payment is never reported as reserved',
    file: RESERVE_SERVICE,
    text: "if (state === 'released') return",
    broken: "if (state === 'released' && window === undefined) return",
    test: reserving('is refused as released once it was released, whether it was reserved before or not')
  },
  {
    guard: 'a refusal says what remains under a grant to an active token of it alone',
    file: RESERVE_SERVICE,
    text: 'if (!tokenActive) return NO_DETAILS',
    broken: '',
    test: reserving(
      'is said to nobody else: another request, an inactive token, a payment that no item allows'
    )
  },
  {
    guard: 'a settlement never exceeds its reservation',
    file: END,
    text: "r.state::text = 'open' and (a.settled_debit_value is null or a.settled_debit_value <= r.debit_value\n             and a.settled_receive_value <= r.receive_value) as fits",
    broken: "r.state::text = 'open' as fits",
    test: settling('refuses more than was reserved, naming which, and changes nothing')
  },
  {
    guard: "a payment's unused amount returns to its window",
    file: END,
    text: 'set spent_debit_value = w.spent_debit_value - e.unspent_debit_value,\n           spent_receive_value = w.spent_receive_value - e.unspent_receive_value',
    broken: 'set spent_debit_value = w.spent_debit_value, spent_receive_value = w.spent_receive_value',
    test: settling('gives back what the payment did not use')
  },
  {
    guard: 'only the amount counted as received returns to the window',
    file: END,
    text: 'case when r.receive_counted then r.receive_value - coalesce(l.settled_receive_value, 0) else 0 end',
    broken: 'r.receive_value - coalesce(l.settled_receive_value, 0)',
    test: settling('leaves what other assets received alone')
  },
  {
    guard: 'what was spent with a payment counts it as it was reserved, even if it has ended',
    file: 'services/auth-server/src/modules/limits/spent.ts',
    text: 'least(counted.spent_debit_value + returned.debit_value, ',
    broken: 'least(counted.spent_debit_value, ',
    test: reserving('adds up a payment as it was reserved, though it ended before it was added up')
  },
  {
    guard: 'an end checks its reservation again after waiting for the window',
    file: END,
    text: "(t.fits and r.state::text = 'open' or",
    broken: '(t.fits or',
    test: racing('have the effect of one: two different settlements')
  },
  {
    guard: 'ends lock all their windows before their reservations',
    file: END,
    text: `cross join (select count(*) as windows from locked_window) as locked
     where (t.fits and r.state::text = 'open' or t.is_noted and r.state::text = 'refused' and r.ended_at is null)
       and locked.windows >= 0`,
    broken: `where (t.fits and r.state::text = 'open' or t.is_noted and r.state::text = 'refused' and r.ended_at is null)`,
    test: together('is that of its windows, and then that of its payments, to end')
  },
  {
    guard: 'a settled reservation is not released',
    file: ENDS,
    text: "return 'was-settled'",
    broken: "return 'ended'",
    test: releasing('is FAILED_PRECONDITION for a payment that was settled, and changes nothing')
  },
  {
    guard: 'a payment id released before it is reserved is never reserved',
    file: END,
    text: "select payment_id, 'released', now()",
    broken: "select gen_random_uuid(), 'released', now()",
    test: releasing('bars a payment id that was never reserved, for good')
  },
  {
    guard: 'the release of a refusal is recorded',
    file: END,
    text: "r.state::text = 'refused' and r.ended_at is null and a.settled_debit_value is null as is_noted",
    broken: 'false as is_noted',
    test: releasing('leaves a refused payment refused, for the same reason')
  },
  {
    guard: 'an interval ends before the next one begins',
    file: INTERVALS,
    text: 'while (boundaryMs(interval, index + 1) <= instantMs)',
    broken: 'while (boundaryMs(interval, index + 1) < instantMs)',
    test: {
      file: 'services/auth-server/src/features/reserve-limits/interval.test.ts',
      title: 'hold anew in every interval: its start belongs to it, its end to the next'
    }
  },
  {
    guard: 'the number of intervals is the stated count',
    file: INTERVALS,
    text: 'return index >= 0 && index < count',
    broken: 'return index >= 0 && index <= count',
    test: {
      file: 'packages/value-types/src/intervals/repeating-interval.test.ts',
      title: 'number exactly the stated count'
    }
  }
]
