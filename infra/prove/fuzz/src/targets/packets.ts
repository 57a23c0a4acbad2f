import {
  createPaymentAddresses,
  createStreamReceiver,
  type CreditResult,
  decodePrepare,
  decodeReply,
  encodePrepare,
  encodeReply,
  NO_PROGRESS,
  PacketError,
  pay,
  type Reply,
  type SenderClock
} from '@open-payments-server/interledger'
import fc from 'fast-check'
import { streamKeys } from '../../../../../packages/interledger/src/stream-keys.js'
import { openStreamPacket, sealStreamPacket } from '../../../../../packages/interledger/src/stream-packet.js'
import {
  mutatedBytes,
  packetValues,
  prepareCases,
  sealed,
  streamPlaintexts,
  writePrepare
} from '../generators/packets.js'
import { mixed } from '../generators/text.js'
import { ACCEPTED, mustHold, resultOf, type RefusalKind, target } from '../target.js'

const NOW_MS = 1_767_225_600_000
const clock = { now: (): number => NOW_MS }
/** The same bytes in every run. */
const random = { bytes: (length: number): Buffer => Buffer.alloc(length, 7) }

const ilpAddress = 'test.here'
const addresses = createPaymentAddresses({ ilpAddress, secrets: [Buffer.alloc(32, 1)] })
const destination = addresses.issue({
  paymentId: '0190a8b1-0000-7000-8000-000000000001',
  asset: { code: 'USD', scale: 2 }
})

const refusal: RefusalKind = (error) => (error instanceof PacketError ? 'no packet' : undefined)

const prepares = prepareCases.map((input) => writePrepare(input, destination, NOW_MS))
const replies: fc.Arbitrary<Buffer> = fc
  .record({
    data: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    code: fc.constantFrom(undefined, 'F08', 'F99', 'T04', '   '),
    message: fc.string({ maxLength: 20 })
  })
  .map(({ data, code, message }) =>
    encodeReply(
      code === undefined
        ? { type: 'fulfill', fulfillment: Buffer.alloc(32, 3), data }
        : { type: 'reject', code, triggeredBy: ilpAddress, message, data }
    )
  )

const packets = target({
  name: 'packets of Interledger',
  share: 600,
  cases: mixed([2, prepares], [2, replies], [3, mutatedBytes(prepares)], [3, mutatedBytes(replies)]),
  refusal,
  attack(bytes) {
    const isPrepare = bytes[0] === 12
    const again = isPrepare ? encodePrepare(decodePrepare(bytes)) : encodeReply(decodeReply(bytes))
    const reread = isPrepare ? encodePrepare(decodePrepare(again)) : encodeReply(decodeReply(again))
    mustHold({ 'what is read is written and read again': again.equals(reread) })
    return ACCEPTED
  }
})

const { encryption } = streamKeys(destination.sharedSecret)

const frames = target({
  name: 'frames of STREAM',
  share: 600,
  cases: fc.record({
    plaintext: fc.constantFrom('prepare', 'fulfill', 'reject').chain((type) => {
      const proper = streamPlaintexts(type)
      return mixed([1, proper], [3, mutatedBytes(proper)])
    }),
    seed: fc.nat()
  }),
  attack: openFrames
})

/**
 * Opens a packet of STREAM.
 *
 * @param frames.plaintext what is encrypted in it, with a nonce that follows from `seed`
 * @returns {@link ACCEPTED}, or that it is none
 */
export function openFrames({
  plaintext,
  seed
}: {
  readonly plaintext: Buffer
  readonly seed: number
}): string {
  const packet = openStreamPacket(sealed(plaintext, destination, seed), encryption)
  if (packet === undefined) return 'no packet'
  const again = openStreamPacket(sealStreamPacket(packet, encryption, random), encryption)
  mustHold({ 'what is read is written and read again': isSame(packet, again) })
  return ACCEPTED
}

function isSame(one: unknown, other: unknown): boolean {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? String(member) : member))
  return text(one) === text(other)
}

/** What the payment takes. */
const ROOM = 700n

