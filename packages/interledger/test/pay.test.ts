import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { randomSequence } from '@open-payments-server/testing'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import {
  decodePrepare,
  decodeReply,
  encodeAmountTooLarge,
  encodeReply,
  NO_PROGRESS,
  pay,
  type PayEnd,
  type PaymentProgress,
  type PayResult,
  type Prepare,
  rateOfPacket,
  type SendTerms
} from '../src/index.js'
import { streamKeys } from '../src/stream-keys.js'
import {
  openStreamPacket,
  sealStreamPacket,
  type StreamFrame,
  type StreamPacket
} from '../src/stream-packet.js'
import { MemoryJournal } from './support/memory-journal.js'
import {
  createSimulatedPath,
  type PathBehavior,
  PAYMENT_ID,
  RANDOM,
  type SimulatedPath
} from './support/simulated-path.js'
import { VirtualClock } from './support/virtual-clock.js'

const ONE = { numerator: 1n, denominator: 1n }

interface Run {
  readonly clock: VirtualClock
  readonly path: SimulatedPath
  readonly journal: MemoryJournal
  attempt(options?: {
    progress?: PaymentProgress
    signal?: AbortSignal
    isRateKnown?: boolean
    packetLimitValue?: bigint
    untilMs?: number
  }): Promise<PayResult>
  receivedValue(): bigint
}

function runOf(terms: SendTerms, behavior: PathBehavior, maximumValue?: bigint, seed = 1): Run {
  const clock = new VirtualClock()
  const draw = randomSequence(seed)
  const path = createSimulatedPath(behavior, clock, draw, maximumValue)
  const journal = new MemoryJournal(terms, () => clock.wait(draw() * 3))
  return {
    clock,
    path,
    journal,
    attempt: ({
      progress = NO_PROGRESS,
      signal,
      isRateKnown = true,
      packetLimitValue,
      untilMs = Infinity
    } = {}) => {
      const { numerator, denominator } = behavior.rate
      const known = rateOfPacket(10n ** 12n, (10n ** 12n * numerator) / denominator)
      return clock.run(
        pay(
          {
            destination: path.credentials,
            terms,
            path: { rate: isRateKnown ? known : undefined, packetLimitValue },
            progress,
            packetLifetimeMs: 20_000,
            untilMs,
            signal: signal ?? new AbortController().signal
          },
          { path, clock, random: RANDOM, journal }
        )
      )
    },
    receivedValue: () => path.credits.payments.get(PAYMENT_ID)!.receivedValue
  }
}

/**
 * What must hold whatever happened: the journal, the result, and what the receiver was credited tell of the same packets, and nothing
 * was credited twice or beyond the terms.
 */
function checkBooks({ path, journal, receivedValue }: Run, result?: PayResult): void {
  const { credited } = path.credits
  let creditedValue = 0n
  for (const value of credited.values()) creditedValue += value
  expect(creditedValue).toBe(receivedValue())
  const rows = [...journal.rows.values()]
  const byCondition = new Map(rows.map((row) => [row.condition.toString('hex'), row]))
  for (const [condition, value] of credited) {
    const row = byCondition.get(condition)
    expect(row).toBeDefined()
    expect(row!.answer?.outcome).not.toBe('rejected')
    expect(value).toBeGreaterThanOrEqual(row!.deliverMinValue)
    if (row!.answer?.outcome === 'fulfilled') expect(row!.answer.deliveredValue).toBe(value)
  }
  for (const row of rows) {
    if (row.answer?.outcome === 'fulfilled') {
      expect(credited.has(row.condition.toString('hex'))).toBe(true)
    }
  }
  for (const { executionCondition, amount } of path.sent) {
    expect(byCondition.get(executionCondition.toString('hex'))?.sendValue).toBe(amount)
  }
  expect(path.underWayMax).toBeLessThanOrEqual(20)
  if (result !== undefined) {
    expect(result.progress).toEqual(journal.progress)
    const unknown = rows.filter(({ answer }) => answer?.outcome === 'unknown')
    expect(unknown).toEqual(
      expect.arrayContaining(
        result.unknownPackets.map(({ sequence }) => expect.objectContaining({ sequence }))
      )
    )
  }
}

