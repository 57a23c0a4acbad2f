import { type Asset, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import { encodeAmountTooLarge } from './amount-too-large.js'
import { least } from './fraction.js'
import type { Prepare, Reject, Reply } from './packet.js'
import type { PaymentAddresses } from './payment-addresses.js'
import { conditionOf, fulfillmentOf, type StreamKeys } from './stream-keys.js'
import { openStreamPacket, sealStreamPacket, type StreamFrame, type StreamPacket } from './stream-packet.js'

/** Packets that expire sooner are not taken: their fulfillment could come too late for the sender. */
const LIFETIME_MIN_MS = 1000

/** From whom a packet comes, as far as that decides about the packet. Whoever credits may need more of it. */
export interface Arrival {
  /** The largest packet that is taken from there, in the units of the packet; undefined when any is. */
  readonly packetLimitValue: bigint | undefined
  /** Whether too many packets are under way from there already: only those that were credited before are fulfilled. */
  readonly isBusy: boolean
  /**
   * Converts from the asset of the packet to that of the payment, rounding down. It must not fall when `value` rises.
   *
   * @param value in the smallest units of the packet's asset
   * @returns the smallest units of `asset`; undefined when there is no rate
   */
  convert(value: bigint, asset: Asset): bigint | undefined
}

/** A packet that asks for a credit. `paymentId`, `sequence` and `condition` identify it, and `condition` alone does. */
export interface ArrivedPacket<From extends Arrival = Arrival> {
  readonly from: From
  readonly paymentId: string
  readonly asset: Asset
  readonly sequence: bigint
  /** 32 bytes. */
  readonly condition: Buffer
  /** What it is fulfilled with once it is credited: 32 bytes whose SHA-256 is the condition. */
  readonly fulfillment: Buffer
  /** The amount of the packet, in the units of its own asset: what is booked with whom it comes from. */
  readonly packetValue: bigint
  /** What the payment is to get, in its own units. */
  readonly value: bigint
  /**
   * The least that the payment may get instead, if it can take no more; `value`, unless assets were converted. A packet with one
   * unit less would not complete such a payment, and the sender accepts this much: the rest is what rounding leaves to whoever
   * converts.
   */
  readonly leastValue: bigint
  /** After this instant the packet must not be credited: milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
}

/** What became of a packet. */
export type CreditResult =
  /** It is credited, now or when it came before. */
  | { readonly outcome: 'credited'; readonly value: bigint }
  /** The payment takes nothing more: it is completed, expired or unknown. */
  | { readonly outcome: 'over' }
  /** The payment takes less than `leastValue`. */
  | { readonly outcome: 'no-room'; readonly receiveMaxValue: bigint; readonly receivedValue: bigint }
  /** The packet expired first. */
  | { readonly outcome: 'expired' }
  /** Refused for a reason outside the payment, such as the limit of whom it comes from (T04). */
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }

/** What is known of a packet that will not be credited now. */
export type FoundPacket =
  | { readonly outcome: 'credited'; readonly value: bigint }
  | { readonly outcome: 'over' }
  | { readonly outcome: 'open' }

/** Where payments are credited. Both calls may be batched with others; both should answer well within a second. */
export interface PaymentCredits<From extends Arrival = Arrival> {
  /**
   * Credits a packet once, and answers when that is durable. A packet that is credited already is found before anything else is
   * looked at, even if the payment is over since.
   *
   * @throws when the packet must not be answered: it is not known whether it was credited, or whoever it comes from may send nothing
   */
  credit(packet: ArrivedPacket<From>): Promise<CreditResult>
  /** What `credit` would find of the packet and its payment, without crediting. */
  find(packet: Pick<ArrivedPacket<From>, 'from' | 'paymentId' | 'condition'>): Promise<FoundPacket>
}

export interface ReceiverDependencies<From extends Arrival> {
  /** Tells who rejects: see `ReceivingServer`. */
  readonly ilpAddress: string
  readonly addresses: PaymentAddresses
  readonly credits: PaymentCredits<From>
  readonly clock: Clock
  readonly random: Random
}

/** Answers the packets of payments. It keeps nothing between two packets. */
export interface StreamReceiver<From extends Arrival> {
  /**
   * Answers a packet: credits it, then fulfills it; or rejects it.
   *
   * @throws what the credits throw. Then the packet may have been credited, and must not be answered: a Reject would be a lie.
   */
  receive(prepare: Prepare, from: From): Promise<Reply>
}

/** A stateless receiver of STREAM payments (IL-RFC 29). */
export function createStreamReceiver<From extends Arrival>(
  dependencies: ReceiverDependencies<From>
): StreamReceiver<From> {
  const { ilpAddress, addresses, credits, clock } = dependencies
  return {
    async receive(prepare, from) {
      const resolved = addresses.resolve(prepare.destination)
      if (resolved.outcome === 'elsewhere') return bareReject(ilpAddress, 'F02', 'no such address')
      if (resolved.outcome === 'unknown') return bareReject(ilpAddress, 'F06', 'no such payment')
      const { keys } = resolved
      const request = openStreamPacket(prepare.data, keys.encryption)
      if (request?.type !== 'prepare') return bareReject(ilpAddress, 'F06', 'not a STREAM request')

      const { asset, paymentId } = resolved.target
      const value = from.convert(prepare.amount, asset)
      const replies = createReplies({ keys, prepare, request, value: value ?? 0n, asset }, dependencies)
      // A packet may come again when the rate that it was credited at is another, or gone: then a Reject would be a lie.
      const unlessCredited = async (reject: Reject): Promise<Reply> => {
        if (!replies.isFulfillable || prepare.amount === 0n) return reject
        const found = await credits.find({ from, paymentId, condition: prepare.executionCondition })
        return found.outcome === 'credited' ? replies.fulfill(found.value) : reject
      }
      if (value === undefined) return unlessCredited(bareReject(ilpAddress, 'T00', 'no rate'))
      if (value > UINT64_MAX) {
        return unlessCredited(tooLarge(ilpAddress, prepare, (prepare.amount * UINT64_MAX) / value))
      }
      if (request.frames.some(({ type }) => type === 'connection-close')) return replies.close()
      const early = answerWithoutCredit(prepare, request, value, replies)
      if (early !== undefined) return early.type === 'reject' ? unlessCredited(early) : early

      const packet: ArrivedPacket<From> = {
        from,
        paymentId,
        asset,
        sequence: request.sequence,
        condition: prepare.executionCondition,
        fulfillment: replies.fulfillment,
        packetValue: prepare.amount,
        value,
        leastValue: leastValueOf(prepare, request, value, asset, from),
        expiresAtMs: prepare.expiresAtMs
      }
      const { packetLimitValue } = from
      if (packetLimitValue !== undefined && prepare.amount > packetLimitValue) {
        return replies.found(await credits.find(packet), () =>
          tooLarge(ilpAddress, prepare, packetLimitValue)
        )
      }
      if (prepare.expiresAtMs - clock.now() < LIFETIME_MIN_MS) {
        return replies.found(await credits.find(packet), () => replies.reject('R02', 'expires too soon'))
      }
      if (from.isBusy) {
        return replies.found(await credits.find(packet), () =>
          replies.reject('T03', 'too many packets at a time')
        )
      }
      return replies.credited(await credits.credit(packet))
    }
  }
}

/** What can be answered without asking what the payment can take. Probes, which ask for more than anybody has, end here. */
function answerWithoutCredit(
  prepare: Prepare,
  request: StreamPacket,
  value: bigint,
  replies: Replies
): Reply | undefined {
  // F05 and F04 would say more, but senders take them for the end of the payment.
  if (!replies.isFulfillable) return replies.reject('F99', 'not fulfillable')
  if (value < request.amount) return replies.reject('F99', 'less than the sender accepts')
  if (prepare.amount === 0n) return replies.fulfill(0n)
  if (value === 0n) return replies.reject('R01', 'too little to convert')
  return undefined
}

/** See `ArrivedPacket.leastValue`. */
function leastValueOf(
  prepare: Prepare,
  request: StreamPacket,
  value: bigint,
  asset: Asset,
  from: Arrival
): bigint {
  const below = from.convert(prepare.amount - 1n, asset) ?? value
  return least(value, below + 1n > request.amount ? below + 1n : request.amount)
}

interface Replies {
  readonly isFulfillable: boolean
  readonly fulfillment: Buffer
  fulfill(value: bigint): Reply
  reject(code: string, message: string, frame?: StreamFrame): Reject
  close(): Reply
  credited(result: CreditResult): Reply
  found(found: FoundPacket, otherwise: () => Reply): Reply
}

interface Request {
  readonly keys: StreamKeys
  readonly prepare: Prepare
  readonly request: StreamPacket
  readonly value: bigint
  readonly asset: Asset
}

/** The answers to one packet, each with what arrived, encrypted for the sender. */
function createReplies(
  { keys, prepare, request, value, asset }: Request,
  { ilpAddress, random }: { readonly ilpAddress: string; readonly random: Random }
): Replies {
  const fulfillment = fulfillmentOf(prepare.data, keys)
  const common: StreamFrame[] = request.frames.some(({ type }) => type === 'connection-new-address')
    ? [{ type: 'connection-asset-details', ...asset }]
    : []
  const data = (type: 'fulfill' | 'reject', amount: bigint, frames: readonly StreamFrame[]): Buffer =>
    sealStreamPacket({ type, sequence: request.sequence, amount, frames }, keys.encryption, random)

  const fulfill = (received: bigint): Reply => ({
    type: 'fulfill',
    fulfillment,
    data: data('fulfill', received, common)
  })
  const reject = (code: string, message: string, ...frames: StreamFrame[]): Reject => ({
    ...bareReject(ilpAddress, code, message),
    data: data('reject', value, [...common, ...frames])
  })
  const close = (): Reply => reject('F99', 'closed', { type: 'connection-close' })
  return {
    isFulfillable: conditionOf(fulfillment).equals(prepare.executionCondition),
    fulfillment,
    fulfill,
    reject,
    close,
    credited(result) {
      switch (result.outcome) {
        case 'credited':
          return fulfill(result.value)
        case 'over':
          return close()
        case 'no-room': {
          const { receiveMaxValue, receivedValue } = result
          return reject('F99', 'more than the payment takes', {
            type: 'stream-max-money',
            receiveMaxValue,
            receivedValue
          })
        }
        case 'expired':
          return reject('R00', 'expired')
        case 'refused':
          return reject(result.code, result.message)
      }
    },
    found(found, otherwise) {
      if (found.outcome === 'credited') return fulfill(found.value)
      return found.outcome === 'over' ? close() : otherwise()
    }
  }
}

function bareReject(ilpAddress: string, code: string, message: string): Reject {
  return { type: 'reject', code, triggeredBy: ilpAddress, message, data: Buffer.alloc(0) }
}

function tooLarge(ilpAddress: string, prepare: Prepare, maximumValue: bigint): Reject {
  return {
    ...bareReject(ilpAddress, 'F08', 'packet too large'),
    data: encodeAmountTooLarge({ receivedValue: prepare.amount, maximumValue })
  }
}
