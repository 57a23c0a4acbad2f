import type { Mutation, TestReference } from '../mutation.js'

const SOURCE = 'packages/interledger/src'
const RECEIVER = `${SOURCE}/receiver.ts`
const PLAN = `${SOURCE}/pay-plan.ts`
const PAY = `${SOURCE}/pay.ts`
const PACE = `${SOURCE}/pace.ts`
const EXCHANGE = `${SOURCE}/exchange.ts`

const receiving = (title: string): TestReference => ({
  file: 'packages/interledger/test/receiver.test.ts',
  title
})
const paying = (title: string): TestReference => ({ file: 'packages/interledger/test/pay.test.ts', title })
const probing = (title: string): TestReference => ({ file: 'packages/interledger/test/probe.test.ts', title })

/** Payments over Interledger: what is credited before it is fulfilled, and what is sent at most. */
export const INTERLEDGER_GUARDS: readonly Mutation[] = [
  {
    guard: 'a packet is credited before it is fulfilled',
    file: RECEIVER,
    text: 'return replies.credited(await credits.credit(packet))',
    broken: 'return replies.fulfill(value)',
    test: receiving('fulfilled once it is credited')
  },
  {
    guard: 'a probe moves nothing at the receiver',
    file: RECEIVER,
    text: 'isFulfillable: conditionOf(fulfillment).equals(prepare.executionCondition)',
    broken: 'isFulfillable: conditionOf(fulfillment).length === prepare.executionCondition.length',
    test: receiving(
      'F99 with what would arrive when it is a probe, without looking at limits, expiry or the payment'
    )
  },
  {
    guard: 'a packet that brings less than its sender accepts is not taken',
    file: RECEIVER,
    text: 'if (value < request.amount)',
    broken: 'if (value + 1n < request.amount)',
    test: receiving('F99 with what would arrive when that is less than the sender accepts')
  },
  {
    guard: 'a packet above the limit of whom it comes from is not taken',
    file: RECEIVER,
    text: 'prepare.amount > packetLimitValue',
    broken: 'prepare.amount > packetLimitValue + 1n',
    test: receiving('F08 with both amounts when it is above the limit, even if it expires too soon')
  },
  {
    guard: 'a packet that expires soon is not taken',
    file: RECEIVER,
    text: 'if (prepare.expiresAtMs - clock.now() < LIFETIME_MIN_MS)',
    broken: 'if (prepare.expiresAtMs - clock.now() < 0)',
    test: receiving('R02 when it expires in less than a second')
  },
  {
    guard: 'of a packet only what rounding brings too much is kept back',
    file: RECEIVER,
    text: 'return least(value, below + 1n > request.amount ? below + 1n : request.amount)',
    broken: 'return least(value, below >= 0n ? request.amount : below)',
    test: receiving('the smallest packet that completes a payment is taken, although it brings more')
  },
  {
    guard: 'the address and the secret of a payment are those of no other',
    file: `${SOURCE}/payment-addresses.ts`,
    text: 'hmac(secret, `nonce ${paymentId}`)',
    broken: "hmac(secret, 'nonce')",
    test: {
      file: 'packages/interledger/test/payment-addresses.test.ts',
      title: 'are the same each time, others for each payment and secret, and tell nothing'
    }
  },
  {
    guard: 'packets under way count against what may be sent',
    file: PLAN,
    text: 'const budget = sendMaxValue - sentValue - unknownSentValue - this.#underWay.sendValue',
    broken: 'const budget = sendMaxValue - sentValue - unknownSentValue',
    test: {
      file: 'packages/interledger/test/pay-plan.test.ts',
      title: 'counts packets under way against what may be sent'
    }
  },
  {
    guard: 'a packet of which nothing is known counts as sent',
    file: PLAN,
    text: 'unknownSentValue: unknownSentValue + packet.sendValue',
    broken: 'unknownSentValue: unknownSentValue',
    test: paying('that loses packets leaves packets unknown: they count as sent, and are not sent again')
  },
  {
    guard: 'a packet asks for its share of what is to be delivered',
    file: PLAN,
    text: '(sendValue * deliverValue - this.#spare()',
    broken: '(0n * deliverValue - this.#spare()',
    test: paying('stops at a rate that is worse than the terms allow, and tells what was delivered')
  },
  {
    guard: 'no packet asks for less than the terms want, not by a unit',
    file: PLAN,
    text: 'return -this.#short(sentValue, deliveredValue)',
    broken:
      'return least(this.#terms.sendMaxValue, this.#terms.deliverValue) - 1n - this.#short(sentValue, deliveredValue)',
    test: {
      file: 'packages/interledger/test/lying-receiver.test.ts',
      title: 'gets no first packet that asks for less than the terms want, however small it makes it'
    }
  },
  {
    guard: 'what unknown packets would bring beyond the terms makes up for nothing',
    file: PLAN,
    text: 'unknownShortValue: unknownShortValue + this.#shortOf(packet)',
    broken: 'unknownShortValue: unknownShortValue + this.#short(packet.sendValue, packet.deliverMinValue)',
    test: {
      file: 'packages/interledger/test/pay-plan.test.ts',
      title:
        'lets no packet bring less by what one of which nothing is known may, whatever others of these bring'
    }
  },
  {
    guard: 'a path that tells of one packet limit after the other is not followed for long',
    file: PLAN,
    text: 'const isFollowed = this.#limitsInRow <= LIMITS_FOLLOWED_MAX',
    broken: 'const isFollowed = this.#limitsInRow >= 0',
    test: {
      file: 'packages/interledger/test/pay-plan.test.ts',
      title: 'follows five limits in a row, and halves its packets after that, until one is fulfilled'
    }
  },
  {
    guard: 'a path to which each packet is too large gets few in one attempt',
    file: PACE,
    text: 'return this.#tooLargeInRow >= TOO_LARGE_MAX',
    broken: 'return this.#tooLargeInRow < 0',
    test: paying(
      'that takes a unit less than each packet has, of an amount that is halved for long, gets few, and the attempt ends'
    )
  },
  {
    guard: 'no more packets are under way than are answered in time',
    file: PACE,
    text: 'else if (share > SLOW_SHARE) this.#window = Math.max(1, this.#window / 2)',
    broken: 'else this.#window = Math.min(WINDOW_MAX, this.#window + 1)',
    test: paying(
      'that takes one packet after the other, each for long, gets no more at once than it answers in time'
    )
  },
  {
    guard: 'packets bring a whole unit of the receiver where units of ours are much finer',
    file: PLAN,
    text: 'if (low.numerator === 0n || isEnough(value, low)) return value',
    broken: 'if (low.numerator >= 0n || isEnough(value, low)) return value',
    test: {
      file: 'packages/interledger/test/pay-plan.test.ts',
      title: 'delivers all from scale 9 to scale 2, though a probe tells little of the rate'
    }
  },
  {
    guard: 'a packet is written down before it is sent',
    file: PAY,
    text: 'await this.#dependencies.journal.write(answers, packets)',
    broken: 'await Promise.race([Promise.resolve(), this.#dependencies.journal.write(answers, packets)])',
    test: paying('has every packet before it is sent; when it fails, nothing is sent')
  },
  {
    guard: 'a packet that was written down too late is not sent',
    file: PAY,
    text: 'const answer = this.#isInTime(sent)',
    broken: 'const answer = this.#isInTime(sent) || sent.packet.sequence >= 0',
    test: paying(
      'may write for longer than half of the time of its packets: answers are kept, and what it wrote is not sent'
    )
  },
  {
    guard: 'only the right fulfillment is a proof',
    file: EXCHANGE,
    text: 'return conditionOf(reply.fulfillment).equals(packet.condition)',
    broken: 'return conditionOf(reply.fulfillment).length === packet.condition.length',
    test: paying('that answers with a wrong fulfillment ends the payment, and the packet is unknown')
  },
  {
    guard: 'a Reject is one, whatever the receiver says in it',
    file: EXCHANGE,
    text: "if (reply.type === 'reject') return",
    broken:
      "if (reply.type === 'reject' && word === undefined && reply.data.length > 0) return { type: 'unknown', because: 'unreadable-answer' }\n  if (reply.type === 'reject') return",
    test: paying(
      'that rejects a packet owes nothing, though the receiver says that it fulfilled in it: other packets go on'
    )
  },
  {
    guard: 'the receiver’s words about one packet are not taken for those about another',
    file: EXCHANGE,
    text: 'return said?.type === reply.type && said.sequence === BigInt(sequence)',
    broken: 'return said?.type === reply.type',
    test: probing('believes nobody but the receiver')
  },
  {
    guard: 'a probe cannot be fulfilled',
    file: EXCHANGE,
    text: 'isFulfillable ? conditionOf(fulfillmentOf(data, keys)) : random.bytes(32)',
    broken: 'conditionOf(fulfillmentOf(data, keys))',
    test: probing('finds rate and asset with one packet')
  }
]