describe('a payment', () => {
  it('of one packet is sent exactly, once', async () => {
    const run = runOf({ sendMaxValue: 10_000n, deliverValue: 10_000n }, { rate: ONE }, 10_000n)
    const result = await run.attempt()
    expect(result).toEqual({
      end: { outcome: 'complete' },
      progress: { ...NO_PROGRESS, nextSequence: 1, sentValue: 10_000n, deliveredValue: 10_000n },
      unknownPackets: []
    })
    expect(run.path.sent).toHaveLength(1)
    checkBooks(run, result)
  })

  it('is sent in the largest packets that the path takes, as F08 tells, up to twenty at once', async () => {
    const terms = { sendMaxValue: 100_000n, deliverValue: 100_000n }
    const run = runOf(terms, { rate: ONE, packetLimitValue: 1000n, delayMaxMs: 100 }, 100_000n)
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'complete' })
    expect(run.path.sent).toHaveLength(101)
    expect(run.path.underWayMax).toBe(20)
    expect(run.receivedValue()).toBe(100_000n)
    checkBooks(run, result)
  })

  it('halves its packets when F08 has no data', async () => {
    const terms = { sendMaxValue: 100_000n, deliverValue: 100_000n }
    const run = runOf(terms, { rate: ONE, packetLimitValue: 30_000n, hasLimitData: false })
    const result = await run.attempt()
    expect(run.path.sent.slice(0, 3).map(({ amount }) => amount)).toEqual([100_000n, 50_000n, 25_000n])
    expect(result.end).toEqual({ outcome: 'complete' })
    checkBooks(run, result)
  })

  it('sends no more than delivers the amount, when the rate is better than it must be', async () => {
    const rate = { numerator: 11n, denominator: 10n }
    const run = runOf({ sendMaxValue: 1000n, deliverValue: 1000n }, { rate })
    const result = await run.attempt()
    expect(result.progress).toMatchObject({ sentValue: 910n, deliveredValue: 1001n })
    checkBooks(run, result)
  })

  it('is delivered to the unit where the last unit of ours brings too much', async () => {
    const rate = { numerator: 10n, denominator: 1n }
    const run = runOf({ sendMaxValue: 101n, deliverValue: 1007n }, { rate, packetLimitValue: 30n }, 1007n)
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'complete' })
    expect(result.progress).toMatchObject({ sentValue: 101n, deliveredValue: 1007n })
    expect(run.receivedValue()).toBe(1007n)
    checkBooks(run, result)
  })

  it('loses nothing to rounding where many of our units are one of the receiver’s', async () => {
    const rate = { numerator: 1n, denominator: 100n }
    const run = runOf({ sendMaxValue: 10_050n, deliverValue: 100n }, { rate, packetLimitValue: 150n }, 100n)
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'complete' })
    expect(result.progress).toMatchObject({ sentValue: 10_000n, deliveredValue: 100n })
    checkBooks(run, result)
  })

  it('goes on at a rate that becomes worse, as long as the terms allow it', async () => {
    const terms = { sendMaxValue: 100_000n, deliverValue: 99_500n }
    const rateChange = { atPacket: 5, rate: { numerator: 996n, denominator: 1000n } }
    const run = runOf(terms, { rate: ONE, rateChange, packetLimitValue: 5000n })
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'complete' })
    expect(result.progress.sentValue).toBeLessThanOrEqual(100_000n)
    expect(result.progress.deliveredValue).toBeGreaterThanOrEqual(99_500n)
    checkBooks(run, result)
  })

  it('that is answered no more does not tell of an earlier Reject, after which it went on', async () => {
    let count = 0
    const way = { rate: ONE, packetLimitValue: 1_000n, lostPercent: 0, lie: { percent: 100, reply } }
    function reply(_prepare: Prepare, answer: Buffer): Buffer {
      count += 1
      if (count === 5) way.lostPercent = 100
      const reject = {
        type: 'reject',
        code: 'F99',
        triggeredBy: '',
        message: '',
        data: Buffer.alloc(0)
      } as const
      return count === 1 ? encodeReply(reject) : answer
    }
    const run = runOf({ sendMaxValue: 100_000_000n, deliverValue: 100_000_000n }, way)
    expect((await run.attempt()).end).toEqual({ outcome: 'stalled', code: undefined })
  })

  it('stops at a rate that is worse than the terms allow, and tells what was delivered', async () => {
    const terms = { sendMaxValue: 100_000n, deliverValue: 99_500n }
    const rateChange = { atPacket: 5, rate: { numerator: 99n, denominator: 100n } }
    const run = runOf(terms, { rate: ONE, rateChange, packetLimitValue: 5000n })
    const startedMs = run.clock.now()
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'stalled', code: 'F99' })
    expect(result.progress.deliveredValue).toBeGreaterThan(0n)
    expect(result.progress.deliveredValue).toBe(run.receivedValue())
    expect(run.clock.now() - startedMs).toBeLessThan(35_000)
    checkBooks(run, result)
  })

  it('sends fewer and fewer packets at a rate that is worse than the terms allow', async () => {
    const terms = { sendMaxValue: 1_000_000n, deliverValue: 995_000n }
    const rateChange = { atPacket: 100, rate: { numerator: 9n, denominator: 10n } }
    const run = runOf(terms, { rate: ONE, rateChange, packetLimitValue: 5000n, delayMaxMs: 100 })
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'stalled', code: 'F99' })
    expect(run.path.underWayMax).toBe(20)
    expect(run.path.sent.length).toBeLessThan(100 + 80)
    checkBooks(run, result)
  })

  it('delivers what there is room for when others have paid meanwhile', async () => {
    const run = runOf({ sendMaxValue: 1000n, deliverValue: 1000n }, { rate: ONE }, 1000n)
    run.path.credits.payments.get(PAYMENT_ID)!.receivedValue = 300n
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'closed' })
    expect(result.progress).toMatchObject({ sentValue: 700n, deliveredValue: 700n })
    expect(run.receivedValue()).toBe(1000n)
  })

  it('is resumed with what is left, with sequences that were not used', async () => {
    const terms = { sendMaxValue: 10_000n, deliverValue: 10_000n }
    const run = runOf(terms, { rate: ONE, packetLimitValue: 1000n, delayMaxMs: 200 }, 10_000n)
    const stop = new AbortController()
    void run.clock.wait(600).then(() => stop.abort())
    const first = await run.attempt({ signal: stop.signal })
    expect(first.end).toEqual({ outcome: 'stopped' })
    expect(first.progress.sentValue).toBeGreaterThan(0n)
    expect(first.progress.sentValue).toBeLessThan(10_000n)
    checkBooks(run, first)
    const second = await run.attempt({ progress: first.progress })
    expect(second.end).toEqual({ outcome: 'complete' })
    expect(run.receivedValue()).toBe(10_000n)
    checkBooks(run, second)
  })

  it('ends with its time, though something is fulfilled again and again', async () => {
    const run = runOf({ sendMaxValue: 10_000n, deliverValue: 10_000n }, { rate: ONE, packetLimitValue: 1n })
    const { send } = run.path
    let count = 0
    const slow = Object.assign(run.path, {
      send: async (bytes: Buffer, signal: AbortSignal) => {
        await run.clock.wait(7000)
        count += 1
        if (count % 4 === 0) return send(bytes, signal)
        return encodeReply({
          type: 'reject',
          code: 'T00',
          triggeredBy: '',
          message: '',
          data: Buffer.alloc(0)
        })
      }
    })
    const startedMs = run.clock.now()
    const result = await run.attempt({ packetLimitValue: 1n, untilMs: startedMs + 60_000 })
    expect(result.end).toEqual({ outcome: 'late' })
    expect(result.progress.deliveredValue).toBeGreaterThan(0n)
    expect(slow.sent.length).toBeLessThan(10)
    expect(run.clock.now() - startedMs).toBeLessThan(70_000)
    checkBooks(run)
  })

  it('that is complete, or has nothing left to send, sends nothing', async () => {
    const terms = { sendMaxValue: 10n, deliverValue: 10n }
    for (const [progress, outcome] of [
      [{ ...NO_PROGRESS, sentValue: 9n, deliveredValue: 10n }, 'complete'],
      [{ ...NO_PROGRESS, unknownSentValue: 10n, unknownDeliverValue: 10n }, 'complete'],
      [{ ...NO_PROGRESS, sentValue: 10n, deliveredValue: 9n }, 'spent']
    ] as const) {
      const run = runOf(terms, { rate: ONE })
      expect(await run.attempt({ progress })).toEqual({ end: { outcome }, progress, unknownPackets: [] })
      expect(run.path.sent).toEqual([])
    }
  })

  it('ends when what is left brings nothing', async () => {
    const rate = { numerator: 1n, denominator: 100n }
    const progress = { ...NO_PROGRESS, sentValue: 950n, deliveredValue: 9n }
    const run = runOf({ sendMaxValue: 1000n, deliverValue: 10n }, { rate })
    expect((await run.attempt({ progress })).end).toEqual({ outcome: 'spent' })
    expect(run.path.sent).toEqual([])
  })
})

