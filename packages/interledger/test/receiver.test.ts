import { beforeEach, describe, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import {
  type Arrival,
  createPaymentAddresses,
  createStreamReceiver,
  decodeAmountTooLarge,
  decodeReply,
  encodeReply,
  type Prepare,
  type Reply,
  type StreamCredentials
} from '../src/index.js'
import { conditionOf, fulfillmentOf, streamKeys } from '../src/stream-keys.js'
import {
  openStreamPacket,
  sealStreamPacket,
  type StreamFrame,
  type StreamPacket
} from '../src/stream-packet.js'
import { MemoryCredits } from './support/memory-credits.js'

const RANDOM = { bytes: randomBytes }
const NOW_MS = Date.UTC(2027, 0, 1)
const US = 'test.us'
const PAYMENT_ID = '0190a0b0-c0d0-7000-8000-00000000000a'
const EUR = { code: 'EUR', scale: 2 }
/** From a peer in the same asset, without a limit. */
const SAME: Arrival = { packetLimitValue: undefined, isBusy: false, convert: (value) => value }
/** One unit of the peer's is ten of the payment's. */
const TIMES_TEN: Arrival = { packetLimitValue: undefined, isBusy: false, convert: (value) => value * 10n }
/** A hundred units of the peer's are one of the payment's. */
const PER_HUNDRED: Arrival = { packetLimitValue: undefined, isBusy: false, convert: (value) => value / 100n }

const addresses = createPaymentAddresses({ ilpAddress: US, secrets: [Buffer.alloc(32, 1)] })
let credits: MemoryCredits
let credentials: StreamCredentials

beforeEach(() => {
  credits = new MemoryCredits(() => NOW_MS)
  credentials = addresses.issue({ paymentId: PAYMENT_ID, asset: EUR })
})

interface Wanted {
  readonly amount?: bigint
  readonly minimum?: bigint
  readonly sequence?: bigint
  readonly frames?: readonly StreamFrame[]
  readonly type?: StreamPacket['type']
  readonly isProbe?: boolean
  readonly lifetimeMs?: number
  readonly destination?: string
  readonly data?: Buffer
}

function packetOf({
  amount = 100n,
  minimum = 0n,
  sequence = 1n,
  frames = [],
  type = 'prepare',
  isProbe = false,
  lifetimeMs = 20_000,
  destination = credentials.ilpAddress,
  ...rest
}: Wanted): Prepare {
  const keys = streamKeys(credentials.sharedSecret)
  const data =
    rest.data ?? sealStreamPacket({ type, sequence, amount: minimum, frames }, keys.encryption, RANDOM)
  return {
    amount,
    expiresAtMs: NOW_MS + lifetimeMs,
    executionCondition: isProbe ? randomBytes(32) : conditionOf(fulfillmentOf(data, keys)),
    destination,
    data
  }
}

async function receive(packet: Prepare, from: Arrival = SAME): Promise<Reply> {
  const receiver = createStreamReceiver({
    ilpAddress: US,
    addresses,
    credits,
    clock: { now: () => NOW_MS },
    random: RANDOM
  })
  const reply = await receiver.receive(packet, from)
  expect(decodeReply(encodeReply(reply))).toEqual(reply)
  if (reply.type === 'fulfill') expect(conditionOf(reply.fulfillment)).toEqual(packet.executionCondition)
  else expect(reply.triggeredBy).toBe(US)
  return reply
}

/** The code of a Reject, or `fulfill`, and what the receiver says in private; undefined when it says nothing. */
function read(reply: Reply): [string, StreamPacket | undefined] {
  const said = openStreamPacket(reply.data, streamKeys(credentials.sharedSecret).encryption)
  if (said !== undefined) expect(said.type).toBe(reply.type)
  return [reply.type === 'fulfill' ? 'fulfill' : reply.code, said]
}

describe('a packet is answered, in this order:', () => {
  it.each(['test.them', 'test.us', 'test.usa.x', 'test.us.', 'test.us..x'])(
    'F02 when it is for %s',
    async (destination) => {
      credits.open(PAYMENT_ID)
      expect(read(await receive(packetOf({ destination })))).toEqual(['F02', undefined])
    }
  )

  it('F06 when we did not make the address, or its secret is another', async () => {
    for (const destination of [`${US}.x`, `${US}.${'A'.repeat(100)}`]) {
      expect(read(await receive(packetOf({ destination })))[0]).toBe('F06')
    }
    const another = addresses.issue({ paymentId: PAYMENT_ID.replace('a', 'b'), asset: EUR })
    expect(read(await receive(packetOf({ destination: another.ilpAddress })))[0]).toBe('F06')
  })

  it('F06 when the data is none that the payer wrote, or no request', async () => {
    expect(read(await receive(packetOf({ data: Buffer.alloc(0) })))).toEqual(['F06', undefined])
    expect(read(await receive(packetOf({ data: randomBytes(60) })))[0]).toBe('F06')
    expect((await receive(packetOf({ type: 'fulfill' }))).type).toBe('reject')
  })

  it('T00 when there is no rate', async () => {
    const from = { packetLimitValue: undefined, isBusy: false, convert: () => undefined }
    expect(read(await receive(packetOf({}), from))).toEqual(['T00', undefined])
  })

  it('F08 when it converts to more than an amount can be', async () => {
    const reply = await receive(packetOf({ amount: 10n ** 12n, isProbe: true }), {
      packetLimitValue: undefined,
      isBusy: false,
      convert: (value) => value * 10n ** 9n
    })
    expect(reply).toMatchObject({ type: 'reject', code: 'F08' })
    const told = decodeAmountTooLarge(reply.data)!
    expect(told.receivedValue).toBe(10n ** 12n)
    expect(told.maximumValue * 10n ** 9n).toBeLessThanOrEqual(UINT64_MAX)
    expect((told.maximumValue + 1n) * 10n ** 9n).toBeGreaterThan(UINT64_MAX)
  })

  it('F99 that closes when the sender closes', async () => {
    credits.open(PAYMENT_ID)
    const [code, said] = read(await receive(packetOf({ frames: [{ type: 'connection-close' }] })))
    expect([code, said?.frames]).toEqual(['F99', [{ type: 'connection-close' }]])
  })

  it('F99 with what would arrive when it is a probe, without looking at limits, expiry or the payment', async () => {
    const from = { ...TIMES_TEN, packetLimitValue: 5n }
    for (const lifetimeMs of [20_000, 0, -5_000]) {
      const packet = packetOf({ amount: 10n ** 12n, isProbe: true, sequence: 7n, minimum: 1n, lifetimeMs })
      expect(read(await receive(packet, from))).toEqual([
        'F99',
        { type: 'reject', sequence: 7n, amount: 10n ** 13n, frames: [] }
      ])
    }
  })

  it.each([
    [true, 'F99'],
    [false, 'fulfill']
  ])('with our asset when the sender tells its address, probe or not: %p', async (isProbe, answer) => {
    credits.open(PAYMENT_ID)
    const frames = [{ type: 'connection-new-address', address: '' }] as const
    expect(read(await receive(packetOf({ frames, isProbe })))).toEqual([
      answer,
      expect.objectContaining({ frames: [{ type: 'connection-asset-details', ...EUR }] })
    ])
  })

  it('F99 with what would arrive when that is less than the sender accepts', async () => {
    credits.open(PAYMENT_ID)
    const [code, said] = read(await receive(packetOf({ amount: 1000n, minimum: 11n }), PER_HUNDRED))
    expect([code, said?.amount]).toEqual(['F99', 10n])
    expect(credits.asked.map(({ how }) => how)).toEqual(['find'])
  })

  it('fulfilled when nothing is sent, whatever became of the payment', async () => {
    expect(read(await receive(packetOf({ amount: 0n })))).toEqual([
      'fulfill',
      { type: 'fulfill', sequence: 1n, amount: 0n, frames: [] }
    ])
    expect(read(await receive(packetOf({ amount: 0n, minimum: 1n })))[0]).toBe('F99')
    expect(credits.asked).toEqual([])
  })

  it('R01 when it converts to nothing', async () => {
    credits.open(PAYMENT_ID)
    expect(read(await receive(packetOf({ amount: 99n }), PER_HUNDRED))[0]).toBe('R01')
    expect(credits.asked.map(({ how }) => how)).toEqual(['find'])
  })

  it.each([
    ['an ordinary packet', {}, SAME],
    ['one that is too large', {}, { ...SAME, packetLimitValue: 99n }],
    ['one that expires too soon', { lifetimeMs: 999 }, SAME]
  ])('F99 that closes when the payment is over: %s', async (_title, wanted, from) => {
    const payment = credits.open(PAYMENT_ID)
    payment.isOver = true
    const [code, said] = read(await receive(packetOf(wanted), from))
    expect([code, said?.frames]).toEqual(['F99', [{ type: 'connection-close' }]])
    credits.payments.clear()
    expect(read(await receive(packetOf(wanted), from))[0]).toBe('F99')
    expect(credits.credited.size).toBe(0)
  })

  it('F08 with both amounts when it is above the limit, even if it expires too soon', async () => {
    credits.open(PAYMENT_ID)
    for (const lifetimeMs of [20_000, 1]) {
      const reply = await receive(packetOf({ lifetimeMs }), { ...TIMES_TEN, packetLimitValue: 99n })
      expect(reply).toMatchObject({ type: 'reject', code: 'F08' })
      expect(decodeAmountTooLarge(reply.data)).toEqual({ receivedValue: 100n, maximumValue: 99n })
    }
    expect(read(await receive(packetOf({}), { ...SAME, packetLimitValue: 100n }))[0]).toBe('fulfill')
  })

  it('R02 when it expires in less than a second', async () => {
    credits.open(PAYMENT_ID)
    for (const lifetimeMs of [999, 0, -1]) {
      expect(read(await receive(packetOf({ lifetimeMs })))[0]).toBe('R02')
    }
    expect(credits.credited.size).toBe(0)
    expect(read(await receive(packetOf({ lifetimeMs: 1000 })))[0]).toBe('fulfill')
  })

  it('fulfilled once it is credited', async () => {
    const payment = credits.open(PAYMENT_ID, 5000n)
    const packet = packetOf({ amount: 30n, minimum: 290n, sequence: 3n })
    const reply = await receive(packet, TIMES_TEN)
    expect(read(reply)).toEqual(['fulfill', { type: 'fulfill', sequence: 3n, amount: 300n, frames: [] }])
    expect(payment.receivedValue).toBe(300n)
    expect(credits.asked).toEqual([
      {
        how: 'credit',
        from: TIMES_TEN,
        paymentId: PAYMENT_ID,
        asset: EUR,
        sequence: 3n,
        condition: packet.executionCondition,
        fulfillment: reply.type === 'fulfill' ? reply.fulfillment : undefined,
        packetValue: 30n,
        value: 300n,
        leastValue: 291n,
        expiresAtMs: packet.expiresAtMs
      }
    ])
  })
})

describe('what the credit decides', () => {
  it('a packet that comes twice is credited once and fulfilled again, even if it completed the payment', async () => {
    const payment = credits.open(PAYMENT_ID, 100n)
    const packet = packetOf({})
    const first = await receive(packet)
    expect(payment.isOver).toBe(true)
    const again = [
      await receive(packet),
      await receive({ ...packet, expiresAtMs: NOW_MS - 1 }),
      await receive(packet, { ...SAME, packetLimitValue: 1n })
    ]
    for (const reply of again) {
      expect(read(reply)).toEqual(read(first))
      expect(reply).toMatchObject({ type: 'fulfill' })
    }
    expect(payment.receivedValue).toBe(100n)
  })

  it.each<[string, (value: bigint) => bigint | undefined]>([
    ['gone', () => undefined],
    ['worse than its sender accepts', (value) => value / 2n],
    ['too bad for one unit', () => 0n],
    ['beyond what an amount can be', () => UINT64_MAX + 1n]
  ])('a packet that comes again is fulfilled again, though the rate is %s', async (_title, convert) => {
    const payment = credits.open(PAYMENT_ID)
    const packet = packetOf({ minimum: 100n })
    const first = read(await receive(packet))
    expect(first[0]).toBe('fulfill')
    const changed = { packetLimitValue: undefined, isBusy: false, convert }
    expect(read(await receive(packet, changed))).toEqual(first)
    expect((await receive(packetOf({ minimum: 100n, sequence: 2n }), changed)).type).toBe('reject')
    expect(payment.receivedValue).toBe(100n)
  })

  it('T03 while too many of its peer are under way, unless it was credited before', async () => {
    const payment = credits.open(PAYMENT_ID)
    const packet = packetOf({ sequence: 1n })
    const first = read(await receive(packet))
    const busy = { ...SAME, isBusy: true }
    expect(read(await receive(packet, busy))).toEqual(first)
    expect(read(await receive(packetOf({ sequence: 2n }), busy))[0]).toBe('T03')
    expect(payment.receivedValue).toBe(100n)
  })

  it('F99 with what there is room for when more comes than the payment takes', async () => {
    const payment = credits.open(PAYMENT_ID, 150n)
    await receive(packetOf({ sequence: 1n }))
    const [code, said] = read(await receive(packetOf({ sequence: 2n })))
    expect([code, said?.frames]).toEqual([
      'F99',
      [{ type: 'stream-max-money', receiveMaxValue: 150n, receivedValue: 100n }]
    ])
    expect(payment.receivedValue).toBe(100n)
  })

  it('the smallest packet that completes a payment is taken, although it brings more', async () => {
    const payment = credits.open(PAYMENT_ID, 1007n)
    await receive(packetOf({ amount: 100n, sequence: 1n }), TIMES_TEN)
    expect(read(await receive(packetOf({ amount: 2n, sequence: 2n }), TIMES_TEN))[0]).toBe('F99')
    expect(read(await receive(packetOf({ amount: 1n, minimum: 8n, sequence: 3n }), TIMES_TEN))[0]).toBe('F99')
    const [answer, said] = read(await receive(packetOf({ amount: 1n, minimum: 7n, sequence: 4n }), TIMES_TEN))
    expect([answer, said?.amount]).toEqual(['fulfill', 7n])
    expect(payment.receivedValue).toBe(1007n)
  })

  it('R00 when it expired meanwhile, and its own code when it is refused for another reason', async () => {
    credits.open(PAYMENT_ID)
    credits.instead.push(
      { outcome: 'expired' },
      { outcome: 'refused', code: 'T04', message: 'owes too much' }
    )
    expect(read(await receive(packetOf({})))[0]).toBe('R00')
    expect(await receive(packetOf({}))).toMatchObject({ code: 'T04', message: 'owes too much' })
  })

  it('nothing is answered when it is not known whether it was credited', async () => {
    credits.open(PAYMENT_ID)
    credits.instead.push(new Error('connection lost'))
    await expect(receive(packetOf({}))).rejects.toThrow('connection lost')
  })

  it('a packet never gets less than its minimum, nor more than it brought', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 1n, max: 5000n }),
        fc.bigInt({ min: 0n, max: 6000n }),
        fc.bigInt({ min: 1n, max: 3000n }),
        fc.tuple(fc.bigInt({ min: 1n, max: 300n }), fc.bigInt({ min: 1n, max: 300n })),
        async (amount, minimum, maximumValue, [numerator, denominator]) => {
          const from: Arrival = {
            packetLimitValue: undefined,
            isBusy: false,
            convert: (value) => (value * numerator) / denominator
          }
          const fresh = (credits = new MemoryCredits(() => NOW_MS))
          const payment = fresh.open(PAYMENT_ID, maximumValue)
          const [answer, said] = read(await receive(packetOf({ amount, minimum }), from))
          const value = (amount * numerator) / denominator
          if (answer === 'fulfill') {
            expect(said?.amount).toBe(payment.receivedValue)
            expect(payment.receivedValue).toBeGreaterThanOrEqual(minimum)
            expect(payment.receivedValue).toBeLessThanOrEqual(value)
            // What rounding leaves is less than one unit of the peer's.
            if (payment.receivedValue < value) {
              expect(((amount - 1n) * numerator) / denominator).toBeLessThan(payment.receivedValue)
            }
          } else {
            expect(payment.receivedValue).toBe(0n)
          }
        }
      ),
      { numRuns: 500 }
    )
  })
})
