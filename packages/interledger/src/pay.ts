import {
  exchangePacket,
  NOT_SENT,
  type PacketAnswer,
  sealPacket,
  type SealedPacket,
  type SendDependencies,
  type UnknownBecause
} from './exchange.js'
import { Pace } from './pace.js'
import { limitFromReject } from './packet-limit.js'
import { type KnownPath, type PacketAmounts, PaymentPlan, type PaymentProgress } from './pay-plan.js'
import type { StreamCredentials } from './payment-addresses.js'
import type { SendTerms } from './quote.js'
import { isFinal, isTemporary } from './reject-codes.js'
import { type StreamKeys, streamKeys } from './stream-keys.js'
import type { StreamFrame } from './stream-packet.js'

/** Without a fulfillment for so long, an attempt ends. */
const STALL_MS = 30_000
/** The most packets of one attempt: a path that takes only tiny ones must not fill the journal. */
const PACKETS_MAX = 10_000

/** A packet, as it is written down before it is sent. */
export interface JournalPacket {
  readonly sequence: number
  /** In our units. */
  readonly sendValue: bigint
  /** The least that it delivers if it arrives, in the receiver's units. */
  readonly deliverMinValue: bigint
  /** 32 bytes, by which the peer knows the packet, too. */
  readonly condition: Buffer
  readonly expiresAtMs: number
}

/** What became of a packet, as it is written down. */
export type JournalAnswer =
  | {
      readonly sequence: number
      readonly outcome: 'fulfilled'
      readonly deliveredValue: bigint
      /** The proof: 32 bytes. */
      readonly fulfillment: Buffer
    }
  | { readonly sequence: number; readonly outcome: 'rejected'; readonly code: string }
  | { readonly sequence: number; readonly outcome: 'unknown'; readonly because: UnknownBecause }

/** Where packets are written down. */
export interface PacketJournal {
  /**
   * Writes down answers, and packets that are sent once this resolves: together and durably. A rejected packet's amount is only
   * used again by packets that are written with its answer or later, so what is written never adds up to more than the terms allow.
   * May take as long as it needs to be certain: answers that come meanwhile are kept, and packets that would leave too late are not sent.
   *
   * @throws when it is not certain that they are written, or somebody else sends this payment now. Then nothing more is sent.
   */
  write(answers: readonly JournalAnswer[], packets: readonly JournalPacket[]): Promise<void>
}

/** A payment, or what is left of one. */
export interface PayOrder {
  readonly destination: StreamCredentials
  /** For the whole payment, through all attempts. */
  readonly terms: SendTerms
  /** As a probe found it. */
  readonly path: KnownPath
  /** `NO_PROGRESS` at first. Packets without an answer in the journal count as unknown. */
  readonly progress: PaymentProgress
  /** How long a packet may be under way: 20 s in the reference implementation. Each hop takes a second. */
  readonly packetLifetimeMs: number
  /** From then on no packet is sent, and those under way are waited for: milliseconds since the Unix epoch. */
  readonly untilMs: number
  /** Ends the attempt: no packet is sent any more, and those under way are waited for. */
  readonly signal: AbortSignal
}

/** How an attempt ended. */
export type PayEnd =
  /** Everything is delivered, packets of which nothing is known aside. */
  | { readonly outcome: 'complete' }
  /** The terms allow for no further packet, though something is missing: rounding took it. */
  | { readonly outcome: 'spent' }
  /** No fulfillment for 30 s, or too many packets, or too many in a row that are too large. What is left may be sent later. */
  | { readonly outcome: 'stalled'; readonly code: string | undefined }
  /** Its time is over. What is left may be sent later. */
  | { readonly outcome: 'late' }
  /** The receiver or the path does not take it, for good: `code` says why. */
  | { readonly outcome: 'rejected'; readonly code: string }
  /** The receiver takes nothing more. */
  | { readonly outcome: 'closed' }
  /** The path answered a packet with what cannot be true: people must look at that. */
  | { readonly outcome: 'violated'; readonly because: UnknownBecause }
  /** The signal was aborted. */
  | { readonly outcome: 'stopped' }

/** An attempt, when no packet is under way any more. */
export interface PayResult {
  readonly end: PayEnd
  readonly progress: PaymentProgress
  /** The packets of this attempt of which it is not known what became of them. */
  readonly unknownPackets: readonly (JournalPacket & { readonly because: UnknownBecause })[]
}

/** What paying needs besides the payment. */
export interface PayDependencies extends SendDependencies {
  readonly journal: PacketJournal
}

