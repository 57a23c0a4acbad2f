import { describe, expect, it } from '@jest/globals'
import { parseRepeatingInterval as parse } from '@open-payments-server/value-types/intervals'
import { Refusal } from '@open-payments-server/value-types/refusals'
import fc from 'fast-check'
import type { AccessItem, Limits } from './access.js'
import { coverPayment, type PaymentContent } from './limits.js'
import { type GrantedItem, narrowAccess } from './narrowing.js'

const ALICE = 'https://wallet.example/alice'
const RECEIVER = 'https://wallet.example/incoming-payments/1'
const MONTHLY = 'R12/2026-01-01T00:00:00Z/P1M'
const USD = { code: 'USD', scale: 2 }
const EUR = { code: 'EUR', scale: 2 }
const usd = (value: bigint) => ({ value, asset: USD })

const paying = (limits?: Limits, actions: readonly string[] = ['create', 'read']): AccessItem => ({
  type: 'outgoing-payment',
  actions,
  identifier: ALICE,
  ...(limits === undefined ? {} : { limits })
})
const quoting: AccessItem = { type: 'quote', actions: ['create', 'read'], identifier: ALICE }

/** The field that is refused; undefined when nothing is. */
function refusedField(asked: readonly AccessItem[], granted: readonly AccessItem[]): string | undefined {
  try {
    narrowAccess(asked, granted)
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return Object.keys(error.details ?? {}).join()
  }
}