describe('a path', () => {
  it.each(['F00', 'F01', 'F02', 'F03', 'F06', 'F07', 'F42'])(
    'that rejects with %s ends the payment',
    async (code) => {
      const run = runOf(
        { sendMaxValue: 100n, deliverValue: 100n },
        { rate: ONE, rejectedPercent: 100, rejectCodes: [code] }
      )
      const result = await run.attempt()
      expect(result.end).toEqual({ outcome: 'rejected', code })
      expect(run.path.sent).toHaveLength(1)
      expect(result.progress).toEqual({ ...NO_PROGRESS, nextSequence: 1 })
    }
  )

  it.each([
    'T00',
    'T01',
    'T02',
    'T03',
    'T04',
    'T05',
    'T99',
    'F04',
    'F05',
    'F99',
    'R00',
    'R01',
    'R02',
    'R99',
    'X01'
  ])('that rejects with %s is tried again, for 30 s, more and more slowly', async (code) => {
    const run = runOf(
      { sendMaxValue: 100n, deliverValue: 100n },
      { rate: ONE, rejectedPercent: 100, rejectCodes: [code] }
    )
    const startedMs = run.clock.now()
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'stalled', code })
    expect(run.clock.now() - startedMs).toBeGreaterThanOrEqual(30_000)
    expect(run.path.sent.length).toBeGreaterThan(5)
    expect(run.path.sent.length).toBeLessThan(40)
    expect(result.progress.unknownSentValue).toBe(0n)

    const some = runOf(
      { sendMaxValue: 100n, deliverValue: 100n },
      { rate: ONE, rejectedPercent: 50, rejectCodes: [code] }
    )
    expect((await some.attempt()).end).toEqual({ outcome: 'complete' })
  })

  it('that has too little money for large packets gets smaller ones', async () => {
    const terms = { sendMaxValue: 100_000n, deliverValue: 100_000n }
    const run = runOf(terms, { rate: ONE })
    const { send } = run.path
    const poor = Object.assign(run.path, {
      send: (bytes: Buffer, signal: AbortSignal) =>
        Buffer.from(bytes).readBigUInt64BE(bytes[1]! < 128 ? 2 : 2 + (bytes[1]! & 0x7f)) > 20_000n
          ? Promise.resolve(
              encodeReply({
                type: 'reject',
                code: 'T04',
                triggeredBy: '',
                message: '',
                data: Buffer.alloc(0)
              })
            )
          : send(bytes, signal)
    })
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'complete' })
    expect(poor.sent.length).toBeLessThan(30)
  })

  it('that takes not even one unit ends the payment', async () => {
    const run = runOf({ sendMaxValue: 100n, deliverValue: 100n }, { rate: ONE, packetLimitValue: 0n })
    expect((await run.attempt()).end).toEqual({ outcome: 'rejected', code: 'F08' })
  })

  /** How many packets it sends after the last one that was fulfilled, on a path that says from some packet on that each is too large. */
  const countTooLarge = async (
    sendValue: bigint,
    from: number,
    told: (amount: bigint) => bigint | undefined
  ): Promise<{ readonly end: PayEnd; readonly count: number }> => {
    const run = runOf({ sendMaxValue: sendValue, deliverValue: sendValue }, { rate: ONE, delayMaxMs: 50 })
    const { send } = run.path
    let count = 0
    const path = Object.assign(run.path, {
      send: async (bytes: Buffer, signal: AbortSignal) => {
        count += 1
        if (count < from) return send(bytes, signal)
        const { amount } = decodePrepare(bytes)
        const maximumValue = told(amount)
        const data =
          maximumValue === undefined
            ? Buffer.alloc(0)
            : encodeAmountTooLarge({ receivedValue: amount, maximumValue })
        await run.clock.wait(20)
        return encodeReply({ type: 'reject', code: 'F08', triggeredBy: '', message: '', data })
      }
    })
    const startedMs = run.clock.now()
    const { end } = await run.attempt({ packetLimitValue: sendValue / 500n })
    expect(run.clock.now() - startedMs).toBeLessThan(30_000)
    expect(path.sent).toHaveLength(from - 1)
    return { end, count: count - path.sent.length }
  }

  it.each<[string, bigint, number, PayEnd['outcome'], number]>([
    ['from its first packet on', 10n ** 12n, 1, 'rejected', 45],
    ['of an amount that is halved for long', UINT64_MAX, 1, 'stalled', 50],
    // Up to twenty were under way before, and as many when they were answered.
    ['while twenty are under way', UINT64_MAX, 100, 'stalled', 90]
  ])(
    'that takes a unit less than each packet has, %s, gets few, and the attempt ends',
    async (_how, value, from, outcome, countMax) => {
      const { end, count } = await countTooLarge(value, from, (amount) => amount - 1n)
      expect(end).toEqual({ outcome, code: 'F08' })
      expect(count).toBeLessThanOrEqual(countMax)
    }
  )

  it('that says that each packet is too large gets few, whatever it says that it takes', async () => {
    const told = fc.array(fc.option(fc.bigInt({ min: 0n, max: 1000n }), { nil: undefined }), { minLength: 1 })
    const value = fc.bigInt({ min: 1000n, max: UINT64_MAX })
    await fc.assert(
      fc.asyncProperty(told, value, fc.integer({ min: 1, max: 60 }), async (thousandths, sendValue, from) => {
        let told = 0
        const { count } = await countTooLarge(sendValue, from, (amount) => {
          const part = thousandths[told++ % thousandths.length]
          // A thousand thousandths are all but one unit.
          return part && (amount * part - 1n) / 1000n
        })
        expect(count).toBeLessThan(100)
      }),
      { numRuns: 30 }
    )
  })

  it('that takes one packet after the other, each for long, gets no more at once than it answers in time', async () => {
    const terms = { sendMaxValue: 60_000n, deliverValue: 60_000n }
    const run = runOf(terms, { rate: ONE })
    const { send } = run.path
    let last: Promise<unknown> = Promise.resolve()
    Object.assign(run.path, {
      send: (bytes: Buffer, signal: AbortSignal) => {
        const turn = last.then(() => run.clock.wait(2_000))
        last = turn
        return turn.then(() => send(bytes, signal))
      }
    })
    const result = await run.attempt({ packetLimitValue: 1_000n })
    expect(result).toMatchObject({ end: { outcome: 'complete' }, unknownPackets: [] })
    expect(run.receivedValue()).toBe(60_000n)
  })

  it('with several limits, one after the other, gets the largest packets that each allows', async () => {
    const terms = { sendMaxValue: 100_000n, deliverValue: 100_000n }
    const run = runOf(terms, { rate: ONE, delayMaxMs: 100 }, 100_000n)
    const { send } = run.path
    const limits = [9000n, 8000n, 5000n, 4999n]
    const seen: bigint[] = []
    const path = Object.assign(run.path, {
      send: async (bytes: Buffer, signal: AbortSignal) => {
        const { amount: receivedValue } = decodePrepare(bytes)
        seen.push(receivedValue)
        const maximumValue = limits.find((limit) => receivedValue > limit)
        if (maximumValue === undefined) return send(bytes, signal)
        const data = encodeAmountTooLarge({ receivedValue, maximumValue })
        return encodeReply({ type: 'reject', code: 'F08', triggeredBy: '', message: '', data })
      }
    })
    expect((await run.attempt()).end).toEqual({ outcome: 'complete' })
    expect(seen.slice(0, 6)).toEqual([100_000n, 9000n, 8000n, 5000n, 4999n, 4999n])
    expect(seen).toHaveLength(25)
    expect(path.underWayMax).toBeGreaterThan(5)
  })

  it('that nobody can reach costs nothing', async () => {
    const run = runOf({ sendMaxValue: 100n, deliverValue: 100n }, { rate: ONE, notSentPercent: 100 })
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'stalled', code: 'T01' })
    expect(result.unknownPackets).toEqual([])
  })

  it.each([
    ['loses packets', { lostPercent: 100 }],
    ['loses answers', { lostReplyPercent: 100 }],
    ['answers too late', { latePercent: 100 }]
  ])(
    'that %s leaves packets unknown: they count as sent, and are not sent again',
    async (_title, behavior) => {
      const terms = { sendMaxValue: 10_000n, deliverValue: 10_000n }
      const run = runOf(terms, { rate: ONE, ...behavior }, 10_000n)
      const result = await run.attempt({ packetLimitValue: 1000n })
      expect(result.end.outcome).toBe('stalled')
      expect(result.unknownPackets.length).toBeGreaterThan(0)
      expect(result.unknownPackets.length).toBeLessThan(8)
      expect(result.unknownPackets[0]).toMatchObject({ sequence: 0, sendValue: 1000n, because: 'no-answer' })
      checkBooks(run, result)
    }
  )

  it.each<[string, PayEnd & { outcome: 'violated' }, () => Buffer]>([
    [
      'a wrong fulfillment',
      { outcome: 'violated', because: 'wrong-fulfillment' },
      () => encodeReply({ type: 'fulfill', fulfillment: Buffer.alloc(32), data: Buffer.alloc(0) })
    ],
    [
      'something that is no packet',
      { outcome: 'violated', because: 'unreadable-answer' },
      () => Buffer.from('hello')
    ]
  ])('that answers with %s ends the payment, and the packet is unknown', async (_title, end, reply) => {
    const run = runOf(
      { sendMaxValue: 10_000n, deliverValue: 10_000n },
      { rate: ONE, packetLimitValue: 1000n, lie: { percent: 100, reply } }
    )
    const result = await run.attempt({ packetLimitValue: 1000n })
    expect(result.end).toEqual(end)
    expect(result.unknownPackets).toEqual([
      expect.objectContaining({ sendValue: 1000n, because: end.because })
    ])
    checkBooks(run, result)
  })

  it.each<[string, Partial<StreamPacket>]>([
    ['that it fulfilled', { type: 'fulfill' }],
    ['something about another packet', { sequence: 70_000n }]
  ])(
    'that rejects a packet owes nothing, though the receiver says %s in it: other packets go on',
    async (_title, said) => {
      let count = 0
      const reply = ({ data }: Prepare, real: Buffer): Buffer => {
        count += 1
        if (count > 1) return real
        const { encryption } = streamKeys(run.path.credentials.sharedSecret)
        const { sequence } = openStreamPacket(data, encryption)!
        // Taken for the receiver's word, it would end the payment, and make the rate a thousandth.
        const frames: StreamFrame[] = [{ type: 'stream-close' }]
        const word: StreamPacket = { type: 'reject', sequence, amount: 1n, frames, ...said }
        const sealed = sealStreamPacket(word, encryption, RANDOM)
        return encodeReply({ type: 'reject', code: 'T00', triggeredBy: '', message: '', data: sealed })
      }
      const terms = { sendMaxValue: 10_000n, deliverValue: 10_000n }
      const run: Run = runOf(terms, { rate: ONE, lie: { percent: 100, reply } })
      const result = await run.attempt({ packetLimitValue: 1000n })
      expect(result.end).toEqual({ outcome: 'complete' })
      expect(result.unknownPackets).toEqual([])
      expect(result.progress).toMatchObject({ sentValue: 10_000n, deliveredValue: 10_000n })
      expect(run.journal.rows.get(0)?.answer).toEqual({ sequence: 0, outcome: 'rejected', code: 'T00' })
      expect(run.path.sent).toHaveLength(11)
    }
  )

  it('that removes the receiver’s words from a Fulfill is believed: the fulfillment is the proof', async () => {
    const run = runOf(
      { sendMaxValue: 1000n, deliverValue: 990n },
      {
        rate: ONE,
        lie: {
          percent: 100,
          reply: (_prepare, real) =>
            encodeReply({ type: 'fulfill', fulfillment: real.subarray(2, 34), data: Buffer.alloc(0) })
        }
      }
    )
    const result = await run.attempt()
    expect(result.end).toEqual({ outcome: 'complete' })
    // The receiver got at least the minimum; more than that is not known.
    expect(result.progress.deliveredValue).toBeGreaterThanOrEqual(990n)
    expect(result.progress.deliveredValue).toBeLessThanOrEqual(run.receivedValue())
  })
})