/**
 * Sends a payment, or what is left of it, until it is delivered or cannot go on. Never sends more than the terms allow, whatever the
 * path and the receiver answer.
 *
 * @throws PacketError when the destination has no Interledger address, or an amount of the terms none
 * @throws what the journal throws, after the packets under way were waited for. Their answers are lost: they count as unknown.
 */
export function pay(order: PayOrder, dependencies: PayDependencies): Promise<PayResult> {
  return new Attempt(order, dependencies).run()
}

interface Sent {
  readonly amounts: PacketAmounts
  readonly packet: JournalPacket
}

type Answered = Sent & { readonly answer: PacketAnswer }

/** One run of a payment, from its first packet until none is under way. */
class Attempt {
  readonly #order: PayOrder
  readonly #dependencies: PayDependencies
  readonly #keys: StreamKeys
  readonly #plan: PaymentPlan
  readonly #pace = new Pace()
  readonly #unknown: (JournalPacket & { because: UnknownBecause })[] = []
  #answered: Answered[] = []
  #underWay = 0
  #sentPackets = 0
  #lastFulfillmentMs: number
  #lastCode: string | undefined
  #end: PayEnd | undefined
  /** Whether the receiver has answered: until then packets tell it what we take. */
  #isConnected = false
  #wake: () => void = () => undefined

  constructor(order: PayOrder, dependencies: PayDependencies) {
    this.#order = order
    this.#dependencies = dependencies
    this.#keys = streamKeys(order.destination.sharedSecret)
    this.#plan = new PaymentPlan(order.terms, order.path, order.progress)
    this.#lastFulfillmentMs = dependencies.clock.now()
  }

  async run(): Promise<PayResult> {
    const stop = (): void => this.#wake()
    const { signal } = this.#order
    signal.addEventListener('abort', stop)
    try {
      return await this.#sendAll()
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  async #sendAll(): Promise<PayResult> {
    for (;;) {
      const answers = this.#answered.splice(0).map((answered) => this.#read(answered))
      const packets = this.#nextPackets()
      if (answers.length > 0 || packets.length > 0) {
        await this.#write(
          answers,
          packets.map(({ sent }) => sent.packet)
        )
        for (const { sent, sealed } of packets) void this.#send(sent, sealed)
      } else if (this.#underWay === 0 && this.#end !== undefined) {
        return { end: this.#end, progress: this.#plan.progress, unknownPackets: this.#unknown }
      } else {
        await this.#somethingHappens()
      }
    }
  }

  async #write(answers: readonly JournalAnswer[], packets: readonly JournalPacket[]): Promise<void> {
    try {
      await this.#dependencies.journal.write(answers, packets)
    } catch (error) {
      this.#end ??= { outcome: 'stopped' }
      while (this.#underWay > 0) {
        this.#answered = []
        await this.#somethingHappens()
      }
      throw error
    }
  }

