import { describe, expect, it } from '@jest/globals'
import { quoteFromReceive, RATE_ONE } from '@open-payments-server/value-types/amounts'
import fc from 'fast-check'
import type { LockedReceiver } from '../../modules/incoming-payments/index.js'
import type { ClaimedLocalPayment } from '../../modules/outgoing-payments/index.js'
import { type SettledBatch, settleBatch } from './settle-batch.js'

const NOW_MS = 1_000
const accounts = (asset: string) => ({
  clearing: `${asset}-clearing`,
  exchange: `${asset}-exchange`,
  fees: `${asset}-fees`
})
const PROVIDER = new Map([
  [1, accounts('usd')],
  [2, accounts('eur')]
])

const receiverOf = (change: Partial<LockedReceiver> = {}): LockedReceiver => ({
  id: 'receiver-1',
  accountId: 'bob',
  incomingValue: undefined,
  receivedValue: 0n,
  completed: false,
  expiresAtMs: NOW_MS + 1,
  ...change
})
const paymentOf = (change: Partial<ClaimedLocalPayment> = {}): ClaimedLocalPayment => ({
  id: 'payment-1',
  incomingPaymentId: 'receiver-1',
  amounts: { debitValue: 100n, feeValue: 10n, receiveValue: 90n },
  refundOf: undefined,
  senderAccountId: 'alice',
  debitAssetId: 1,
  receiveAssetId: 1,
  held: true,
  frozen: false,
  settleUntilMs: undefined,
  ...change
})
const settleThese = (
  payments: readonly ClaimedLocalPayment[],
  ...receivers: LockedReceiver[]
): SettledBatch =>
  settleBatch(payments, new Map(receivers.map((receiver) => [receiver.id, receiver])), PROVIDER, NOW_MS)

describe('settling a batch', () => {
  it('lets what one payment delivers be gone from the room of the next', () => {
    const payments = ['a', 'b', 'c'].map((id) => paymentOf({ id }))
    const { endings, received } = settleThese(payments, receiverOf({ incomingValue: 135n }))
    expect(endings.map(({ settlement }) => settlement.settledReceiveValue)).toEqual([90n, 45n, 0n])
    expect(endings[2]?.settlement.failureReason).toBe('receiver_completed')
    expect(received).toEqual(new Map([['receiver-1', 135n]]))
  })

  it('adds up what it changes in one account, sender and receiver at once', () => {
    const { totals } = settleThese([paymentOf(), paymentOf({ id: 'b' })], receiverOf({ accountId: 'alice' }))
    expect(totals).toEqual([
      { accountId: 'alice', debitsPending: -200n, debitsPosted: 200n, creditsPosted: 180n }
    ])
  })

  it('changes no account for a payment without a hold', () => {
    const { endings, totals, transfers } = settleThese([paymentOf({ held: false })], receiverOf())
    expect(endings[0]?.settlement.failureReason).toBe('insufficient_funds')
    expect([totals, transfers]).toEqual([[], []])
  })

  it('gives the hold back where the receiver does not exist', () => {
    for (const incomingPaymentId of [undefined, 'missing']) {
      const { totals, transfers } = settleThese([paymentOf({ incomingPaymentId })], receiverOf())
      expect(totals).toEqual([
        { accountId: 'alice', debitsPending: -100n, debitsPosted: 0n, creditsPosted: 0n }
      ])
      expect(transfers).toEqual([])
    }
  })

  it('takes nothing at the instant of expiry', () => {
    const { endings } = settleThese([paymentOf()], receiverOf({ expiresAtMs: NOW_MS }))
    expect(endings[0]?.settlement.failureReason).toBe('receiver_expired')
  })

  it('refuses amounts that do not add up in one asset, rather than lose or make money', () => {
    const amounts = { debitValue: 100n, feeValue: 10n, receiveValue: 89n }
    expect(() => settleThese([paymentOf({ amounts })], receiverOf())).toThrow(/does not add up/)
  })
})

