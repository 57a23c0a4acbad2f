import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import fc from 'fast-check'
import type { ModelAmount, ModelItem } from './limits-model.js'
import { RECEIVERS } from './limits-server.js'
import type { CallChoice, Pick, Share } from './limits-world.js'
import type { ModelInterval } from './model-interval.js'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
/** How far clocks jump. */
const JUMP_MS = 15 * MINUTE_MS

/** The newest is chosen most often. */
const which: fc.Arbitrary<Pick> = fc.oneof(fc.nat({ max: 2 }), fc.nat({ max: 500 }))

const paymentOrUnknown: fc.Arbitrary<Pick | 'unknown'> = fc.oneof(
  { arbitrary: which, weight: 15 },
  { arbitrary: fc.constant('unknown' as const), weight: 1 }
)

/** Undefined with this weight, compared with 1 for a value. */
function orNone<Value>(weight: number, of: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.oneof({ arbitrary: fc.constant(undefined), weight }, { arbitrary: of, weight: 1 })
}

const value = fc.oneof(
  { arbitrary: fc.bigInt({ min: 0n, max: 160n }), weight: 16 },
  { arbitrary: fc.constantFrom(50n, 100n), weight: 8 },
  { arbitrary: fc.constantFrom(0n, 1n, 2n ** 63n, UINT64_MAX - 100n, UINT64_MAX), weight: 1 }
)

const limit = fc.oneof(
  { arbitrary: fc.bigInt({ min: 0n, max: 700n }), weight: 16 },
  { arbitrary: fc.constantFrom(0n, 1n, 2n ** 63n, UINT64_MAX), weight: 1 }
)

/** Amounts in the asset of the wallet address, like nearly all debits. */
const inDebitAsset = (of: fc.Arbitrary<bigint>): fc.Arbitrary<ModelAmount> =>
  fc.record({ value: of, asset: oftenUsd(15) })

/** Amounts in the asset of a receiver. */
const inReceiveAsset = (of: fc.Arbitrary<bigint>): fc.Arbitrary<ModelAmount> =>
  fc.record({ value: of, asset: oftenUsd(3) })

function oftenUsd(weight: number): fc.Arbitrary<ModelAmount['asset']> {
  return fc.oneof(
    { arbitrary: fc.constant('USD' as const), weight },
    { arbitrary: fc.constant('EUR' as const), weight: 1 }
  )
}

const share: fc.Arbitrary<Share> = fc.oneof(
  { arbitrary: fc.constantFrom('all' as const, 'none' as const), weight: 4 },
  { arbitrary: fc.integer({ min: 1, max: 99 }), weight: 4 },
  { arbitrary: fc.constant('too much' as const), weight: 1 }
)

/** Calls about certain payments. */
const callsAbout = (of: fc.Arbitrary<Pick | 'unknown'>): fc.Arbitrary<CallChoice> =>
  fc.oneof(
    {
      arbitrary: fc.record({ method: fc.constant('settle' as const), of, debited: share, received: share }),
      weight: 4
    },
    { arbitrary: fc.record({ method: fc.constant('release' as const), of }), weight: 1 }
  )

const reservation: fc.Arbitrary<CallChoice> = fc.record({
  method: fc.constant('reserve' as const),
  grant: which,
  debit: inDebitAsset(value),
  receive: inReceiveAsset(value),
  receiver: fc.constantFrom(...RECEIVERS),
  under: orNone(9, which)
})

/** Calls of every kind. */
export const call: fc.Arbitrary<CallChoice> = fc.oneof(
  { arbitrary: reservation, weight: 3 },
  { arbitrary: callsAbout(paymentOrUnknown), weight: 2 }
)

/** Repetitions of earlier calls. */
export const repetition: fc.Arbitrary<CallChoice> = fc.record({
  method: fc.constant('repeat' as const),
  call: which
})

/** Concurrent calls: about anything, or all about the newest payments and their calls. */
export const callsTogether: fc.Arbitrary<readonly CallChoice[]> = fc.oneof(
  fc.array(fc.oneof(call, repetition), { minLength: 2, maxLength: 4 }),
  fc.array(
    fc.oneof(
      callsAbout(fc.nat({ max: 1 })),
      fc.record({ method: fc.constant('repeat' as const), call: fc.nat({ max: 3 }) })
    ),
    { minLength: 2, maxLength: 4 }
  )
)

