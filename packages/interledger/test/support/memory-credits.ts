import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import type { ArrivedPacket, CreditResult, FoundPacket, PaymentCredits } from '../../src/index.js'

/** What a payment has received, and may. */
export interface MemoryPayment {
  /** The most that it may receive; undefined when there is no maximum. */
  readonly maximumValue: bigint | undefined
  receivedValue: bigint
  isOver: boolean
}

/** What of a packet tells whether it was credited. */
type FindablePacket = Parameters<PaymentCredits['find']>[0]

/** Credits in memory, as a database would make them. */
export class MemoryCredits implements PaymentCredits {
  readonly payments = new Map<string, MemoryPayment>()
  /** What was credited, by condition. */
  readonly credited = new Map<string, bigint>()
  /** What was asked, in order. */
  readonly asked: (FindablePacket & Partial<ArrivedPacket> & { readonly how: 'credit' | 'find' })[] = []
  /** Answers in the place of the next one. */
  readonly instead: (CreditResult | Error)[] = []

  constructor(readonly now: () => number) {}

  open(paymentId: string, maximumValue?: bigint): MemoryPayment {
    const payment = { maximumValue, receivedValue: 0n, isOver: false }
    this.payments.set(paymentId, payment)
    return payment
  }

  async credit(packet: ArrivedPacket): Promise<CreditResult> {
    this.asked.push({ ...packet, how: 'credit' })
    const instead = this.instead.shift()
    if (instead instanceof Error) throw instead
    if (instead !== undefined) return instead
    const found = this.#find(packet)
    if (found.outcome !== 'open') return found
    if (packet.expiresAtMs <= this.now()) return { outcome: 'expired' }
    const payment = this.payments.get(packet.paymentId)!
    const { maximumValue = UINT64_MAX, receivedValue } = payment
    const room = maximumValue - receivedValue
    if (room < packet.leastValue) return { outcome: 'no-room', receiveMaxValue: maximumValue, receivedValue }
    const value = room < packet.value ? room : packet.value
    payment.receivedValue += value
    if (payment.receivedValue === payment.maximumValue) payment.isOver = true
    this.credited.set(packet.condition.toString('hex'), value)
    return { outcome: 'credited', value }
  }

  async find(packet: FindablePacket): Promise<FoundPacket> {
    this.asked.push({ ...packet, how: 'find' })
    return this.#find(packet)
  }

  #find({ condition, paymentId }: FindablePacket): FoundPacket {
    const value = this.credited.get(condition.toString('hex'))
    if (value !== undefined) return { outcome: 'credited', value }
    return (this.payments.get(paymentId)?.isOver ?? true) ? { outcome: 'over' } : { outcome: 'open' }
  }
}
