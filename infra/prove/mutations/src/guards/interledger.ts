import type { Mutation, TestReference } from '../mutation.js'

const SOURCE = 'packages/interledger/src'
const RECEIVER = `${SOURCE}/receiver.ts`
const PLAN = `${SOURCE}/pay-plan.ts`
const PAY = `${SOURCE}/pay.ts`
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
    text: 'const share = greatest(1n, timesRoundedDown(sendValue, needed))',
    broken: 'const share = greatest(1n, timesRoundedDown(0n, needed))',
    test: paying('stops at a rate that is worse than the terms allow, and tells what was delivered')
  },
  {
    guard: 'a packet is written down before it is sent',
    file: PAY,
    text: 'await this.#dependencies.journal.write(answers, packets)',
    broken: 'await Promise.race([Promise.resolve(), this.#dependencies.journal.write(answers, packets)])',
    test: paying('has every packet before it is sent; when it fails, nothing is sent')
  },
  {
    guard: 'only the right fulfillment is a proof',
    file: EXCHANGE,
    text: 'if (!conditionOf(reply.fulfillment).equals(packet.condition))',
    broken: 'if (conditionOf(reply.fulfillment).length !== packet.condition.length)',
    test: paying('that answers with a wrong fulfillment ends the payment, and the packet is unknown')
  },
  {
    guard: 'a rejected packet that the receiver fulfilled is not sent again',
    file: EXCHANGE,
    text: "if (isWord && said.type === 'fulfill') return",
    broken: "if (isWord && said.type === 'prepare') return",
    test: paying(
      'that answers with a Reject after the receiver fulfilled ends the payment, and the packet is unknown'
    )
  },
  {
    guard: 'the receiver’s words about one packet are not taken for those about another',
    file: EXCHANGE,
    text: 'const isWord = said?.sequence === BigInt(packet.sequence)',
    broken: 'const isWord = said !== undefined',
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