describe('less than was asked', () => {
  it.each<[string, readonly AccessItem[], readonly AccessItem[], readonly number[]]>([
    [
      'everything',
      [paying({ debitAmount: usd(5n) }), quoting],
      [paying({ debitAmount: usd(5n) }), quoting],
      [0, 1]
    ],
    ['the first of two', [paying(), quoting], [paying()], [0]],
    ['the second of two', [quoting, paying()], [paying()], [1]],
    ['fewer actions', [paying()], [paying(undefined, ['create'])], [0]],
    ['a lower amount', [paying({ debitAmount: usd(5n) })], [paying({ debitAmount: usd(4n) })], [0]],
    [
      'nothing but to read',
      [paying({ debitAmount: usd(5n) })],
      [paying({ debitAmount: usd(0n) }, ['read'])],
      [0]
    ],
    ['a limit where none was asked', [paying()], [paying({ debitAmount: usd(4n) })], [0]],
    [
      'one limit more',
      [paying({ debitAmount: usd(5n) })],
      [paying({ debitAmount: usd(5n), receiveAmount: usd(3n) })],
      [0]
    ],
    [
      'fewer months',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R3/2026-01-01T00:00:00Z/P1M' })],
      [0]
    ],
    ['an end', [paying({ interval: 'R/2026-01-01T00:00:00Z/P1M' })], [paying({ interval: MONTHLY })], [0]],
    [
      'one month of them',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R1/2026-03-01T00:00:00Z/P1M' })],
      [0]
    ],
    [
      'a week of one',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R1/2026-03-08T00:00:00Z/P7D' })],
      [0]
    ],
    [
      'the last months',
      [paying({ interval: 'R/P1M/2026-01-01T00:00:00Z' })],
      [paying({ interval: 'R2/P1M/2026-01-01T00:00:00Z' })],
      [0]
    ],
    [
      'a time in which it counts',
      [paying({ debitAmount: usd(5n) })],
      [paying({ debitAmount: usd(5n), interval: 'R1/2026-03-01T00:00:00Z/P1M' })],
      [0]
    ],
    [
      'a monthly limit where none was asked',
      [paying()],
      [paying({ debitAmount: usd(5n), interval: MONTHLY })],
      [0]
    ],
    [
      'the second of two alike',
      [paying({ debitAmount: usd(5n) }), paying({ debitAmount: usd(9n) })],
      [paying({ debitAmount: usd(7n) })],
      [1]
    ]
  ])('is %s', (_what, asked, granted, positions) => {
    expect(narrowAccess(asked, granted)).toEqual(
      granted.map((item, index): GrantedItem => ({ position: positions[index] ?? NaN, item }))
    )
  })

  it.each<[string, readonly AccessItem[], readonly AccessItem[], string]>([
    ['something else', [paying()], [quoting], 'access[0]'],
    ['one item twice', [paying()], [paying(), paying(undefined, ['create'])], 'access[1]'],
    ['another order', [quoting, paying()], [paying(), quoting], 'access[1]'],
    ['the wallet of another', [paying()], [{ ...paying(), identifier: `${ALICE}2` }], 'access[0].identifier'],
    ['any wallet', [quoting], [{ type: 'quote', actions: ['read'] }], 'access[0].identifier'],
    ['another action', [paying(undefined, ['read'])], [paying()], 'access[0].actions'],
    ['a wider action', [paying(undefined, ['read'])], [paying(undefined, ['read-all'])], 'access[0].actions'],
    [
      'a higher amount',
      [paying({ debitAmount: usd(5n) })],
      [paying({ debitAmount: usd(6n) })],
      'access[0].limits.debitAmount'
    ],
    ['no amount', [paying({ debitAmount: usd(5n) })], [paying()], 'access[0].limits.debitAmount'],
    [
      'another limit instead',
      [paying({ debitAmount: usd(5n) })],
      [paying({ receiveAmount: usd(5n) })],
      'access[0].limits.debitAmount'
    ],
    [
      'another asset',
      [paying({ debitAmount: usd(5n) })],
      [paying({ debitAmount: { value: 5n, asset: EUR } })],
      'access[0].limits.debitAmount'
    ],
    [
      'another scale',
      [paying({ receiveAmount: usd(5n) })],
      [paying({ receiveAmount: { value: 5n, asset: { code: 'USD', scale: 1 } } })],
      'access[0].limits.receiveAmount'
    ],
    ['anyone', [paying({ receiver: RECEIVER })], [paying()], 'access[0].limits.receiver'],
    [
      'someone else',
      [paying({ receiver: RECEIVER })],
      [paying({ receiver: `${RECEIVER}2` })],
      'access[0].limits.receiver'
    ],
    ['no interval', [paying({ interval: MONTHLY })], [paying()], 'access[0].limits.interval'],
    [
      'more months',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R13/2026-01-01T00:00:00Z/P1M' })],
      'access[0].limits.interval'
    ],
    [
      'no end',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R/2026-01-01T00:00:00Z/P1M' })],
      'access[0].limits.interval'
    ],
    [
      'every week',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R12/2026-01-01T00:00:00Z/P1W' })],
      'access[0].limits.interval'
    ],
    [
      'another start',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R12/2026-01-02T00:00:00Z/P1M' })],
      'access[0].limits.interval'
    ],
    [
      'a part of two months',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R1/2026-01-20T00:00:00Z/P1M' })],
      'access[0].limits.interval'
    ],
    [
      'a month before',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R1/2025-12-01T00:00:00Z/P1M' })],
      'access[0].limits.interval'
    ],
    [
      'a month after',
      [paying({ interval: MONTHLY })],
      [paying({ interval: 'R1/2027-01-01T00:00:00Z/P1M' })],
      'access[0].limits.interval'
    ],
    [
      'the amount every month',
      [paying({ debitAmount: usd(5n) })],
      [paying({ debitAmount: usd(5n), interval: MONTHLY })],
      'access[0].limits.interval'
    ]
  ])('is not %s', (_what, asked, granted, field) => {
    expect(refusedField(asked, granted)).toBe(field)
  })
})

const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 0, 1)