  /** Takes what an answer says into account, and gives what is to be written down of it. */
  #read({ amounts, packet, answer }: Answered): JournalAnswer {
    const { sequence } = packet
    this.#hear(amounts, answer)
    switch (answer.type) {
      case 'fulfilled': {
        this.#lastFulfillmentMs = this.#dependencies.clock.now()
        this.#pace.fulfilled(
          1 - (packet.expiresAtMs - this.#lastFulfillmentMs) / this.#order.packetLifetimeMs
        )
        this.#lastCode = undefined
        const deliveredValue = this.#plan.fulfilled(amounts, answer.word?.receivedValue)
        return { sequence, outcome: 'fulfilled', deliveredValue, fulfillment: answer.fulfillment }
      }
      case 'rejected':
        this.#plan.rejected(amounts)
        this.#adapt(amounts, answer)
        return { sequence, outcome: 'rejected', code: answer.code }
      case 'unknown':
        this.#plan.unknown(amounts)
        this.#pace.unknown(this.#dependencies.clock.now())
        this.#unknown.push({ ...packet, because: answer.because })
        if (answer.because !== 'no-answer') this.#end ??= { outcome: 'violated', because: answer.because }
        return { sequence, outcome: 'unknown', because: answer.because }
    }
  }

  /** What the receiver itself says. */
  #hear(amounts: PacketAmounts, answer: PacketAnswer): void {
    if (answer.type === 'unknown' || answer.word === undefined) return
    this.#isConnected = true
    for (const frame of answer.word.frames) {
      if (frame.type === 'connection-close' || frame.type === 'stream-close')
        this.#end ??= { outcome: 'closed' }
      if (frame.type === 'stream-max-money' && answer.type === 'rejected') {
        this.#plan.limitRoom(frame.receiveMaxValue - frame.receivedValue)
      }
    }
    if (answer.type === 'rejected') this.#plan.observe(amounts, answer.word.receivedValue)
  }

  /** What a Reject means for the packets to come. */
  #adapt(amounts: PacketAmounts, answer: PacketAnswer & { readonly type: 'rejected' }): void {
    const { code, data } = answer
    const { sendValue } = amounts
    this.#lastCode = code
    const isTooLarge = code === 'F08'
    if (isTooLarge && sendValue > 1n) {
      this.#plan.tooLarge(amounts, limitFromReject(sendValue, data).value)
      this.#pace.tooLarge()
      return
    }
    if (isTooLarge || isFinal(code)) this.#end ??= { outcome: 'rejected', code }
    if (code === 'T04') this.#plan.lackMoneyFor(amounts)
    this.#pace.rejected(this.#dependencies.clock.now(), isTemporary(code))
  }

  /** Makes the packets that may be sent now, and finds out whether the attempt is over. */
  #nextPackets(): { readonly sent: Sent; readonly sealed: SealedPacket }[] {
    const nowMs = this.#dependencies.clock.now()
    this.#end ??= this.#reasonToEnd(nowMs)
    const packets = []
    while (
      this.#end === undefined &&
      this.#underWay + packets.length < this.#pace.windowAt(nowMs) &&
      this.#sentPackets < PACKETS_MAX
    ) {
      const amounts = this.#plan.next()
      if (amounts === undefined) break
      this.#sentPackets += 1
      packets.push(this.#seal(amounts, nowMs + this.#order.packetLifetimeMs))
    }
    return packets
  }

  #reasonToEnd(nowMs: number): PayEnd | undefined {
    if (this.#plan.isComplete) return { outcome: 'complete' }
    if (this.#order.signal.aborted) return { outcome: 'stopped' }
    if (this.#plan.isSpent) return { outcome: 'spent' }
    if (nowMs >= this.#order.untilMs) return { outcome: 'late' }
    const isStalled = this.#pace.isStuck || nowMs - this.#lastFulfillmentMs >= STALL_MS
    return isStalled || (this.#sentPackets >= PACKETS_MAX && this.#underWay === 0)
      ? { outcome: 'stalled', code: this.#lastCode }
      : undefined
  }

  #seal(
    { sequence, ...amounts }: PacketAmounts & { readonly sequence: number },
    expiresAtMs: number
  ): { readonly sent: Sent; readonly sealed: SealedPacket } {
    const frames: StreamFrame[] = [{ type: 'stream-money' }]
    if (!this.#isConnected) frames.push({ type: 'money-only' })
    const { sendValue, deliverMinValue } = amounts
    const sealed = sealPacket(
      { sequence, sendValue, deliverMinValue, frames, expiresAtMs, isFulfillable: true },
      this.#order.destination.ilpAddress,
      this.#keys,
      this.#dependencies.random
    )
    const { condition } = sealed
    return {
      sealed,
      sent: { amounts, packet: { sequence, sendValue, deliverMinValue, condition, expiresAtMs } }
    }
  }

  async #send(sent: Sent, sealed: SealedPacket): Promise<void> {
    this.#underWay += 1
    const answer = this.#isInTime(sent)
      ? await exchangePacket(sealed, this.#keys, this.#dependencies)
      : NOT_SENT
    this.#underWay -= 1
    this.#answered.push({ ...sent, answer })
    this.#wake()
  }

  /** Whether a packet may still be sent: writing it down may have taken long. It must have at least half of its time left. */
  #isInTime({ packet }: Sent): boolean {
    const { signal, untilMs, packetLifetimeMs } = this.#order
    const nowMs = this.#dependencies.clock.now()
    return !signal.aborted && nowMs < untilMs && nowMs <= packet.expiresAtMs - packetLifetimeMs / 2
  }

  /** Waits for an answer, the end of a pause, the time when the attempt has stalled or is over, or the signal. */
  #somethingHappens(): Promise<void> {
    if (this.#answered.length > 0) return Promise.resolve()
    const { clock } = this.#dependencies
    const nowMs = clock.now()
    const endMs = Math.min(this.#lastFulfillmentMs + STALL_MS, this.#order.untilMs)
    const { pauseUntilMs } = this.#pace
    const untilMs = pauseUntilMs > nowMs ? Math.min(pauseUntilMs, endMs) : endMs
    return new Promise((resolve) => {
      // Once the attempt is over, there is nothing to wait for but answers: every packet ends by itself.
      const cancel = this.#end === undefined ? clock.after(Math.max(0, untilMs - nowMs), resolve) : undefined
      const wake = (): void => {
        cancel?.()
        resolve()
      }
      this.#wake = wake
    })
  }
}
