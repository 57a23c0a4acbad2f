import type { Mutation, TestReference } from '../mutation.js'

const SOURCE = 'services/resource-server/src'
const PROCESSING = `${SOURCE}/features/process-outgoing-payments`
const BEGIN = `${PROCESSING}/begin-sending.ts`
const SEND = `${PROCESSING}/send-payments.ts`
const JUDGE = `${PROCESSING}/judge-doubted.ts`
const BOUNDS = `${SOURCE}/modules/peers/bounds.ts`
const PRICE = `${SOURCE}/features/send-packets/price.ts`
const SENDING_ROOM = `${SOURCE}/modules/outgoing-payments/sending-room.ts`
const PATH_RATE = `${SOURCE}/features/send-packets/path-rate.ts`
const JOURNAL = `${SOURCE}/features/send-packets/journal.ts`
const CERTAIN = `${SOURCE}/features/send-packets/write-until-certain.ts`
const PACKETS = `${SOURCE}/modules/interledger/sent-packets.ts`
const SENDING = `${SOURCE}/modules/outgoing-payments/sending.ts`

const DOUBT = `${SOURCE}/modules/outgoing-payments/doubt.ts`
const STAND_INS = `${SOURCE}/modules/interledger/stand-ins.ts`
const SENDING_CHECKS = `${SOURCE}/features/audit-money/sending-checks.ts`
const LOST_SENDINGS = 'services/resource-server/test/lost-sendings.test.ts'

const sending = (title: string): TestReference => ({
  file: 'services/resource-server/test/send-payments.test.ts',
  title
})

