import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { decodePrepare, encodeReply, NO_PROGRESS, pay, rateOfPacket, type SendTerms } from '../src/index.js'
import { fulfillmentOf, streamKeys } from '../src/stream-keys.js'
import { openStreamPacket, sealStreamPacket, type StreamFrame } from '../src/stream-packet.js'
import { type JournalRow, MemoryJournal } from './support/memory-journal.js'
import { RANDOM } from './support/simulated-path.js'
import { VirtualClock } from './support/virtual-clock.js'

const SECRET = Buffer.alloc(32, 7)
const KEYS = streamKeys(SECRET)

/** What a receiver does with a packet. It and the whole path are one: nothing that it answers is checked by anybody else. */
interface Deed {
  /** `cheap` takes what asks for less than the terms want, and no other. */
  readonly takes: 'all' | 'none' | 'cheap'
  /** What it says that arrived, thousandths of what was sent; undefined says nothing. */
  readonly saysThousandths: bigint | undefined
  readonly room: bigint | undefined
  readonly closes: boolean
  readonly code: string
  /** The limit that an F08 tells, thousandths of what was sent. */
  readonly limitThousandths: bigint | undefined
  readonly afterMs: number
}

const HONEST: Deed = {
  takes: 'all',
  saysThousandths: 1000n,
  room: undefined,
  closes: false,
  code: 'F99',
  limitThousandths: undefined,
  afterMs: 5
}

const ONE_FOR_MANY: Deed = { ...HONEST, saysThousandths: 5n }
/** It has what it wants: the payment ends. */
const LEAVING = Array.from({ length: 20 }, (): Deed => ({ ...HONEST, takes: 'none', code: 'F02' }))

interface Liar {
  readonly terms: SendTerms
  /** What the probe showed: the receiver's units for a thousand of ours. */
  readonly claimedRate: bigint
  readonly packetLimitValue: bigint | undefined
  /** In turn, again and again. */
  readonly deeds: readonly Deed[]
}

/** Pays a liar in several attempts, as long as there are any, and gives what is in the journal then. */
async function payLiar({
  terms,
  claimedRate,
  packetLimitValue,
  deeds
}: Liar): Promise<readonly JournalRow[]> {
  const clock = new VirtualClock()
  const journal = new MemoryJournal(terms)
  let count = 0
  const send = async (bytes: Buffer): Promise<Buffer> => {
    const { amount, data } = decodePrepare(bytes)
    const { sequence, amount: leastValue } = openStreamPacket(data, KEYS.encryption)!
    const deed = deeds[count++ % deeds.length]!
    const isCheap = leastValue * terms.sendMaxValue < amount * terms.deliverValue
    const isTaken = deed.takes === 'all' || (deed.takes === 'cheap' && isCheap)
    const says = deed.saysThousandths && (amount * deed.saysThousandths) / 1000n
    const frames: StreamFrame[] = []
    if (deed.room !== undefined) {
      frames.push({ type: 'stream-max-money', receiveMaxValue: deed.room, receivedValue: 0n })
    }
    if (deed.closes) frames.push({ type: 'stream-close' })
    const sealed = (type: 'fulfill' | 'reject'): Buffer =>
      says === undefined
        ? Buffer.alloc(0)
        : sealStreamPacket({ type, sequence, amount: says, frames }, KEYS.encryption, RANDOM)
    await clock.wait(deed.afterMs)
    if (isTaken) {
      return encodeReply({
        type: 'fulfill',
        fulfillment: fulfillmentOf(data, KEYS),
        data: sealed('fulfill')
      })
    }
    const limit = Buffer.alloc(16)
    limit.writeBigUInt64BE(1000n)
    limit.writeBigUInt64BE(deed.limitThousandths ?? 0n, 8)
    return encodeReply({
      type: 'reject',
      code: deed.code,
      triggeredBy: 'test.liar',
      message: '',
      data: deed.code === 'F08' && deed.limitThousandths !== undefined ? limit : sealed('reject')
    })
  }
  for (let attempt = 0; attempt < 2; attempt++) {
    const order = {
      destination: { ilpAddress: 'test.liar', sharedSecret: SECRET },
      terms,
      path: { rate: rateOfPacket(10n ** 12n, claimedRate * 10n ** 9n), packetLimitValue },
      progress: attempt === 0 ? NO_PROGRESS : journal.progress,
      packetLifetimeMs: 20_000,
      untilMs: Infinity,
      signal: new AbortController().signal
    }
    await clock.run(pay(order, { path: { send }, clock, random: RANDOM, journal }))
  }
  return [...journal.rows.values()]
}

/**
 * Checks that whatever was sent counts as delivered at the terms, to the unit, whichever of the unknown packets have arrived: those that did
 * count with their minimum.
 */
function checkCharge({ sendMaxValue, deliverValue }: SendTerms, rows: readonly JournalRow[]): void {
  let sentValue = 0n
  let countedValue = 0n
  for (const { answer, sendValue, deliverMinValue } of rows) {
    const isShort = deliverMinValue * sendMaxValue < sendValue * deliverValue
    if (answer?.outcome === 'fulfilled' || (answer?.outcome === 'unknown' && isShort)) {
      sentValue += sendValue
      countedValue += answer.outcome === 'fulfilled' ? answer.deliveredValue : deliverMinValue
    }
  }
  expect(sentValue).toBeLessThanOrEqual(sendMaxValue)
  expect(countedValue * sendMaxValue).toBeGreaterThanOrEqual(sentValue * deliverValue)
}