const money = fc.bigInt(1n, 1_000n)
const payment = fc
  .record({
    net: money,
    fee: fc.bigInt(0n, 50n),
    converted: money,
    crosses: fc.boolean(),
    held: fc.boolean()
  })
  .map(({ net, fee, converted, crosses, held }) =>
    paymentOf({
      incomingPaymentId: crosses ? 'receiver-2' : 'receiver-1',
      amounts: { debitValue: net + fee, feeValue: fee, receiveValue: crosses ? converted : net },
      receiveAssetId: crosses ? 2 : 1,
      held
    })
  )

it('whatever the payments are, clearing is left empty and no receiver gets more than it may', () => {
  fc.assert(
    fc.property(fc.array(payment, { maxLength: 12 }), money, money, (payments, first, second) => {
      const numbered = payments.map((each, index) => ({ ...each, id: `payment-${index}` }))
      const batch = settleThese(
        numbered,
        receiverOf({ incomingValue: first }),
        receiverOf({ id: 'receiver-2', accountId: 'carol', incomingValue: second })
      )
      const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)
      const sent = sum(batch.endings.map(({ settlement }) => settlement.settledDebitValue))
      const fromClearing = batch.transfers.filter(({ debitAccountId }) => debitAccountId === 'usd-clearing')
      expect(sum(fromClearing.map(({ amount }) => amount))).toBe(sent)
      expect((batch.received.get('receiver-1') ?? 0n) <= first).toBe(true)
      expect((batch.received.get('receiver-2') ?? 0n) <= second).toBe(true)
      const credited = batch.transfers.filter(({ incomingPaymentId }) => incomingPaymentId !== undefined)
      expect(sum(credited.map(({ amount }) => amount))).toBe(sum([...batch.received.values()]))
      expect(sum(batch.totals.map(({ creditsPosted }) => creditsPosted))).toBe(
        sum([...batch.received.values()])
      )
      expect(sum(batch.totals.map(({ debitsPosted }) => debitsPosted))).toBe(sent)
      const holds = numbered.filter(({ held }) => held).map(({ amounts }) => amounts.debitValue)
      expect(sum(batch.totals.map(({ debitsPending }) => debitsPending))).toBe(-sum(holds))
    }),
    { numRuns: 500 }
  )
})

it('paying in parts that race is never cheaper than paying at once, and saves less than one fixed fee', () => {
  const asset = { code: 'USD', scale: 2 }
  const schedule = fc.record({
    fixed: fc.bigInt(0n, 10_000n),
    basisPoints: fc.integer({ min: 0, max: 9_999 })
  })
  const receives = fc.array(fc.bigInt(1n, 1_000_000n), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(schedule, receives, fc.bigInt(1n, 1_000_000n), (fees, wanted, room) => {
      const costOf = (receive: bigint) =>
        quoteFromReceive(receive, { source: asset, target: asset, rate: RATE_ONE, fees })
      // Each was created while all of the room was there, as those that race are.
      const payments = wanted.map((receive, index) =>
        paymentOf({ id: `payment-${index}`, amounts: costOf(receive < room ? receive : room) })
      )
      const { endings } = settleThese(payments, receiverOf({ incomingValue: room }))
      const delivering = endings
        .map(({ settlement }) => settlement)
        .filter(({ settledReceiveValue }) => settledReceiveValue > 0n)
      const parts = delivering.filter(({ state }) => state === 'failed')
      expect(parts.length).toBeLessThanOrEqual(1)
      const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)
      const sent = sum(delivering.map((settlement) => settlement.settledDebitValue))
      const delivered = sum(delivering.map((settlement) => settlement.settledReceiveValue))
      expect(sent >= costOf(delivered).debitValue).toBe(true)
      for (const part of parts) {
        const saved = costOf(part.settledReceiveValue).feeValue - part.settledFeeValue
        // The fixed part, the share that is taken of it, and a unit for rounding.
        expect(saved * BigInt(10_000 - fees.basisPoints) < (fees.fixed + 1n) * 10_000n).toBe(true)
      }
    }),
    { numRuns: 1_000 }
  )
})
