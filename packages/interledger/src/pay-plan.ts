import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import {
  type Fraction,
  greatest,
  inverse,
  least,
  roundestBetween,
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
  /**
   * By how much packets of it deliver less than the terms want for them, those together that do: in the receiver's units, times what may be
   * sent at most.
   */
  readonly unknownShortValue: bigint
}

/** The progress of a payment that has not begun. */
export const NO_PROGRESS: PaymentProgress = Object.freeze({
  nextSequence: 0,
  sentValue: 0n,
  deliveredValue: 0n,
  unknownSentValue: 0n,
  unknownDeliverValue: 0n,
  unknownShortValue: 0n
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

/** Limits in a row that are taken as they are told: as many as connectors may have on the way, and some that change meanwhile. */
const LIMITS_FOLLOWED_MAX = 5

const NOTHING: PacketAmounts = Object.freeze({
  sendValue: 0n,
  deliverMinValue: 0n,
  deliverLikelyValue: 0n,
  deliverMaxValue: 0n
})

/**
 * Decides the amounts of packets, so that together they never send more than the terms allow, and that whichever of them arrive deliver what
 * the terms want for them, to the unit. What receiver and path say only makes packets smaller, or later. Without I/O.
 */
export class PaymentPlan {
  readonly #terms: SendTerms
  #progress: PaymentProgress
  #rate: PathRate | undefined
  /** The rate within these bounds that is most likely. */
  #likelyRate: Fraction | undefined
  #packetLimitValue: bigint | undefined
  /** How many limits the path told since something was fulfilled, each for a packet within the one before. */
  #limitsInRow = 0
  /** The largest packet for now, for lack of money on the path. */
  #temporaryLimitValue: bigint | undefined
  /** What the receiver said that it can still take. */
  #roomValue: bigint | undefined
  #underWay = NOTHING
  /** By how much packets under way may deliver less than the terms want for them, those together that may, as `#short` counts it. */
  #underWayShort = 0n

  constructor(terms: SendTerms, path: KnownPath, progress: PaymentProgress) {
    this.#terms = terms
    this.#progress = progress
    this.#setRate(path.rate)
    if (path.packetLimitValue !== undefined) this.#limitPackets(path.packetLimitValue)
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
    const deliverMinValue = this.#leastFor(sendValue)
    const isMoreThanNeeded = deliverMinValue > deliverValue - settled - this.#underWay.deliverLikelyValue
    // Once those under way have arrived, it may ask for less.
    if (isMoreThanNeeded && this.#underWay.sendValue > 0n) return undefined
    const likely = this.#likelyRate && timesRoundedDown(sendValue, this.#likelyRate)
    const deliverLikelyValue = greatest(deliverMinValue, likely ?? 0n)
    const deliverMaxValue = greatest(deliverLikelyValue, this.#mostFor(sendValue) ?? 0n)
    const amounts = { sendValue, deliverMinValue, deliverLikelyValue, deliverMaxValue }
    this.#add(amounts, 1n)
    this.#progress = { ...this.#progress, nextSequence: nextSequence + 1 }
    return { ...amounts, sequence: nextSequence }
  }

  /**
   * As large as path, budget and need allow; and no larger than what it brings, so that little is lost to rounding. If the receiver would
   * refuse it at the worst rate that is possible, it is what that rate asks for, or else the rate with the fewest digits: where our units
   * are much finer than the receiver's, a rate that is likely and a little too high brings a unit less than the terms want, again and again.
   * Where neither is enough, packets are of so few of the receiver's units that any rate is a guess: then it asks for what the largest packet
   * surely brings, with as much as the terms give for that.
   */
  #sendValue(budget: bigint, missing: bigint): bigint {
    const limits = [this.#packetLimitValue, this.#temporaryLimitValue, this.#largestForRoom()]
    const largest = limits.reduce<bigint>((smallest, limit) => least(smallest, limit ?? budget), budget)
    const likely = this.#likelyRate
    if (this.#rate === undefined || likely === undefined || likely.numerator === 0n) return largest
    const deliverValue = least(missing, this.#roomValue ?? missing)
    const valueAt = (rate: Fraction): bigint =>
      withoutRemainder(least(largest, timesRoundedUp(deliverValue, inverse(rate))), rate)
    const isEnough = (value: bigint, rate: Fraction): boolean =>
      timesRoundedDown(value, rate) >= this.#leastFor(value)
    const { low, high } = this.#rate
    const value = valueAt(likely)
    if (low.numerator === 0n || isEnough(value, low)) return value
    const safe = valueAt(low)
    if (isEnough(safe, low)) return safe
    const roundest = roundestBetween(low, high)
    const round = valueAt(roundest)
    if (isEnough(round, roundest)) return round
    const surely = greatest(1n, least(deliverValue, timesRoundedDown(largest, low)))
    const modest = least(largest, this.#largestFor(surely))
    return this.#leastFor(modest) * value < this.#leastFor(value) * modest ? modest : value
  }

  /** The largest amount for which the receiver may have to accept no more than it has room for; undefined when it told of none. */
  #largestForRoom(): bigint | undefined {
    return this.#roomValue === undefined ? undefined : this.#largestFor(this.#roomValue)
  }

  /** The largest amount for which the terms want no more than a value; at least a unit. */
  #largestFor(value: bigint): bigint {
    const { sendMaxValue, deliverValue } = this.#terms
    return greatest(1n, (value * sendMaxValue + this.#spare()) / deliverValue)
  }

  /**
   * The least that must arrive for an amount: what the terms want for it, whatever rate and room the receiver told. Otherwise it could take
   * what is sent, and the payer would be charged for less.
   */
  #leastFor(sendValue: bigint): bigint {
    const { sendMaxValue, deliverValue } = this.#terms
    return greatest(1n, (sendValue * deliverValue - this.#spare() + sendMaxValue - 1n) / sendMaxValue)
  }

  /**
   * By how much the next packet may deliver less than the terms want for it: by what arrived beyond that before, without what packets that
   * may still arrive take of it. What these would bring beyond the terms makes up for nothing: they may turn out to be lost. In units of the
   * receiver, times `sendMaxValue`.
   */
  #spare(): bigint {
    const { sentValue, deliveredValue, unknownShortValue } = this.#progress
    return -this.#short(sentValue, deliveredValue) - unknownShortValue - this.#underWayShort
  }

  /** By how much less was delivered than the terms want for what was sent, in the same units; negative when it was more. */
  #short(sendValue: bigint, deliverValue: bigint): bigint {
    return sendValue * this.#terms.deliverValue - deliverValue * this.#terms.sendMaxValue
  }

  /** By how much a packet may deliver less than the terms want for it, in the same units. */
  #shortOf({ sendValue, deliverMinValue }: PacketAmounts): bigint {
    return greatest(0n, this.#short(sendValue, deliverMinValue))
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
    this.#limitsInRow = 0
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
    const { unknownSentValue, unknownDeliverValue, unknownShortValue } = this.#progress
    this.#progress = {
      ...this.#progress,
      unknownSentValue: unknownSentValue + packet.sendValue,
      unknownDeliverValue: unknownDeliverValue + packet.deliverMinValue,
      unknownShortValue: unknownShortValue + this.#shortOf(packet)
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

  /**
   * A packet was too large. A path that tells of one limit after the other, and keeps to none, is not followed for long: then at most half
   * is tried each time.
   *
   * @param toldValue what the path takes, as it says
   */
  tooLarge({ sendValue }: PacketAmounts, toldValue: bigint): void {
    // Those that were under way when a limit was told say the same again.
    if (sendValue <= (this.#packetLimitValue ?? sendValue)) this.#limitsInRow += 1
    const isFollowed = this.#limitsInRow <= LIMITS_FOLLOWED_MAX
    this.#limitPackets(isFollowed ? toldValue : least(toldValue, sendValue / 2n))
  }

  /** The path takes no larger packets. */
  #limitPackets(value: bigint): void {
    const limit = greatest(1n, value)
    this.#packetLimitValue = least(this.#packetLimitValue ?? limit, limit)
  }

  /**
   * The path has too little money for packets as large as this: half of it is tried, and more again once that arrives. But not if rounding
   * would take so much of it that the receiver must refuse it.
   */
  lackMoneyFor({ sendValue }: PacketAmounts): void {
    const half = sendValue / 2n
    const rate = this.#likelyRate
    if (half === 0n) return
    if (rate !== undefined) {
      const value = withoutRemainder(half, rate)
      if (timesRoundedDown(value, rate) < this.#leastFor(value)) return
    }
    this.#temporaryLimitValue = half
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
    this.#underWayShort += sign * this.#shortOf(packet)
    this.#underWay = {
      sendValue: this.#underWay.sendValue + sign * sendValue,
      deliverMinValue: this.#underWay.deliverMinValue + sign * deliverMinValue,
      deliverLikelyValue: this.#underWay.deliverLikelyValue + sign * deliverLikelyValue,
      deliverMaxValue: this.#underWay.deliverMaxValue + sign * deliverMaxValue
    }
  }
}

/** The least that brings as much as an amount does; the amount itself if it brings nothing. */
function withoutRemainder(sendValue: bigint, rate: Fraction): bigint {
  const brings = timesRoundedDown(sendValue, rate)
  return brings === 0n ? sendValue : least(sendValue, timesRoundedUp(brings, inverse(rate)))
}
