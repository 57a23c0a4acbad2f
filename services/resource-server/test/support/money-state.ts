import type { ModelRule, Owner } from './money-operations.js'
import type { Peering, Sending } from './money-model-peers.js'

export interface Account {
  balance: bigint
  frozen: boolean
  addressFrozen: boolean
}

export interface Incoming {
  readonly owner: Owner
  readonly maximum: bigint | undefined
  readonly expiresAtMs: number
  received: bigint
  completed: boolean
  expiryTold: boolean
}

export type Decision = 'approved' | 'declined' | 'timed_out'

export interface Payment {
  readonly owner: Owner
  /** undefined if its receiver is at the other provider. */
  readonly incoming: number | undefined
  /** undefined unless its receiver is at the other provider. */
  readonly sending: Sending | undefined
  readonly debit: bigint
  readonly fee: bigint
  readonly receive: bigint
  readonly refundOf: number | undefined
  readonly held: boolean
  /** When its terms end; undefined unless its receiver is here and another currency arrives. */
  readonly termsEndMs: number | undefined
  /** When its approval times out; undefined unless it met a rule. */
  readonly decideByMs: number | undefined
  decision: Decision | undefined
  state: 'awaiting_approval' | 'pending' | 'completed' | 'failed'
  reason: string
  sent: bigint
  sentFee: bigint
  delivered: bigint
  refunded: bigint
  /** The part of it that the provider refunded. */
  refundedByProvider: bigint
}

export interface Refund {
  readonly payment: number
  readonly value: bigint
  readonly returnsFee: boolean
  /** Whether a payment makes it, which has its number. */
  readonly byPayment: boolean
  state: 'pending' | 'completed' | 'failed'
  taken: bigint
  returned: bigint
  returnedFee: bigint
}

/** What is sent, what of it is the fee, and what is delivered. */
export type Settlement = readonly [sent: bigint, fee: bigint, delivered: bigint]

/** Everything that the model knows. */
export interface State {
  nowMs: number
  clientFrozen: boolean
  readonly accounts: Record<Owner, Account>
  rules: Readonly<Record<number, ModelRule>>
  readonly incoming: Record<number, Incoming>
  readonly payments: Record<number, Payment>
  readonly refunds: Record<number, Refund>
  readonly peering: Peering
  readonly events: Record<string, string[]>
}

/** What is to be seen of the money: by operators, and as events. Payments and refunds by number, events by subject. */
export interface Shown {
  /** Balance, held, available, and whether it is frozen. */
  readonly accounts: Readonly<Record<Owner, readonly [bigint, bigint, bigint, boolean]>>
  /** State, what was received, and what of it was refunded. */
  readonly incoming: Readonly<Record<number, readonly [string, bigint, bigint]>>
  /** State, reason, what was sent, and what of its delivery was refunded. */
  readonly payments: Readonly<Record<number, readonly [string, string, bigint, bigint]>>
  /** What was decided about those that met a rule; empty while they wait. */
  readonly decisions: Readonly<Record<number, string>>
  /** State, what was taken, what was returned, and what of the fee. */
  readonly refunds: Readonly<Record<number, readonly [string, bigint, bigint, bigint]>>
  /** What the peer owes, what it is owed, and what each may be at most; empty for any amount. */
  readonly peer: readonly [bigint, bigint, string, string]
  /** Pending payments elsewhere: whether they are begun, attempts without a fulfillment, what may have arrived, and whether an attempt is made. */
  readonly sending: Readonly<Record<number, readonly [boolean, number, bigint, boolean]>>
  /** What receivers at the other provider have, by payment. */
  readonly elsewhere: Readonly<Record<number, bigint>>
  readonly events: Readonly<Record<string, readonly string[]>>
}

/** The fixed part of the fee of what is paid in dollars. */
export const FIXED_FEE = 3n

/** What a payment costs beside what it brings, and what the receiver gets: dollars, or euros. */
export function termsOf(
  owner: Owner,
  debit: bigint,
  inEuros: boolean
): { readonly fee: bigint; readonly receive: bigint } {
  // A tenth of what is paid in dollars, and the fixed part. A euro costs 1 / 0.9 dollars, and brings 1.1.
  const fee = owner === 'carol' ? 0n : FIXED_FEE + ceil(debit, 10n)
  const factor = (owner === 'carol') === inEuros ? 10n : owner === 'carol' ? 11n : 9n
  return { fee, receive: ((debit - fee) * factor) / 10n }
}

/** What a payment sends that delivers less than everything. */
export function partOf(
  { debit, fee, receive }: Pick<Payment, 'debit' | 'fee' | 'receive'>,
  room: bigint
): Settlement {
  // A failed payment keeps a unit of its debit.
  const covered = largestPart({ debit, receive })
  const part = room < covered ? room : covered
  const sent = ceil(debit * part, receive)
  return [sent, sent - ceil((debit - fee) * part, receive), part]
}

/** What a payment to the other provider sends that has delivered so much: the fixed part of the fee whole. */
export function partElsewhere(payment: Payment, delivered: bigint): Settlement {
  const { owner, debit, fee, receive } = payment
  const fixed = owner === 'carol' ? 0n : FIXED_FEE
  const shared = { debit: debit - fixed, fee: fee - fixed, receive }
  // What the receiver has already is not reduced: it costs the whole debit.
  if (delivered > largestPart(shared)) return [debit, fee, receive]
  const [sent, sentFee, part] = partOf(shared, delivered)
  return part === 0n ? [0n, 0n, 0n] : [sent + fixed, sentFee + fixed, part]
}

/** The most that a payment can deliver without being completed. */
function largestPart({ debit, receive }: Pick<Payment, 'debit' | 'receive'>): bigint {
  return ((debit - 1n) * receive) / debit
}

export function isEnded({ state }: Payment): boolean {
  return state === 'completed' || state === 'failed'
}

/** @throws Error when there is none: an operation is about something that does not exist */
export function given<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('there is no such thing')
  return value
}

/** A deep copy of plain data. Other than that of `structuredClone`, its prototypes are those of this module. */
export function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as Value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, copyOf(part as unknown)])
  ) as Value
}

export function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

export function ceil(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

/** The entries of what is known by number. */
export function entries<Value>(record: Readonly<Record<number, Value>>): [number, Value][] {
  return Object.entries(record).map(([number, value]) => [Number(number), value])
}

export function mapped<Value, Result>(
  record: Readonly<Record<number, Value>>,
  map: (value: Value, number: number) => Result
): Record<number, Result> {
  return Object.fromEntries(entries(record).map(([number, value]) => [number, map(value, number)]))
}
