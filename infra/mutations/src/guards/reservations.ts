import type { Mutation, TestReference } from '../mutation.js'

const RESERVE = 'services/auth-server/src/features/reserve-limits/repository.ts'
const RESERVE_SERVICE = 'services/auth-server/src/features/reserve-limits/service.ts'
const SETTLE = 'services/auth-server/src/features/settle-reservation/repository.ts'
const RELEASE = 'services/auth-server/src/features/release-reservation/repository.ts'
const RESERVE_MANY = 'services/auth-server/src/features/reserve-limits/many-repository.ts'
const END_MANY = 'services/auth-server/src/features/end-reservations/repository.ts'
const INTERVALS = 'packages/intervals/src/repeating-interval.ts'

const reserving = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/reserve-limits/reserve.test.ts',
  title
})
const settling = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/settle-reservation/settle.test.ts',
  title
})
const releasing = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/release-reservation/release.test.ts',
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

/** What keeps reservations within the limits of their grant, and gives each one effect. */
export const RESERVATION_GUARDS: readonly Mutation[] = [
  {
    guard: 'a payment id that is recorded takes no room, and does not even wait for it',
    file: RESERVE,
    text: `
       and not exists (select 1 from reservation where payment_id = $1)
    on conflict`,
    broken: `
    on conflict`,
    test: reserving('is answered without waiting for the window, whether it was reserved or refused')
  },
  {
    guard: 'the first payment of an interval is within the debit limit',
    file: RESERVE,
    text: 'where $7 <= coalesce(a.limit_debit_value, ${UINT64})',
    broken: 'where true',
    test: reserving('holds both limits when both are given')
  },
  {
    guard: 'the first payment of an interval is within the receive limit',
    file: RESERVE,
    text: 'and $10 <= coalesce(a.limit_receive_value, ${UINT64})',
    broken: '',
    test: reserving('holds both limits when both are given')
  },
  {
    guard: 'every further payment is within the debit limit',
    file: RESERVE,
    text: 'and w.debited + excluded.debited <= coalesce(w.debit_cap, ${UINT64})',
    broken: '',
    test: reserving(
      'takes room until a payment would go over the debit limit, and tells what is spent each time'
    )
  },
  {
    guard: 'every further payment is within the receive limit',
    file: RESERVE,
    text: 'or w.received + excluded.received <= coalesce(w.receive_cap, ${UINT64})',
    broken: 'or true',
    test: reserving('takes room until a payment would go over the receive limit')
  },
  {
    guard: 'a window counts one debit asset',
    file: RESERVE,
    text: 'where w.debit_code = excluded.debit_code and w.debit_scale = excluded.debit_scale',
    broken: 'where true',
    test: reserving('never adds up two debit assets: the second one gets no room')
  },
  {
    guard: 'a window counts as received what is in its asset',
    file: RESERVE,
    text: 'when w.receive_code = excluded.receive_code and w.receive_scale = excluded.receive_scale',
    broken: 'when true',
    test: reserving('counts all of them as debited, and tells each one what its own asset received')
  },
  {
    guard: 'a token that was rotated or revoked reserves nothing, though it is known from before',
    file: RESERVE,
    text: 'where t.value_hash = $2 and t.ended_at is null and',
    broken: 'where t.value_hash = $2 and',
    test: reserving('refuses a token that was rotated or revoked, though it is known from before')
  },
  {
    guard: 'a token that expired reserves nothing',
    file: RESERVE,
    text: 't.expires_at > $3',
    broken: '$3::timestamptz is not null',
    test: reserving('refuses a token from the instant it expires')
  },
  {
    guard: 'a token of a grant that is over reserves nothing',
    file: RESERVE,
    text: "and g.state = 'issued'`",
    broken: '`',
    test: reserving('refuses a token whose grant is over')
  },
  {
    guard: 'a reservation that fails on the one recorded meanwhile is answered as that one is',
    file: RESERVE,
    text: "if (isUniqueViolation(error, 'reservation_pkey')) return",
    broken: "if (isUniqueViolation(error, 'no_constraint')) return",
    test: racing(
      'waits neither way: the barrier that comes while the reservation is being written finds it, or stops it'
    )
  },
  {
    guard: 'what was refused once is refused for ever',
    file: RESERVE,
    text: "select $1, 'refused', $4,",
    broken: "select gen_random_uuid(), 'refused', $4,",
    test: reserving('refuses again what was refused, though there is room by now')
  },
  {
    guard: 'one payment id means one content',
    file: RESERVE_SERVICE,
    text: '!recorded.contentHash.equals(asked.request.contentHash)',
    broken: 'false',
    test: reserving('is ALREADY_EXISTS for any other request, and changes nothing')
  },
  {
    guard: 'what was released is never answered as reserved',
    file: RESERVE_SERVICE,
    text: "if (state === 'released') return",
    broken: "if (state === 'released' && window === undefined) return",
    test: reserving('is refused as released once it was released, whether it was reserved before or not')
  },
  {
    guard: 'nothing is settled with more than it held',
    file: SETTLE,
    text: "state = 'open' and $2::numeric <= debit and $3::numeric <= receive as fits",
    broken: "state = 'open' as fits",
    test: settling('refuses more than was reserved, naming which, and changes nothing')
  },
  {
    guard: 'what a payment did not use is given back to its window',
    file: SETTLE,
    text: 'set debited = w.debited - e.unspent_debit, received = w.received - e.unspent_receive',
    broken: 'set debited = w.debited, received = w.received',
    test: settling('gives back what the payment did not use')
  },
  {
    guard: 'only what was counted as received is given back',
    file: SETTLE,
    text: 'case when r.receive_counted then r.receive - $3::numeric else 0 end',
    broken: 'r.receive - $3::numeric',
    test: settling('leaves what other assets received alone')
  },
  {
    guard: 'a settlement finds its reservation still open when it has waited for the window',
    file: SETTLE,
    text: "where r.payment_id = $1 and r.state::text = 'open' and t.fits",
    broken: 'where r.payment_id = $1 and t.fits',
    test: racing('have the effect of one: two different settlements')
  },
  {
    guard: 'a release finds its reservation still open when it has waited for the window',
    file: RELEASE,
    text: "where r.payment_id = $1 and r.state::text = 'open'",
    broken: 'where r.payment_id = $1',
    test: racing('have the effect of one: a release twice')
  },
  {
    guard: 'a settled reservation is not released',
    file: RELEASE,
    text: `
     where t.state = 'open'
       for update of w),
  ended as (
    update reservation r
       set state = 'released', ended_at = now()
      from locked
     where r.payment_id = $1 and r.state::text = 'open'`,
    broken: `
       for update of w),
  ended as (
    update reservation r
       set state = 'released', settled_debit = null, settled_receive = null, ended_at = now()
      from locked
     where r.payment_id = $1`,
    test: releasing('is FAILED_PRECONDITION for a payment that was settled, and changes nothing')
  },
  {
    guard: 'a payment id that was released before it was reserved never is reserved',
    file: RELEASE,
    text: "select $1, 'released', now() where not exists (select 1 from target)",
    broken: "select gen_random_uuid(), 'released', now() where not exists (select 1 from target)",
    test: releasing('bars a payment id that was never reserved, for good')
  },
  {
    guard: 'the first payments of an interval are within the debit limit together',
    file: RESERVE_MANY,
    text: `having sum(debit) <= coalesce(limit_debit_value, \${UINT64})
       and`,
    broken: 'having',
    test: together('are taken in their order while there is room, those without any not hindering the others')
  },
  {
    guard: 'further payments are within the debit limit together, too',
    file: RESERVE_MANY,
    text: 'and w.debited + excluded.debited <= coalesce(w.debit_cap, ${UINT64})',
    broken: '',
    test: together('are taken in their order while there is room, those without any not hindering the others')
  },
  {
    guard: 'payments in several receive assets are never added up',
    file: RESERVE_MANY,
    text: '!mixed.has(keyOf(window))',
    broken: 'true',
    test: together('in several receive assets are each told what its own asset received')
  },
  {
    guard: 'many reservations lock their windows in one order',
    file: RESERVE_MANY,
    text: `
     order by access_item_id, interval_index
    on conflict`,
    broken: `
    on conflict`,
    test: together('is that of its windows, to reserve')
  },
  {
    guard: 'many ends find their reservations still open when they have waited for them',
    file: END_MANY,
    text: "where r.state::text = 'open' and locked.windows >= 0",
    broken: 'where locked.windows >= 0',
    test: together('to end the same payments otherwise end each of them once')
  },
  {
    guard: 'many ends lock all their windows before their reservations',
    file: END_MANY,
    text: "cross join (select count(*) as windows from locked_window) as locked\n     where r.state::text = 'open' and locked.windows >= 0",
    broken: "where r.state::text = 'open'",
    test: together('is that of its windows, and then that of its payments, to end')
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
    guard: 'there are as many intervals as the count says',
    file: INTERVALS,
    text: 'return index >= 0 && index < count',
    broken: 'return index >= 0 && index <= count',
    test: {
      file: 'packages/intervals/src/repeating-interval.test.ts',
      title: 'are exactly as many as the count says'
    }
  }
]
