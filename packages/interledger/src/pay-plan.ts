import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import {
  type Fraction,
  greatest,
  inverse,
  least,
  simplestBetween,
  timesRoundedDown,
  timesRoundedUp
} from './fraction.js'
import { type PathRate, updateRate } from './path-rate.js'
import type { SendTerms } from './quote.js'

/** How far a payment is: all that must be kept for going on later. */
export interface PaymentProgress {
  /** The sequence of the next packet. It only grows, through all attempts. */
  readonly nextSequence: number
  /** What was sent and fulfilled, in our units. */
  readonly sentValue: bigint
  /** What the receiver got of it, in its units. */
  readonly deliveredValue: bigint
  /** What was sent, and may have arrived: it counts as sent, and is never sent again. In our units. */
  readonly unknownSentValue: bigint
  /** The least that it delivers, if it arrived. In the receiver's units. */
  readonly unknownDeliverValue: bigint
}

/** The progress of a payment that has not begun. */
export const NO_PROGRESS: PaymentProgress = Object.freeze({
  nextSequence: 0,
  sentValue: 0n,
  deliveredValue: 0n,
  unknownSentValue: 0n,
  unknownDeliverValue: 0n
})

/** The amounts of one packet: what is sent, and the least that must arrive for it. */
export interface PacketAmounts {
  readonly sendValue: bigint
  readonly deliverMinValue: bigint
  /** What arrives at the rate that is likely, and the most at the rates that are possible. */
  readonly deliverLikelyValue: bigint
  readonly deliverMaxValue: bigint
}

/** What is known of the path before the first packet. */
export interface KnownPath {
  readonly rate: PathRate | undefined
  readonly packetLimitValue: bigint | undefined
}