describe('a receiver', () => {
  const claims = async (claimedValue: bigint): Promise<PayResult> => {
    const run = runOf(
      { sendMaxValue: 1000n, deliverValue: 990n },
      {
        rate: ONE,
        lie: {
          percent: 100,
          reply: ({ data }, real) => {
            const { encryption } = streamKeys(run.path.credentials.sharedSecret)
            const { sequence } = openStreamPacket(data, encryption)!
            const said = { type: 'fulfill', sequence, amount: claimedValue, frames: [] } as const
            const fulfilled = decodeReply(real)
            return encodeReply({ ...fulfilled, data: sealStreamPacket(said, encryption, RANDOM) })
          }
        }
      }
    )
    return run.attempt({ packetLimitValue: 400n })
  }

  it('that claims that it got less than the minimum got the minimum', async () => {
    const { end, progress } = await claims(0n)
    expect(end.outcome).toBe('complete')
    expect(progress.sentValue).toBeLessThanOrEqual(1000n)
    expect(progress.deliveredValue).toBeGreaterThanOrEqual(990n)
  })

  it('that claims more gets less, and no sum that is no amount', async () => {
    const { end, progress } = await claims(UINT64_MAX)
    expect(end.outcome).toBe('complete')
    expect(progress).toMatchObject({ sentValue: 400n, deliveredValue: UINT64_MAX })
  })
})