describe('a receiver that lies', () => {
  const terms = { sendMaxValue: 400n, deliverValue: 400n }

  it('gets no first packet that asks for less than the terms want, however small it makes it', async () => {
    const dear = { sendMaxValue: 2_093n, deliverValue: 1_999n }
    const rows = await payLiar({
      terms: dear,
      claimedRate: 960n,
      packetLimitValue: 2n,
      deeds: [{ ...HONEST, saysThousandths: undefined }, ...LEAVING]
    })
    checkCharge(dear, rows)
  })

  it('about its room gets no packet for which it may accept less', async () => {
    const rows = await payLiar({
      terms,
      claimedRate: 1000n,
      packetLimitValue: 200n,
      deeds: [{ ...HONEST, takes: 'none', saysThousandths: 5n, room: 1n }, ONE_FOR_MANY, ...LEAVING]
    })
    checkCharge(terms, rows)
  })

  it('with units that are worth much gets nothing for which nobody is charged', async () => {
    const coarse = { sendMaxValue: 2_010n, deliverValue: 2n }
    const deeds = [{ ...HONEST, saysThousandths: 0n, closes: true }]
    checkCharge(coarse, await payLiar({ terms: coarse, claimedRate: 1n, packetLimitValue: undefined, deeds }))
  })

  it('that never answers a packet gets no other one for less by what that would have brought', async () => {
    const short = { sendMaxValue: 6n, deliverValue: 2n }
    const deeds = [
      { ...HONEST, closes: true, afterMs: 22_000 },
      { ...HONEST, takes: 'none', saysThousandths: 0n },
      { ...HONEST, saysThousandths: undefined, closes: true }
    ] as const
    checkCharge(
      short,
      await payLiar({ terms: short, claimedRate: 4000n, packetLimitValue: undefined, deeds })
    )
  })

  it('about the rate gets no packet for which it may accept less, while others are under way', async () => {
    const rows = await payLiar({
      terms,
      claimedRate: 1400n,
      packetLimitValue: 20n,
      deeds: [{ ...HONEST, saysThousandths: undefined, afterMs: 1000 }]
    })
    checkCharge(terms, rows)
  })

  it('about the rate in a Reject is not sent many packets of which rounding takes most', async () => {
    const short = { sendMaxValue: 10_050n, deliverValue: 100n }
    const rows = await payLiar({
      terms: short,
      claimedRate: 10n,
      packetLimitValue: 399n,
      deeds: [
        { ...HONEST, takes: 'none', saysThousandths: 5n },
        ...Array.from({ length: 10 }, () => ONE_FOR_MANY),
        ...LEAVING
      ]
    })
    checkCharge(short, rows)
  })

  it('in whatever way is charged for: what counts as delivered is never less than the terms want for what was sent', async () => {
    const thousandths = fc.oneof(fc.bigInt({ min: 0n, max: 3000n }), fc.constantFrom(0n, 1n, 10n ** 9n))
    const deed = fc.record<Deed>({
      takes: fc.constantFrom('all', 'all', 'none', 'cheap'),
      saysThousandths: fc.option(thousandths, { nil: undefined }),
      room: fc.option(fc.oneof(fc.constantFrom(1n, 2n), fc.bigInt({ min: 0n, max: 300n })), {
        nil: undefined
      }),
      closes: fc.integer({ min: 0, max: 30 }).map((drawn) => drawn === 0),
      code: fc.constantFrom('F99', 'F99', 'F08', 'T04', 'T00', 'R01'),
      limitThousandths: fc.option(fc.bigInt({ min: 0n, max: 999n }), { nil: undefined }),
      // The last comes too late: the money is taken, and the sender does not know.
      afterMs: fc.constantFrom(1, 5, 400, 1500, 22_000)
    })
    const liar = fc.record<Liar>({
      terms: fc
        .record({
          sendMaxValue: fc.bigInt({ min: 1n, max: 300n }),
          deliverValue: fc.bigInt({ min: 1n, max: 300n }),
          // Units that are worth more or less, by the scales of both assets.
          unit: fc.constantFrom(1n, 1n, 97n, 100n, 10n ** 9n),
          isReceiverFiner: fc.boolean()
        })
        .map(({ sendMaxValue, deliverValue, unit, isReceiverFiner }) =>
          isReceiverFiner
            ? { sendMaxValue, deliverValue: deliverValue * unit }
            : { sendMaxValue: sendMaxValue * unit, deliverValue }
        ),
      claimedRate: fc.bigInt({ min: 1n, max: 5000n }),
      packetLimitValue: fc.option(fc.bigInt({ min: 5n, max: 100n }), { nil: undefined }),
      deeds: fc.array(deed, { minLength: 1, maxLength: 12 })
    })
    await fc.assert(
      fc.asyncProperty(liar, async (ofLiar) => {
        checkCharge(ofLiar.terms, await payLiar(ofLiar))
      }),
      { numRuns: 100 }
    )
  })
})