/** Decides the amounts of packets, so that together they never send more than the terms allow. Without I/O. */
export class PaymentPlan {
  readonly #terms: SendTerms
  #progress: PaymentProgress
  #rate: PathRate | undefined
  /** The rate within these bounds that is most likely. */
  #likelyRate: Fraction | undefined
  #packetLimitValue: bigint | undefined
  /** The largest packet for now, for lack of money on the path. */
  #temporaryLimitValue: bigint | undefined
  /** What the receiver said that it can still take. */
  #roomValue: bigint | undefined
  #underWay: PacketAmounts = {
    sendValue: 0n,
    deliverMinValue: 0n,
    deliverLikelyValue: 0n,
    deliverMaxValue: 0n
  }

  constructor(terms: SendTerms, path: KnownPath, progress: PaymentProgress) {
    this.#terms = terms
    this.#progress = progress
    this.#setRate(path.rate)
    if (path.packetLimitValue !== undefined) this.limitPackets(path.packetLimitValue)
  }

  /** How far the payment is; packets under way are in none of its amounts. */
  get progress(): PaymentProgress {
    return this.#progress
  }

  /** Whether nothing is left to deliver, packets under way aside. */
  get isComplete(): boolean {
    const { deliveredValue, unknownDeliverValue } = this.#progress
    return deliveredValue + unknownDeliverValue >= this.#terms.deliverValue
  }

  /** Whether the terms allow for no further packet that brings anything, even if those under way are rejected. */
  get isSpent(): boolean {
    const left = this.#terms.sendMaxValue - this.#progress.sentValue - this.#progress.unknownSentValue
    return left <= 0n || this.#mostFor(left) === 0n
  }

  /** Takes the amounts of the next packet. Undefined when those under way may be enough. */
  next(): (PacketAmounts & { readonly sequence: number }) | undefined {
    const { sendMaxValue, deliverValue } = this.#terms
    const { sentValue, unknownSentValue, deliveredValue, unknownDeliverValue, nextSequence } = this.#progress
    const budget = sendMaxValue - sentValue - unknownSentValue - this.#underWay.sendValue
    const settled = deliveredValue + unknownDeliverValue
    const missing = deliverValue - settled - this.#underWay.deliverMaxValue
    if (budget <= 0n || missing <= 0n) return undefined

    const sendValue = this.#sendValue(budget, missing)
    // What the rest needs at least, if what is under way arrives as it should.
    const needed = {
      numerator: deliverValue - settled - this.#underWay.deliverLikelyValue,
      denominator: budget
    }
    const share = greatest(1n, timesRoundedDown(sendValue, needed))
    const deliverMinValue = least(share, this.#roomValue ?? share)
    const likely = this.#likelyRate && timesRoundedDown(sendValue, this.#likelyRate)
    const deliverLikelyValue = greatest(deliverMinValue, likely ?? 0n)
    const deliverMaxValue = greatest(deliverLikelyValue, this.#mostFor(sendValue) ?? 0n)
    const amounts = { sendValue, deliverMinValue, deliverLikelyValue, deliverMaxValue }
    this.#add(amounts, 1n)
    this.#progress = { ...this.#progress, nextSequence: nextSequence + 1 }
    return { ...amounts, sequence: nextSequence }
  }

  /** As large as path, budget and need allow; and no larger than what it brings, so that little is lost to rounding. */
  #sendValue(budget: bigint, missing: bigint): bigint {
    const largest = least(
      least(budget, this.#packetLimitValue ?? budget),
      this.#temporaryLimitValue ?? budget
    )
    const rate = this.#likelyRate
    if (rate === undefined || rate.numerator === 0n) return largest
    const perUnit = inverse(rate)
    const wanted = timesRoundedUp(least(missing, this.#roomValue ?? missing), perUnit)
    const sendValue = least(largest, wanted)
    const brings = timesRoundedDown(sendValue, rate)
    return brings === 0n ? sendValue : least(sendValue, timesRoundedUp(brings, perUnit))
  }

  /** The most that may arrive for an amount; undefined when the rate is not known. The upper bound of the rate is not reached. */
  #mostFor(sendValue: bigint): bigint | undefined {
    return this.#rate && timesRoundedUp(sendValue, this.#rate.high) - 1n
  }

  /** A packet arrived. @param receivedValue as the receiver says; undefined when it was not heard */
  fulfilled(packet: PacketAmounts, receivedValue: bigint | undefined): bigint {
    const { sentValue, deliveredValue: before } = this.#progress
    // It accepted the minimum by fulfilling, whatever it says. What it says may be anything: the sum must remain an amount.
    const claimed = least(receivedValue ?? 0n, UINT64_MAX - before)
    const deliveredValue = greatest(packet.deliverMinValue, claimed)
    this.#add(packet, -1n)
    if (receivedValue !== undefined) this.observe(packet, deliveredValue)
    if (this.#temporaryLimitValue !== undefined) {
      const doubled = this.#temporaryLimitValue * 2n
      this.#temporaryLimitValue = doubled < this.#terms.sendMaxValue ? doubled : undefined
    }
    this.#progress = {
      ...this.#progress,
      sentValue: sentValue + packet.sendValue,
      deliveredValue: before + deliveredValue
    }
    return deliveredValue
  }

  /** A packet moved nothing: its amounts are free again. */
  rejected(packet: PacketAmounts): void {
    this.#add(packet, -1n)
  }

  /** It is not known what became of a packet. */
  unknown(packet: PacketAmounts): void {
    this.#add(packet, -1n)
    const { unknownSentValue, unknownDeliverValue } = this.#progress
    this.#progress = {
      ...this.#progress,
      unknownSentValue: unknownSentValue + packet.sendValue,
      unknownDeliverValue: unknownDeliverValue + packet.deliverMinValue
    }
  }

  /** The receiver told what would have arrived, or did. */
  observe({ sendValue }: PacketAmounts, receivedValue: bigint): void {
    this.#setRate(updateRate(this.#rate, sendValue, receivedValue))
  }

  #setRate(rate: PathRate | undefined): void {
    if (rate === this.#rate) return
    this.#rate = rate
    this.#likelyRate = rate && simplestBetween(rate.low, rate.high)
  }

  /** The path takes no larger packets. */
  limitPackets(value: bigint): void {
    const limit = greatest(1n, value)
    this.#packetLimitValue = least(this.#packetLimitValue ?? limit, limit)
  }

  /** The path has too little money for packets as large as this: half of it is tried, and more again once that arrives. */
  lackMoneyFor({ sendValue }: PacketAmounts): void {
    const half = sendValue / 2n
    const brings = this.#likelyRate === undefined ? half : timesRoundedDown(half, this.#likelyRate)
    if (brings > 0n) this.#temporaryLimitValue = half
  }

  /**
   * The receiver said how much it can still take. That only becomes less, but not by what arrived before and was heard of later, so it
   * stands until the receiver says something else. Zero says nothing, as long as it does not close.
   */
  limitRoom(value: bigint): void {
    if (value > 0n) this.#roomValue = value
  }

  #add(packet: PacketAmounts, sign: 1n | -1n): void {
    const { sendValue, deliverMinValue, deliverLikelyValue, deliverMaxValue } = packet
    this.#underWay = {
      sendValue: this.#underWay.sendValue + sign * sendValue,
      deliverMinValue: this.#underWay.deliverMinValue + sign * deliverMinValue,
      deliverLikelyValue: this.#underWay.deliverLikelyValue + sign * deliverLikelyValue,
      deliverMaxValue: this.#underWay.deliverMaxValue + sign * deliverMaxValue
    }
  }
}
