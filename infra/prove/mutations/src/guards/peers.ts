import type { Mutation, TestReference } from '../mutation.js'

const SOURCE = 'services/resource-server/src'
const CREDITS = `${SOURCE}/features/receive-packets/packet-credits.ts`
const BATCH = `${SOURCE}/features/receive-packets/credit-batch.ts`

const receiving = (title: string): TestReference => ({
  file: 'services/resource-server/test/receive-packets.test.ts',
  title
})
const crediting = (title: string): TestReference => ({
  file: 'services/resource-server/test/credit-packets.test.ts',
  title
})
const operating = (title: string): TestReference => ({
  file: 'services/resource-server/test/peers.test.ts',
  title
})

/** Peers: who may send packets, what is credited for them, and what a peer may owe. */
export const PEER_GUARDS: readonly Mutation[] = [
  {
    guard: 'a packet that takes a peer above what it may owe is refused',
    file: BATCH,
    text: '+ packetValue > left',
    broken: '+ packetValue > left + packetValue',
    test: receiving('above what its peer may owe is refused for now, until the peer settles')
  },
  {
    guard: 'packets that are credited together count together against what their peer may owe',
    file: BATCH,
    text: '(this.#owed.get(from.peer.id) ?? 0n) + packetValue',
    broken: 'packetValue',
    test: receiving('and others that race never take a peer above what it may owe')
  },
  {
    guard: 'a packet that comes again is not credited again',
    file: BATCH,
    text: 'if (known !== undefined) return creditedBefore(packet, known)',
    broken: '',
    test: receiving('that comes again, also at once, is credited once and fulfilled each time')
  },
  {
    guard: 'nothing of a peer arrives at a payment that is completed',
    file: BATCH,
    text: "if (completed || expired) return { outcome: 'over' }",
    broken: "if (expired) return { outcome: 'over' }",
    test: receiving('that comes again after its payment is over is fulfilled again, and another is not')
  },
  {
    guard: 'nothing of a peer arrives at a payment that has expired',
    file: BATCH,
    text: 'if (completed || expired)',
    broken: 'if (completed)',
    test: receiving('is refused once it has expired, or its payment has')
  },
  {
    guard: 'nothing of a peer arrives at a frozen wallet address',
    file: BATCH,
    text: 'if (this.#state.frozen.has(receiver.id))',
    broken: 'if (this.#state.frozen.size < 0)',
    test: receiving('to a frozen wallet address is refused for now')
  },
  {
    guard: 'a packet brings a payment no more than it asked for',
    file: BATCH,
    text: 'if (room < packet.leastValue)',
    broken: 'if (room < 0n)',
    test: crediting('that brings more than there is room for is refused with what there is room for')
  },
  {
    guard: 'a packet that expires while it waits, or so soon that its answer would be late, is not credited',
    file: BATCH,
    text: "if (packet.expiresAtMs - ANSWER_MS < this.#state.nowMs) return { outcome: 'expired' }",
    broken: '',
    test: crediting('that expires while it waits for others is refused')
  },
  {
    guard: 'what is credited changes all that it must, or nothing',
    file: CREDITS,
    text: 'where changed <> wanted',
    broken: 'where changed < 0',
    test: crediting('whose credit would not change all that it must changes nothing, and is not answered')
  },
  {
    guard: 'replicas together take no peer above what it may owe',
    file: CREDITS,
    text: '\n   where (select count(*) from locked_account) > 0',
    broken: '',
    test: crediting('packets to different payments never take a peer above what it may owe')
  },
  {
    guard: 'a packet in another asset is worth what the rate says',
    file: `${SOURCE}/features/receive-packets/arrival.ts`,
    text: 'return (value * multiplier) / divisor',
    broken: 'return value',
    test: receiving('arrives in another asset at our rate')
  },
  {
    guard: 'no packet above the packet limit of its peer is taken',
    file: `${SOURCE}/features/receive-packets/arrival.ts`,
    text: 'packetLimitValue: peer.packetLimitValue',
    broken: 'packetLimitValue: undefined',
    test: receiving('above the packet limit of its peer is told the limit')
  },
  {
    guard: 'whoever presents the token of no peer sends nothing',
    file: `${SOURCE}/features/receive-packets/routes.ts`,
    text: 'if (peer === undefined) throw unknownToken()',
    broken: '',
    test: receiving('is refused with a token of nobody')
  },
  {
    guard: 'a token of a peer that was replaced ends',
    file: `${SOURCE}/modules/peers/directory.ts`,
    text: 'return isOver ? undefined : toPeer(row)',
    broken: 'return toPeer(row)',
    test: receiving('is refused once its token was replaced')
  },
  {
    guard: 'nothing is credited with a token of a peer that ended while it was remembered',
    file: BATCH,
    text: "if (!this.#state.tokens.has(packet.from.peer.tokenHash)) return { outcome: 'token-ended' }",
    broken: '',
    test: receiving(
      'is refused at once with a token that ended while it was remembered, and with all that it sends then'
    )
  },
  {
    guard: 'what was found for a token that ended is forgotten',
    file: `${SOURCE}/features/receive-packets/routes.ts`,
    text: 'peers.forget(tokenHash)',
    broken: '',
    test: receiving(
      'is refused at once with a token that ended while it was remembered, and with all that it sends then'
    )
  },
  {
    guard: 'a token of a peer that overlaps ends while it is remembered',
    file: `${SOURCE}/modules/peers/directory.ts`,
    text: "t.expires_at > ${placeholder('now')}::timestamptz",
    broken: "${placeholder('now')}::timestamptz is not null",
    test: receiving(
      'is taken with both tokens while they overlap, and refused with the first from its end on'
    )
  },
  {
    guard: 'a token of a peer ends at all replicas at once, whatever their clocks say',
    file: `${SOURCE}/features/operate-peers/peers.ts`,
    text: 'overlapSeconds === 0 ? 0 : ',
    broken: '',
    test: crediting('a token that ended at one is refused at once by the other, whose clock is behind')
  },
  {
    guard: 'nothing is credited with a token of a peer after the answer that it ended',
    file: `${SOURCE}/modules/peers/change.ts`,
    text: ' where (select count(*) from locked_account) > 0',
    broken: '',
    test: crediting('a token ends only when all packets are credited that it was found valid for')
  },
  {
    guard: 'a token that a peer presents in production is not short',
    file: `${SOURCE}/features/operate-peers/fields.ts`,
    text: 'token.length < lengthMin || ',
    broken: '',
    test: operating('has a token of 16 characters at least in production, and is presented any that it chose')
  },
  {
    guard: 'a day of a peer ends with what was booked on it',
    file: `${SOURCE}/modules/peers/close-days.ts`,
    text: 'due.payable_value + owing.value',
    broken: 'due.payable_value - owing.value',
    test: operating(
      'is read from the days that were closed, and the audit compares them with what was booked'
    )
  },
  {
    guard: 'the audit finds what was booked on a day after it was closed',
    file: `${SOURCE}/features/audit-money/peer-checks.ts`,
    text: 'is distinct from (coalesce(b.receivable_value, 0), coalesce(b.payable_value, 0))',
    broken: 'is distinct from (c.receivable_value, c.payable_value)',
    test: operating('of a day that something was booked on later is told by the audit')
  },
  {
    guard: 'a settlement with the key of another one is refused',
    file: `${SOURCE}/features/operate-peers/settle.ts`,
    text: 'if (!before.equals(requestHash))',
    broken: 'if (before.length === 0)',
    test: operating('lowers what is owed, once for each key')
  },
  {
    guard: 'a bank transfer is not recorded twice, unless it is said to be another one',
    file: `${SOURCE}/modules/peers/settle.ts`,
    text: "where ${placeholder('isAnother')}::boolean",
    broken: "where ${placeholder('isAnother')}::boolean is not null",
    test: operating('is recorded once with a reference, however many record it at the same time')
  },
  {
    guard: 'a settlement that we paid is told where it leaves little of what its peer may owe',
    file: `${SOURCE}/modules/peers/events.ts`,
    text: 'room.value - settled.value < settled.low_alert_value',
    broken: 'room.value - settled.value < 0',
    test: operating('that we paid is told where it leaves little of what the peer may owe, or nothing')
  },
  {
    guard: 'the token that a peer expects is encrypted in the database',
    file: `${SOURCE}/features/operate-peers/fields.ts`,
    text: 'return peerSecrets.seal(peerId, token)',
    broken: 'return Promise.resolve(token)',
    test: operating('shows its tokens to nobody, nor does the database')
  }
]