const received = target({
  name: 'packets that a receiver answers',
  share: 500,
  acceptedMin: 0.03,
  cases: fc.record({ input: prepareCases, hasRoom: fc.boolean() }),
  async attack({ input, hasRoom }) {
    let credited = 0n
    const credit = (value: bigint): CreditResult => {
      if (!hasRoom) return { outcome: 'over' }
      if (value > ROOM) return { outcome: 'no-room', receiveMaxValue: ROOM, receivedValue: 0n }
      credited += value
      return { outcome: 'credited', value }
    }
    const receiver = createStreamReceiver({
      ilpAddress,
      addresses,
      clock,
      random,
      credits: {
        credit: ({ value }) => Promise.resolve(credit(value)),
        find: () => Promise.resolve({ outcome: hasRoom ? 'open' : 'over' })
      }
    })
    const prepare = decodePrepare(writePrepare(input, destination, NOW_MS))
    const reply = await receiver.receive(prepare, {
      packetLimitValue: 800n,
      isBusy: false,
      convert: (value) => value
    })
    mustHold({
      'nothing is credited that is not fulfilled': credited === 0n || reply.type === 'fulfill',
      'nothing is fulfilled that is not credited': reply.type === 'reject' || credited === prepare.amount,
      'what is credited could be fulfilled': credited === 0n || input.isFulfillable,
      'what is credited has not expired': credited === 0n || input.lifetimeMs >= 1_000,
      'the answer is a packet': isSame(decodeReply(encodeReply(reply)), reply)
    })
    return reply.type === 'fulfill' ? ACCEPTED : reply.code
  }
})

/** How a peer answers a packet: as the receiver does, with bytes changed, or with anything else. */
const answers = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('receiver' as const) }),
    fc.record({
      kind: fc.constant('changed' as const),
      at: fc.nat(),
      bits: fc.integer({ min: 1, max: 255 })
    }),
    mixed([1, replies], [1, mutatedBytes(replies)]).map((bytes) => ({ kind: 'bytes' as const, bytes })),
    fc.record({ kind: fc.constant('lost' as const) })
  ),
  { minLength: 1, maxLength: 12 }
)

/** Its time passes when nothing else happens. */
function createImpatientClock(): SenderClock {
  let nowMs = NOW_MS
  return {
    now: () => nowMs,
    after(milliseconds, act) {
      const untilMs = nowMs + milliseconds
      const turn = setImmediate(() => {
        nowMs = Math.max(nowMs, untilMs)
        act()
      })
      return () => {
        clearImmediate(turn)
      }
    }
  }
}

const sent = target({
  name: 'answers that a sender gets',
  share: 300,
  cases: fc.record({
    answers,
    sendMaxValue: packetValues.filter((value) => value > 0n),
    packetLimitValue: fc.constantFrom(undefined, 1n, 3n, 100n)
  }),
  async attack({ answers: given, sendMaxValue, packetLimitValue }) {
    const clock = createImpatientClock()
    let credited = 0n
    let count = 0
    const receiver = createStreamReceiver({
      ilpAddress,
      addresses,
      clock,
      random,
      credits: {
        credit({ value }) {
          credited += value
          return Promise.resolve<CreditResult>({ outcome: 'credited', value })
        },
        find: () => Promise.resolve({ outcome: 'open' })
      }
    })
    const send = async (bytes: Buffer): Promise<Buffer> => {
      const answer = given[count++ % given.length]
      const prepare = decodePrepare(bytes)
      const reply: Reply = await receiver.receive(prepare, {
        packetLimitValue: undefined,
        isBusy: false,
        convert: (value) => value
      })
      if (answer?.kind === 'lost') throw new Error('the answer is lost')
      const told =
        answer?.kind === 'bytes'
          ? answer.bytes
          : changed(encodeReply(reply), answer?.kind === 'changed' ? answer : undefined)
      // Whoever rejects a packet that arrived gets nothing for it.
      if (reply.type === 'fulfill' && isReject(told)) credited -= prepare.amount
      return told
    }
    const { progress } = await pay(
      {
        destination,
        terms: { sendMaxValue, deliverValue: sendMaxValue },
        path: { rate: undefined, packetLimitValue },
        progress: NO_PROGRESS,
        packetLifetimeMs: 20_000,
        untilMs: Infinity,
        // At most a few packets, whatever is answered.
        signal: AbortSignal.any([])
      },
      {
        path: { send },
        journal: {
          write: () => (count > 40 ? Promise.reject(new Error('enough')) : Promise.resolve())
        },
        random,
        clock
      }
    ).catch((error: unknown) => {
      if (error instanceof Error && error.message === 'enough') return { progress: NO_PROGRESS }
      throw error
    })
    const { sentValue, unknownSentValue } = progress
    mustHold({
      'no more is sent than may be': credited <= sendMaxValue,
      'what the terms allow bounds what is counted': sentValue + unknownSentValue <= sendMaxValue
    })
    return sentValue > 0n ? ACCEPTED : 'nothing was fulfilled'
  }
})

function changed(bytes: Buffer, change: { readonly at: number; readonly bits: number } | undefined): Buffer {
  const { at, bits } = change ?? { at: 0, bits: 0 }
  const place = at % bytes.length
  bytes[place] = (bytes[place] ?? 0) ^ bits
  return bytes
}

function isReject(bytes: Buffer): boolean {
  return resultOf(() => decodeReply(bytes).type, refusal) === 'reject'
}

/** What peers send, and what senders get from them. */
export const PACKET_TARGETS = [packets, frames, received, sent]
