import { randomBytes } from 'node:crypto'
import {
  type Arrival,
  createPaymentAddresses,
  createStreamReceiver,
  decodePrepare,
  encodeAmountTooLarge,
  encodePrepare,
  encodeReply,
  type Fraction,
  PacketNotSent,
  type PacketPath,
  type Prepare,
  type StreamCredentials
} from '../../src/index.js'
import { MemoryCredits } from './memory-credits.js'
import type { VirtualClock } from './virtual-clock.js'

export const RANDOM = { bytes: randomBytes }
export const PAYMENT_ID = '0190a0b0-c0d0-7000-8000-00000000000a'
const ASSET = { code: 'EUR', scale: 2 }
const US = 'test.receiver'

/** How a path treats packets. Probabilities are of a hundred. */
export interface PathBehavior {
  /** Receiver's units for one of the sender's; rounded down where the receiver converts. */
  readonly rate: Fraction
  /** Another rate, from the packet with this number on. */
  readonly rateChange?: { readonly atPacket: number; readonly rate: Fraction }
  /** A connector before the receiver that takes a part, rounded down. */
  readonly connectorRate?: Fraction
  /** What the path takes at once; F08 above, with or without data. */
  readonly packetLimitValue?: bigint | undefined
  readonly hasLimitData?: boolean
  /** Lost on the way there, and back. */
  readonly lostPercent?: number
  readonly lostReplyPercent?: number
  /** Each way, up to so long: packets overtake each other. */
  readonly delayMaxMs?: number
  /** Arrives twice at the receiver. */
  readonly doubledPercent?: number
  /** Rejected on the way, with one of these codes. */
  readonly rejectedPercent?: number
  readonly rejectCodes?: readonly string[]
  /** Not even sent. */
  readonly notSentPercent?: number
  /** Answered after the sender has given it up. */
  readonly latePercent?: number
  /** The receiver's Fulfill is replaced. */
  readonly lie?: { readonly percent: number; readonly reply: (prepare: Prepare, reply: Buffer) => Buffer }
}

/** A receiver of ours behind a path, and what arrived there. */
export interface SimulatedPath extends PacketPath {
  readonly credits: MemoryCredits
  readonly credentials: StreamCredentials
  /** Every Prepare that left the sender. */
  readonly sent: Prepare[]
  /** The most packets that were under way at once. */
  readonly underWayMax: number
}

/**
 * @param draw gives numbers from 0 to below 1, so that a run can be repeated
 */
export function createSimulatedPath(
  behavior: PathBehavior,
  clock: VirtualClock,
  draw: () => number,
  maximumValue?: bigint
): SimulatedPath {
  const addresses = createPaymentAddresses({ ilpAddress: US, secrets: [Buffer.alloc(32, 9)] })
  const credits = new MemoryCredits(() => clock.now())
  credits.open(PAYMENT_ID, maximumValue)
  const receiver = createStreamReceiver({ ilpAddress: US, addresses, credits, clock, random: RANDOM })
  const sent: Prepare[] = []
  let underWay = 0
  let underWayMax = 0

  const happens = (percent = 0): boolean => draw() * 100 < percent
  const delay = (): Promise<void> => clock.wait(draw() * (behavior.delayMaxMs ?? 5))
  const never = (): Promise<never> => new Promise(() => undefined)
  const rateNow = (): Fraction =>
    behavior.rateChange !== undefined && sent.length > behavior.rateChange.atPacket
      ? behavior.rateChange.rate
      : behavior.rate
  const connectorReject = (code: string, data: Buffer = Buffer.alloc(0)): Buffer =>
    encodeReply({ type: 'reject', code, triggeredBy: 'test.connector', message: '', data })

  const deliver = async (prepare: Prepare, { numerator, denominator }: Fraction): Promise<Buffer> => {
    const from: Arrival = {
      packetLimitValue: undefined,
      isBusy: false,
      convert: (value) => (value * numerator) / denominator
    }
    // As a listener reads it.
    return encodeReply(await receiver.receive(decodePrepare(encodePrepare(prepare)), from))
  }
  const forward = async (prepare: Prepare): Promise<Buffer> => {
    if (behavior.packetLimitValue !== undefined && prepare.amount > behavior.packetLimitValue) {
      const told = { receivedValue: prepare.amount, maximumValue: behavior.packetLimitValue }
      return connectorReject('F08', behavior.hasLimitData === false ? undefined : encodeAmountTooLarge(told))
    }
    if (happens(behavior.rejectedPercent)) {
      const codes = behavior.rejectCodes ?? ['T02']
      return connectorReject(codes[Math.floor(draw() * codes.length)]!)
    }
    const { numerator, denominator } = behavior.connectorRate ?? { numerator: 1n, denominator: 1n }
    const forwarded = {
      ...prepare,
      amount: (prepare.amount * numerator) / denominator,
      expiresAtMs: prepare.expiresAtMs - 1000
    }
    // Both copies find one rate. If the first was rejected for its rate, and a copy found a better one, it would be credited:
    // whoever doubled it pays for that.
    const rate = rateNow()
    if (happens(behavior.doubledPercent)) void delay().then(() => deliver(forwarded, rate))
    const reply = await deliver(forwarded, rate)
    const { lie } = behavior
    return lie !== undefined && happens(lie.percent) ? lie.reply(prepare, reply) : reply
  }
  return {
    credits,
    credentials: addresses.issue({ paymentId: PAYMENT_ID, asset: ASSET }),
    sent,
    get underWayMax() {
      return underWayMax
    },
    async send(bytes, signal) {
      if (happens(behavior.notSentPercent)) throw new PacketNotSent('connection refused')
      sent.push(decodePrepare(bytes))
      underWay += 1
      underWayMax = Math.max(underWayMax, underWay)
      try {
        await delay()
        if (happens(behavior.lostPercent)) await Promise.race([never(), clock.wait(3_600_000, signal)])
        const reply = await forward(decodePrepare(bytes))
        await delay()
        if (happens(behavior.lostReplyPercent)) throw new Error('connection reset')
        if (happens(behavior.latePercent)) await clock.wait(3_600_000, signal)
        return reply
      } finally {
        underWay -= 1
      }
    }
  }
}