describe('the journal', () => {
  it('has every packet before it is sent; when it fails, nothing is sent', async () => {
    const run = runOf({ sendMaxValue: 100n, deliverValue: 100n }, { rate: ONE })
    run.journal.crash = { atWrite: 1, when: 'before' }
    await expect(run.attempt()).rejects.toThrow('crashed before')
    expect(run.path.sent).toEqual([])
  })

  it.each<[string, number, (run: Run, stopping: AbortController) => Promise<void>]>([
    ['for longer than half of the time of its packets', Infinity, ({ clock }) => clock.wait(10_001)],
    ['until the attempt is over', 5_000, ({ clock }) => clock.wait(6_000)],
    [
      'until the attempt is stopped',
      Infinity,
      async (_run, stopping) => {
        stopping.abort()
      }
    ]
  ])('may write %s: answers are kept, and what it wrote is not sent', async (_how, lastsMs, wait) => {
    const terms = { sendMaxValue: 5000n, deliverValue: 5000n }
    const run = runOf(terms, { rate: ONE, packetLimitValue: 700n, delayMaxMs: 20 }, 5000n)
    const stopping = new AbortController()
    let late: readonly number[] = []
    run.journal.hold = async (write) => {
      if (write !== 4) return
      const before = new Set(run.journal.rows.keys())
      await wait(run, stopping)
      run.journal.hold = () => {
        late = [...run.journal.rows.keys()].filter((sequence) => !before.has(sequence))
        run.journal.hold = () => undefined
      }
    }
    const options = { untilMs: run.clock.now() + lastsMs, signal: stopping.signal, packetLimitValue: 700n }
    const result = await run.attempt(options)
    checkBooks(run, result)
    expect(late.length).toBeGreaterThan(0)
    const sent = new Set(run.path.sent.map(({ executionCondition }) => executionCondition.toString('hex')))
    for (const sequence of late) {
      const row = run.journal.rows.get(sequence)!
      expect(row.answer).toMatchObject({ outcome: 'rejected', code: 'T01' })
      expect(sent.has(row.condition.toString('hex'))).toBe(false)
    }
    expect(result.unknownPackets).toEqual([])
    expect(run.journal.progress.sentValue).toBe(run.receivedValue())
    if (result.end.outcome === 'complete') expect(run.receivedValue()).toBe(5000n)
    else expect(result.end.outcome).toBe(lastsMs === Infinity ? 'stopped' : 'late')
  })

  it('is enough to go on after a crash at any write: nothing is delivered twice, nothing is sent beyond the terms', async () => {
    const terms = { sendMaxValue: 5000n, deliverValue: 5000n }
    for (let atWrite = 1; atWrite < 12; atWrite++) {
      for (const when of ['before', 'after'] as const) {
        const run = runOf(terms, { rate: ONE, packetLimitValue: 700n, delayMaxMs: 20 }, 5000n, atWrite)
        run.journal.crash = { atWrite, when }
        const crashed = await run.attempt().then(
          () => false,
          () => true
        )
        const before = run.journal.progress
        const result = await run.attempt({ progress: before })
        expect(result.end).toEqual({ outcome: 'complete' })
        checkBooks(run, result)
        expect(result.progress.unknownSentValue).toBe(before.unknownSentValue)
        expect(result.progress.sentValue + result.progress.unknownSentValue).toBe(5000n)
        if (!crashed) expect(run.receivedValue()).toBe(5000n)
      }
    }
  })
})

