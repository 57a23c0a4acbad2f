import type { Mutation, TestReference } from '../mutation.js'

const SOURCE = 'services/resource-server/src'
const BEGIN = `${SOURCE}/features/process-outgoing-payments/begin-sending.ts`
const BOUNDS = `${SOURCE}/modules/peers/bounds.ts`
const PRICE = `${SOURCE}/features/send-packets/price.ts`
const PACKETS = `${SOURCE}/modules/interledger/sent-packets.ts`
const SENDING = `${SOURCE}/modules/outgoing-payments/sending.ts`

const sending = (title: string): TestReference => ({
  file: 'services/resource-server/test/send-payments.test.ts',
  title
})

/** Payments to other providers: what is promised, what is sent, and what is owed for it. */
export const SENDING_GUARDS: readonly Mutation[] = [
  {
    guard: 'a process that another one has taken a payment from sends nothing more of it',
    file: SENDING,
    text: 'where s.payment_id = entry.payment_id and s.leased_by = entry.lease_id',
    broken: 'where s.payment_id = entry.payment_id and (s.leased_by = entry.lease_id or true)',
    test: sending('is sent no further by a process that another one has taken it from')
  },
  {
    guard: 'an attempt that another one has taken a payment from does not end it',
    file: SENDING,
    text: 'where s.payment_id = asked.payment_id and s.leased_by = asked.lease_id',
    broken: 'where s.payment_id = asked.payment_id and (s.leased_by = asked.lease_id or true)',
    test: sending('is not ended by an attempt that another one has taken it from')
  },
  {
    guard: 'a packet whose answer was lost is never sent again',
    file: PACKETS,
    text: "coalesce(sum(send_value) filter (where outcome = 'unknown'), 0)::text as unknown_sent_value",
    broken: '0::text as unknown_sent_value',
    test: sending('is never sent again, and its payment waits')
  },
  {
    guard: 'a packet that may still be answered is decided by nobody',
    file: PACKETS,
    text: "and expires_at < ${placeholder('before')}::timestamptz\n  )`",
    broken: "and expires_at < ${placeholder('before')}::timestamptz + interval '1 day'\n  )`",
    test: sending('is never sent again, and its payment waits')
  },
  {
    guard: 'the provider never owes a peer more than it may, with all that is being sent',
    file: BEGIN,
    text: 'if (room < sendMaxValue) {',
    broken: 'if (room < 0n) {',
    test: sending('waits while too much is owed to the peer already')
  },
  {
    guard: 'a payment to a peer that may not be owed any amount is begun within its limit alone',
    file: BOUNDS,
    text: 'select payee.payable_limit_value is null from peer payee',
    broken: 'select true from peer payee',
    test: sending('waits while too much is owed to the peer already')
  },
  {
    guard: 'a payment for which no money is held is not begun',
    file: SENDING,
    text: 'hold.id is not null and p.begin_until > ${NOW}',
    broken: 'p.begin_until > ${NOW}',
    test: sending('fails for want of money before anything is sent')
  },
  {
    guard: 'a payment whose terms no longer stand is not begun',
    file: BEGIN,
    text: 'if (beginUntilMs > nowMs) return undefined',
    broken: 'if (beginUntilMs > 0) return undefined',
    test: sending('is not begun any more when its terms no longer stand')
  },
  {
    guard: 'a payment that a freeze holds is not begun',
    file: SENDING,
    text: 'or not (freezing.holds or p.peer_id',
    broken: 'or not (p.peer_id',
    test: sending('is held by a freeze, and goes on afterwards')
  },
  {
    guard: 'a way that is much worse than our own rate gets no quote',
    file: PRICE,
    text: 'if (isLess(rate.high, least)) {',
    broken: 'if (isLess(rate.high, rate.low)) {',
    test: sending('is not quoted at a rate that is much worse than ours')
  },
  {
    guard: 'a receiver that receives another asset than its document says gets no quote',
    file: PRICE,
    text: 'if (asset !== undefined && !isSameAsset(asset, receiver.asset)) {',
    broken: 'if (asset !== undefined && asset.scale !== receiver.asset.scale) {',
    test: sending('one that receives another asset than it says gets no quote')
  },
  {
    guard: 'more than a receiver at another provider takes gets no quote',
    file: PRICE,
    text: 'if (amounts.receiveValue > remainingRoom(stateOf(receiver), nowMs)) {',
    broken: 'if (amounts.receiveValue < 0n) {',
    test: sending('more than a receiver takes gets no quote')
  }
]