/** Where a grant's interval begins or ends, relative to the time of the grant. */
export type AnchorChoice = { readonly awayMs: number } | { readonly monthEndOffsetMs: number }

/** An interval, chosen before the time of its grant is known. */
export interface IntervalChoice extends Omit<ModelInterval, 'anchorMs'> {
  readonly near: AnchorChoice
}

const interval: fc.Arbitrary<IntervalChoice> = fc.record({
  near: fc.oneof(
    fc.record({ awayMs: fc.integer({ min: -60 * DAY_MS, max: 60 * DAY_MS }) }),
    fc.record({ awayMs: fc.constantFrom(0, -1, 1) }),
    fc.record({ monthEndOffsetMs: fc.constantFrom(0, DAY_MS - 1, 12 * 60 * MINUTE_MS) })
  ),
  anchor: fc.constantFrom('start', 'start', 'end'),
  count: orNone(1, fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 12 }))),
  length: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 10 })),
  unit: fc.constantFrom('hour', 'day', 'month')
})

/** An access item whose interval is relative to the time of the grant. */
export type ItemChoice = Omit<ModelItem, 'interval'> & { readonly interval: IntervalChoice | undefined }

const item: fc.Arbitrary<ItemChoice> = fc.record({
  receiver: orNone(3, fc.constant(RECEIVERS[0])),
  debitMax: orNone(1, inDebitAsset(limit)),
  receiveMax: orNone(2, inReceiveAsset(limit)),
  interval: orNone(1, interval)
})

/** The access items of a grant: usually one. */
export const grant: fc.Arbitrary<readonly ItemChoice[]> = fc.oneof(
  fc.array(item, { minLength: 1, maxLength: 1 }),
  fc.array(item, { minLength: 2, maxLength: 3 })
)

/** The chosen item, for a grant that is made at an instant (milliseconds since 1970). */
export function makeItem({ interval: choice, ...others }: ItemChoice, nowMs: number): ModelItem {
  if (choice === undefined) return { ...others, interval: undefined }
  const { near, ...shape } = choice
  return { ...others, interval: { ...shape, anchorMs: anchorOf(near, nowMs) } }
}

/** An arbitrary instant, or one on the last day of the month before: the next months are shorter, or longer. */
function anchorOf(near: AnchorChoice, nowMs: number): number {
  if ('awayMs' in near) return nowMs + near.awayMs
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0) + near.monthEndOffsetMs
}

/** A step to an interval's boundary. */
export interface BoundaryChoice {
  readonly grant: Pick
  readonly item: Pick
  readonly offsetMs: number
}

/** Exactly to the boundary, a millisecond before or after it, or some time later. */
export const boundaries: fc.Arbitrary<BoundaryChoice> = fc.record({
  grant: which,
  item: which,
  offsetMs: fc.oneof(fc.constantFrom(0, -1, 1), fc.integer({ min: 0, max: 3 * DAY_MS }))
})

/** A call that arrives: at once, after minutes, after days. */
export interface ArrivalChoice {
  readonly which: Pick
  readonly lateMs: number
}

/** Calls that arrive late. */
export const arrivals: fc.Arbitrary<ArrivalChoice> = fc.record({
  which,
  lateMs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: JUMP_MS }),
    fc.integer({ min: DAY_MS, max: 40 * DAY_MS })
  )
})

/** How far the clock jumps, in milliseconds. */
export const jumps: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: -JUMP_MS, max: JUMP_MS }),
  fc.constantFrom(-JUMP_MS, -1, 1, JUMP_MS)
)

/** Whether the client is frozen: seldom for long, so that most payments meet the limits. Orders are repeated too. */
export const freezes: fc.Arbitrary<boolean> = fc.constantFrom(true, false, false, false)

/** The start of a sequence, and its first grant. */
export interface Beginning {
  /** Milliseconds since 1970. */
  readonly startMs: number
  readonly grant: readonly ItemChoice[]
}

/** Starts of sequences: often at the end of a month or year. */
export const beginnings: fc.Arbitrary<Beginning> = fc.record({
  startMs: fc.oneof(
    fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2029, 0) }),
    fc.constantFrom(
      Date.UTC(2026, 0, 31),
      Date.UTC(2026, 1, 28, 23, 59, 59, 999),
      Date.UTC(2028, 1, 29),
      Date.UTC(2027, 11, 31, 23, 50)
    )
  ),
  grant
})