describe('whatever the path does', () => {
  const percent = fc.oneof(fc.constant(0), fc.nat({ max: 30 }))
  const rate = fc.record({
    numerator: fc.bigInt({ min: 1n, max: 2000n }),
    denominator: fc.bigInt({ min: 1n, max: 2000n })
  })
  const behavior = fc.record({
    rate,
    rateChange: fc.option(fc.record({ atPacket: fc.nat({ max: 20 }), rate }), { nil: undefined }),
    connectorRate: fc.constantFrom(undefined, { numerator: 997n, denominator: 1000n }),
    packetLimitValue: fc.option(fc.bigInt({ min: 300n, max: 5000n }), { nil: undefined }),
    hasLimitData: fc.boolean(),
    lostPercent: percent,
    lostReplyPercent: percent,
    delayMaxMs: fc.constantFrom(1, 50, 2000),
    doubledPercent: percent,
    rejectedPercent: percent,
    rejectCodes: fc.constant(['T00', 'T02', 'T04', 'T05', 'R01', 'R02', 'F99']),
    notSentPercent: percent,
    latePercent: percent
  })

  it('never more is sent than allowed, what was fulfilled is what arrived, and nothing is delivered twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        behavior,
        fc.bigInt({ min: 1n, max: 30_000n }),
        fc.bigInt({ min: 1n, max: 110n }),
        fc.option(fc.bigInt({ min: 1n, max: 30_000n }), { nil: undefined }),
        fc.nat(),
        fc.option(
          fc.record({ atWrite: fc.integer({ min: 1, max: 40 }), when: fc.constantFrom('before', 'after') }),
          { nil: undefined }
        ),
        async (how, sendMaxValue, share, maximumValue, seed, crash) => {
          const worth = (sendMaxValue * how.rate.numerator * share) / (how.rate.denominator * 100n)
          const terms = { sendMaxValue, deliverValue: worth > 0n ? worth : 1n }
          const run = runOf(terms, how, maximumValue, seed)
          run.journal.crash = crash
          let progress = NO_PROGRESS
          for (let attempt = 0; attempt < 3; attempt++) {
            const result = await run
              .attempt({ progress, isRateKnown: seed % 3 !== 0 })
              .catch((error: unknown) => {
                if (error instanceof Error && error.message.startsWith('crashed')) return undefined
                throw error
              })
            checkBooks(run, result)
            if (maximumValue !== undefined) expect(run.receivedValue()).toBeLessThanOrEqual(maximumValue)
            progress = run.journal.progress
            expect(progress.sentValue + progress.unknownSentValue).toBeLessThanOrEqual(sendMaxValue)
            if (result?.end.outcome === 'complete' && progress.unknownSentValue === 0n) {
              expect(run.receivedValue()).toBeGreaterThanOrEqual(terms.deliverValue)
            }
          }
        }
      ),
      { numRuns: 150 }
    )
  })

  it('a payment that the path can deliver is delivered to the unit, with what was reserved for rounding left over', async () => {
    const harmless = fc.record({
      rate: fc.record({
        numerator: fc.bigInt({ min: 1n, max: 2000n }),
        denominator: fc.bigInt({ min: 1n, max: 2000n })
      }),
      packetLimitValue: fc.option(fc.bigInt({ min: 300n, max: 5000n }), { nil: undefined }),
      hasLimitData: fc.boolean(),
      delayMaxMs: fc.constantFrom(1, 50, 2000),
      doubledPercent: percent,
      rejectedPercent: fc.nat({ max: 20 }),
      rejectCodes: fc.constant(['T00', 'T02', 'T04', 'T05', 'R01', 'R02', 'F99']),
      notSentPercent: fc.nat({ max: 20 })
    })
    await fc.assert(
      fc.asyncProperty(
        harmless,
        fc.bigInt({ min: 300n, max: 30_000n }),
        fc.nat(),
        async (how, sendMaxValue, seed) => {
          const { numerator, denominator } = how.rate
          // Each packet loses less than a unit to rounding, and has at least half of what the path takes.
          const packets =
            how.packetLimitValue === undefined ? 1n : (2n * sendMaxValue) / how.packetLimitValue + 1n
          const deliverValue = (sendMaxValue * numerator * 995n) / (denominator * 1000n) - packets
          fc.pre(deliverValue > 0n)
          // A packet brings something, even at half of what the path takes.
          fc.pre(how.packetLimitValue === undefined || how.packetLimitValue * numerator >= 2n * denominator)
          const run = runOf({ sendMaxValue, deliverValue }, how, deliverValue, seed)
          const result = await run.attempt()
          expect(result.end).toEqual({ outcome: 'complete' })
          expect(run.receivedValue()).toBe(deliverValue)
          expect(result.unknownPackets).toEqual([])
          checkBooks(run, result)
        }
      ),
      { numRuns: 150 }
    )
  })
})