const costing = (title: string): TestReference => ({
  file: 'services/resource-server/test/cost-of-sending.test.ts',
  title
})
const lost = (title: string): TestReference => ({
  file: LOST_SENDINGS,
  title: `${title} before it was looked what may be lost`
})
const throughFaults = (title: string): TestReference => ({
  file: 'services/resource-server/test/send-through-faults.test.ts',
  title: `are all known if the database ${title}`
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
    guard: 'a payment from before the database lost commits is not begun',
    file: SENDING,
    text: 'and not ${isBeforeChange(perhapsSentSince)}',
    broken: 'and (true or ${isBeforeChange(perhapsSentSince)})',
    test: lost('is not begun at once')
  },
  {
    guard: 'a payment that was lost with commits, and created anew, is not sent again',
    file: DOUBT,
    text: 'least(p.created_at, ${chargedAt(Prisma.sql`p.id`)})',
    broken: 'least(p.created_at, ${chargedAt(Prisma.sql`null::uuid`)})',
    test: {
      file: LOST_SENDINGS,
      title: 'is not sent twice if its request is repeated: all of it had arrived'
    }
  },
  {
    guard: 'an unknown packet stands for what may have been sent in its place before commits were lost',
    file: STAND_INS,
    text: 'set is_stand_in = true from doubtful',
    broken: 'set is_stand_in = k.is_stand_in from doubtful',
    test: {
      file: LOST_SENDINGS,
      title:
        'is sent as is decided, though a packet that was rejected is unknown again: a part of it had arrived in its place'
    }
  },
  {
    guard: 'a payment whose approval may be lost, with what was sent, is not declined',
    file: `${SOURCE}/modules/approvals/approval.ts`,
    text: 'deciding(Prisma.sql`${IS_IN_TIME} and not ${mayBeSent}`)',
    broken: 'deciding(Prisma.sql`${IS_IN_TIME} and (true or ${mayBeSent})`)',
    test: {
      file: LOST_SENDINGS,
      title: 'is not declined if it was approved and sent, which is lost: the time to decide is not over'
    }
  },
  {
    guard: 'a payment that is being sent since before the database lost commits is taken by nobody',
    file: SENDING,
    text: 'and not ${isBeforeChange(Prisma.sql`s.known_since`)}\n     order by',
    broken: 'and (true or ${isBeforeChange(Prisma.sql`s.known_since`)})\n     order by',
    test: lost('is taken by nobody')
  },
  {
    guard: 'whoever sends a payment since before the database lost commits sends nothing more of it',
    file: SENDING,
    text: 's.leased_by = entry.lease_id and not ${isBeforeChange(Prisma.sql`s.known_since`)}',
    broken: 's.leased_by = entry.lease_id and (true or ${isBeforeChange(Prisma.sql`s.known_since`)})',
    test: lost('is sent no further by who sends it')
  },
  {
    guard: 'whoever sends a payment since before the database lost commits does not end it',
    file: SENDING,
    text: 'and not ${isBeforeChange(Prisma.sql`s.known_since`)}\n    returning s.payment_id, asked.lease_id',
    broken:
      'and (true or ${isBeforeChange(Prisma.sql`s.known_since`)})\n    returning s.payment_id, asked.lease_id',
    test: lost('is not ended by who sends it')
  },
  {
    guard: 'nothing is sent of a doubted payment for which no money is held',
    file: SEND,
    text: 'if (!payment.isCovered) return',
    broken: 'if (!payment.isCovered && payment.isHeld) return',
    test: { file: LOST_SENDINGS, title: 'is not sent if no money is held for it' }
  },
  {
    guard: 'nobody is debited for a payment for which no money is held, whatever arrived of it',
    file: SEND,
    text: 'const settlement = payment.held\n',
    broken: 'const settlement = payment.held || true\n',
    test: {
      file: LOST_SENDINGS,
      title: 'is paid by nobody if a part of it arrived, and no money is held for it: the audit names it'
    }
  },
  {
    guard: 'nothing of a payment for which no money is held is told as sent',
    file: `${SOURCE}/features/operate-peers/unknown-packets.ts`,
    text: '${holdOf(Prisma.sql`delivered.payment_id`)} where hold.id is not null',
    broken: '${holdOf(Prisma.sql`delivered.payment_id`)} where true or hold.id is not null',
    test: {
      file: LOST_SENDINGS,
      title: 'is paid by nobody if a part of it arrived, and no money is held for it: the audit names it'
    }
  },
  {
    guard: 'nothing is sent of a payment that was told as ended, though its end is lost',
    file: JUDGE,
    text: "if (state !== 'open') {",
    broken: "if (state === 'refused') {",
    test: {
      file: LOST_SENDINGS,
      title:
        'is sent no further if its end was told, which is lost: its reservation is settled, and nothing had arrived'
    }
  },
  {
    guard: 'a doubted payment is not sent while it cannot be told whether it has ended',
    file: JUDGE,
    text: "if (state === undefined) return 'wait'",
    broken: "if (state === undefined) return 'send'",
    test: { file: LOST_SENDINGS, title: 'is not sent while the auth server cannot be reached' }
  },
  {
    guard: 'a doubted payment that may not have begun takes no room that its peer does not have',
    file: JUDGE,
    text: 'bound.limitValue - bound.payableValue - sent.value >= 0n',
    broken: 'bound.limitValue >= 0n',
    test: {
      file: LOST_SENDINGS,
      title: 'waits for room with its peer, since it may not have begun, and is sent once there is'
    }
  },
  {
    guard: 'answers to packets are not lost with a connection to the database',
    file: JOURNAL,
    text: 'const untilMs = leaseEndsMs - LEASE_MARGIN_MS',
    broken: 'const untilMs = leaseEndsMs - leaseMs',
    test: throughFaults('is away for some seconds while many payments are sent')
  },
  {
    guard: 'answers to packets are written once, though the first answer of the database was lost',
    file: CERTAIN,
    text: 'if (found?.is_written === true) return',
    broken: 'if (found?.is_doubtful === true) return',
    test: throughFaults('is done when its connection is lost')
  },
  {
    guard: 'a packet whose answer was lost is never sent again',
    file: PACKETS,
    text: "coalesce(sum(send_value) filter (where outcome = 'unknown'), 0)::text as unknown_sent_value",
    broken: '0::text as unknown_sent_value',
    test: sending('is never sent again, and its payment waits')
  },
  {
    guard: 'the audit compares the fulfillment of a packet also where somebody decided that it arrived',
    file: SENDING_CHECKS,
    text: '(fulfillment is not null or decided_by is null)',
    broken: 'decided_by is null',
    test: sending("finds a packet with the fulfillment of another one, decided by 'olga'")
  },
  {
    guard: 'the audit finds a packet that was sent after its payment could be paid',
    file: SENDING_CHECKS,
    text: 'or k.sent_at > p.begin_until + ',
    broken: "or k.sent_at > p.begin_until + interval '1 day' + ",
    test: sending('finds a packet that was sent after its payment could be paid')
  },
  {
    guard: 'the audit finds a packet that was sent before its payment was approved',
    file: SENDING_CHECKS,
    text: 'k.sent_at < a.decided_at - ',
    broken: 'k.sent_at < a.requested_at - ',
    test: sending('finds a packet that was sent before its payment was approved')
  },
  {
    guard: 'what unknown packets would bring beyond the terms makes up for nothing, also in a later attempt',
    file: PACKETS,
    text: 'coalesce(sum(greatest(send_value',
    broken: 'coalesce(sum(least(send_value',
    test: costing('is compared by the audit with what counts as delivered, also while a payment is under way')
  },
  {
    guard: 'a part that arrived of what may be lost counts with no less than its share',
    file: PACKETS,
    text: 'coalesce(${ARRIVED_VALUE}, p.send_value) + p.send_value - 1, p.send_value)',
    broken: 'coalesce(${ARRIVED_VALUE}, p.send_value), p.send_value)',
    test: costing(
      'is paid for to the unit where an operator says that a part of what may be lost had arrived'
    )
  },
  {
    guard: 'what stands for lost packets brings what the terms want, also if unknown ones do not arrive',
    file: STAND_INS,
    text: 'least(k.deliver_min_value, div(k.send_value * place.receive_value, place.send_max_value))',
    broken: 'greatest(k.deliver_min_value, div(k.send_value * place.receive_value, place.send_max_value))',
    test: {
      file: LOST_SENDINGS,
      title:
        'brings what its terms want, also if a packet is lost of which nothing is known and that would bring more'
    }
  },
  {
    guard: 'what is shown of a payment under way has the fixed part of the fee whole',
    file: `${SOURCE}/modules/outgoing-payments/progressed.ts`,
    text: 'settled_debit_value = p.fixed_fee_value\n             + div(',
    broken: 'settled_debit_value = div(',
    test: costing('is in what is shown of a payment from its first packet on, and never more than was agreed')
  },
  {
    guard: 'the fixed part of a fee is no more than the fee',
    file: 'services/resource-server/prisma/migrations/20261211000000_fixed_fee_elsewhere/migration.sql',
    text: 'add constraint outgoing_payment_fixed_fee_is_part_of_fee check (fixed_fee_value between 0 and fee_value)',
    broken: 'add constraint outgoing_payment_fixed_fee_is_part_of_fee check (true)',
    test: costing('is part of the fee, so the database refuses another')
  },
  {
    guard: 'the audit finds a payment with another fixed part of the fee than its quote has',
    file: `${SOURCE}/features/audit-money/ledger-checks.ts`,
    text: 'terms.peer_id, terms.send_max_value, terms.fixed_fee_value)',
    broken: 'terms.peer_id, terms.send_max_value, q.fixed_fee_value)',
    test: costing('is compared by the audit: it finds a payment with another fixed part than its quote has')
  },
  {
    guard: 'the audit finds more sent to a peer than was delivered for it',
    file: SENDING_CHECKS,
    text: 'or s.fulfilled * s.receive_value > s.delivered',
    broken: 'or 0 * s.receive_value > s.delivered',
    test: costing('is compared by the audit with what counts as delivered, also while a payment is under way')
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
    guard: 'payments that are more than their peer may still be owed keep no smaller ones from beginning',
    file: BEGIN,
    text: 'full.set(peerId, room)',
    broken: 'full.set(peerId, 0n)',
    test: sending('begins though more than two hundred wait that are more than may still be owed to the peer')
  },
  {
    guard: 'unknown packets count against what may be owed to a peer, also when nothing more is sent',
    file: `${SOURCE}/modules/outgoing-payments/values-being-sent.ts`,
    text: 'then ${unknownValue(Prisma.sql`s.payment_id`)} else held_value end',
    broken: 'then 0 else held_value end',
    test: sending(
      'is all that counts of its payment against what may be owed to the peer, once no more may be sent of it'
    )
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
    text: 'or not (freezing.holds or p.send_max_value',
    broken: 'or not (p.send_max_value',
    test: sending('is held by a freeze, and goes on afterwards')
  },
  {
    guard: 'a wallet address gets no more of a peer than its share, and hides no payments of others',
    file: SENDING_ROOM,
    text: '${PAYER_SHARE_DIVISOR}::integer\n    * (${place}',
    broken: '${PAYER_SHARE_DIVISOR}::integer\n    * (0 * ${place}',
    test: sending(
      'leaves room for those from others over the same peer, however many one wallet address pays'
    )
  },
  {
    guard: 'a way that is much worse than our own rate gets no quote',
    file: PRICE,
    text: 'if (!isLess(least, rate.high)) throw',
    broken: 'if (!isLess(rate.low, rate.high)) throw',
    test: sending('is not quoted at a rate that is much worse than ours')
  },
  {
    guard: 'what small packets do not show of a rate is not charged for',
    file: PRICE,
    text: 'return isLess(rate.low, least) ?',
    broken: 'return isLess(rate.low, least) && false ?',
    test: sending(
      'is not quoted at a rate that is much worse than ours because of a small packet, the only one that a connector shows'
    )
  },
  {
    guard: 'a way to an asset that we have no rate for gets no quote',
    file: PATH_RATE,
    text: 'if (rate === undefined) throw noRate(source.code, target.code)',
    broken: 'if (rate === undefined) return ANY_RATE',
    test: sending(
      'is not made in another asset where we have no rate: its receiver alone would say what it costs'
    )
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