const amountOf = fc.record({
  value: fc.bigInt({ min: 0n, max: 20n }),
  asset: fc.constantFrom(USD, USD, USD, EUR)
})
const limitsOf: fc.Arbitrary<Limits> = fc.record(
  {
    receiver: fc.constantFrom(RECEIVER, `${RECEIVER}2`),
    debitAmount: amountOf,
    receiveAmount: amountOf,
    interval: fc.constantFrom(
      'R/2026-01-01T00:00:00Z/PT2H',
      'R3/2026-01-01T00:00:00Z/PT2H',
      'R1/2026-01-01T00:00:00Z/PT2H',
      'R1/2026-01-01T02:00:00Z/PT1H',
      'R1/2026-01-01T01:00:00Z/PT2H',
      'R2/2026-01-01T00:00:00Z/PT1H',
      'R2/PT2H/2026-01-01T06:00:00Z',
      'R/PT2H/2026-01-01T06:00:00Z'
    )
  },
  { requiredKeys: [] }
)
const itemOf = fc
  .record({
    actions: fc.subarray(['create', 'read', 'list'], { minLength: 1 }),
    limits: fc.option(limitsOf, { nil: undefined }),
    identifier: fc.constantFrom(ALICE, ALICE, ALICE, `${ALICE}2`)
  })
  .map(({ actions, limits, identifier }): AccessItem => ({ ...paying(limits, actions), identifier }))

interface Payment {
  readonly atMs: number
  readonly receiver: string
  readonly debit: bigint
  readonly receive: bigint
}
const paymentOf: fc.Arbitrary<Payment> = fc.record({
  atMs: fc.integer({ min: -2, max: 14 }).map((half) => START_MS + (half * HOUR_MS) / 2),
  receiver: fc.constantFrom(RECEIVER, `${RECEIVER}2`),
  debit: fc.bigInt({ min: 0n, max: 12n }),
  receive: fc.bigInt({ min: 0n, max: 12n })
})

/** Which payments, one after the other, an item allows. */
function allowed(item: AccessItem, payments: readonly Payment[]): readonly Payment[] {
  const spent = new Map<string, { debit: bigint; receive: bigint }>()
  return payments.filter(({ atMs, receiver, debit, receive }) => {
    const content: PaymentContent = {
      tokenHash: Buffer.alloc(32),
      requestHash: Buffer.alloc(32),
      walletAddress: ALICE,
      receiver,
      debitAmount: usd(debit),
      receiveAmount: usd(receive)
    }
    const interval = item.limits?.interval
    const granted = { ...item, id: 'item', interval: interval === undefined ? undefined : parse(interval) }
    const [window] = coverPayment([granted], content, atMs).candidates
    if (window === undefined) return false
    const key = String(window.intervalIndex)
    const before = spent.get(key) ?? { debit: 0n, receive: 0n }
    const after = { debit: before.debit + debit, receive: before.receive + receive }
    const { debitAmount, receiveAmount } = item.limits ?? {}
    if (debitAmount !== undefined && after.debit > debitAmount.value) return false
    if (receiveAmount !== undefined && after.receive > receiveAmount.value) return false
    spent.set(key, after)
    return true
  })
}

describe('whatever is narrowed', () => {
  it('allows no payments that could not be charged to what was asked', () => {
    let narrowed = 0
    fc.assert(
      fc.property(itemOf, itemOf, fc.array(paymentOf, { maxLength: 12 }), (asked, other, payments) => {
        // Half of the time a small change of what was asked: two drawn apart seldom fit.
        for (const granted of [other, { ...asked, limits: { ...asked.limits, ...other.limits } }, asked]) {
          if (refusedField([asked], [granted]) !== undefined) continue
          narrowed += 1
          const paid = allowed(granted, payments)
          expect(allowed(asked, paid)).toEqual(paid)
        }
      }),
      { numRuns: 3_000 }
    )
    expect(narrowed).toBeGreaterThan(3_500)
  })

  it('narrows each item by at most one, in their order', () => {
    fc.assert(
      fc.property(
        fc.array(itemOf, { maxLength: 3 }),
        fc.array(itemOf, { maxLength: 3 }),
        (asked, granted) => {
          if (refusedField(asked, granted) !== undefined) return
          const places = narrowAccess(asked, granted).map(({ position }) => position)
          expect(places).toEqual([...new Set(places)].sort((one, other) => one - other))
          for (const { position, item } of narrowAccess(asked, granted))
            expect(refusedField(asked.slice(position, position + 1), [item])).toBeUndefined()
        }
      )
    )
  })
})
