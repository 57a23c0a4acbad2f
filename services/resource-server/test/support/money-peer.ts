import { encodeAmountTooLarge, type Prepare, type Reply } from '@open-payments-server/interledger'
import type { Clock } from '@open-payments-server/value-types/clock'
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { HIGH_ALERT, LOW_ALERT, type Manner, PACKET_MAX } from './money-model-peers.js'
import type { OtherProvider } from './other-provider.js'
import { catchPacket, codeOf, type PayingPeer, type TestPeers } from './paying-peer.js'
import { usd } from './payment-world.js'
import { type ReceivingPeer, startReceivingPeer } from './receiving-peer.js'

const USD = { code: 'USD', scale: 2 }
/** Longer than any sequence, in milliseconds: packets are sent again whenever a sequence says so. */
const PACKET_LIFETIME_MS = 20 * 86_400_000
/** Nothing expires there: the clock of a sequence jumps while packets are under way. */
const BEFORE_EVERYTHING: Clock = { now: () => 0 }

/** The other provider of a sequence, which pays and is paid over one peering. */
export class MoneyPeer {
  manner: Manner = { splits: false, then: 'takes' }
  /** Of the peering. */
  readonly name: string
  readonly #provider: OtherProvider
  readonly #receiving: ReceivingPeer
  readonly #paying: PayingPeer
  /** Ids of the receivers there, by the numbers of their payments. */
  readonly #receivers = new Map<number, string>()
  /** The largest packets that are taken for receivers, by their ids. */
  readonly #limits = new Map<string, bigint>()
  readonly #packets = new Map<number, Buffer>()

  private constructor(provider: OtherProvider, receiving: ReceivingPeer, paying: PayingPeer) {
    this.#provider = provider
    this.#receiving = receiving
    this.#paying = paying
    this.name = paying.name
    receiving.handle = (prepare, answer, response) => this.#handle(prepare, answer, response)
  }

  /** Begins a peering. @param sequence part of its address */
  static async begin(peers: TestPeers, provider: OtherProvider, sequence: string): Promise<MoneyPeer> {
    const receiving = await startReceivingPeer(BEFORE_EVERYTHING, `test.${sequence}`)
    const { endpoint, ilpAddress } = receiving
    const paying = await peers.create({
      ...{ endpoint, ilpAddress, packetLimitValue: String(PACKET_MAX) },
      ...{ lowAlertValue: String(LOW_ALERT), highAlertValue: String(HIGH_ALERT) }
    })
    return new MoneyPeer(provider, receiving, paying)
  }

  /** Changes what it does with packets. */
  behave(manner: Manner): void {
    this.manner = manner
    this.#receiving.isDown = manner.then === 'is down'
  }

  /** The receiver of a payment, which takes any amount: its URL. */
  receiverOf(payment: number): string {
    const id = randomUUID()
    this.#receivers.set(payment, id)
    const methods = [this.#receiving.methodOf(id, USD)]
    return this.#provider.add(id, { incomingAmount: undefined, receivedAmount: usd(0), methods })
  }

  /** What the receiver of a payment has. */
  receivedOf(payment: number): bigint {
    const id = this.#receivers.get(payment)
    return id === undefined ? 0n : this.#receiving.payment(id).receivedValue
  }

  /** Makes a packet, and posts it: answers `fulfill`, or the code of the reject. */
  async pay(number: number, destination: Parameters<PayingPeer['pay']>[0], value: bigint): Promise<string> {
    this.#packets.set(number, await catchPacket(this.#paying, destination, value, 1n, PACKET_LIFETIME_MS))
    return this.payAgain(number)
  }

  /** Posts the same packet again. */
  async payAgain(number: number): Promise<string> {
    const packet = this.#packets.get(number)
    if (packet === undefined) throw new Error(`there is no packet ${String(number)}`)
    const posted = await this.#paying.post(packet)
    return codeOf(posted) ?? String(posted.status)
  }

  stop(): Promise<void> {
    return this.#receiving.stop()
  }

  async #handle(
    prepare: Prepare,
    answer: () => Promise<Reply>,
    response: ServerResponse
  ): Promise<Reply | undefined> {
    const id = this.#receiving.paymentIdOf(prepare)
    if (id === undefined) return answer()
    const { splits, then } = this.manner
    const payment = this.#receiving.payment(id)
    const isFirst = payment.receivedValue === 0n && splits && prepare.amount > 1n
    if (isFirst && !this.#limits.has(id)) this.#limits.set(id, (prepare.amount + 1n) / 2n)
    const limit = this.#limits.get(id)
    if (limit !== undefined && prepare.amount > limit) return this.#tooLarge(prepare.amount, limit)
    // The first half.
    if (limit !== undefined && payment.receivedValue === 0n) return answer()
    if (then === 'rejects') return this.#reject('F02')
    if (then === 'closes') payment.isOver = true
    const reply = then === 'loses packets' ? undefined : await answer()
    if (then !== 'loses packets' && then !== 'loses answers') return reply
    response.destroy()
    return undefined
  }

  #tooLarge(receivedValue: bigint, maximumValue: bigint): Reply {
    return { ...this.#reject('F08'), data: encodeAmountTooLarge({ receivedValue, maximumValue }) }
  }

  #reject(code: string): Reply & { readonly type: 'reject' } {
    const { ilpAddress: triggeredBy } = this.#receiving
    return { type: 'reject', code, triggeredBy, message: 'not here', data: Buffer.alloc(0) }
  }
}
