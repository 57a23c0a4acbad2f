import { type AmountWire, formatAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import {
  intervalBounds,
  intervalIndexAt,
  isPaying,
  parseRepeatingInterval,
  type RepeatingInterval
} from '@open-payments-server/value-types/intervals'
import type { AskedItem } from './grant.js'
import { readTypedAmount } from './typed-amount.js'

/** By how much less than was asked an account holder allows, by the place of the item, from 0. As they wrote it. */
export interface Changes {
  /** Amounts in whole units, such as `20.00`. */
  readonly amounts: ReadonlyMap<number, string>
  /** Numbers of repetitions. */
  readonly times: ReadonlyMap<number, string>
  /** The last day of all of it, such as `2027-03-31`; undefined when none was written. */
  readonly end: string | undefined
  /** Items that are left out. */
  readonly without: ReadonlySet<number>
}

/** Why changes cannot be applied. */
export type ChangeProblem = 'amount' | 'times' | 'end' | 'nothing'

/** What is left of a request. */
export type Narrowed =
  | {
      readonly items: readonly { readonly place: number; readonly item: AskedItem }[]
      /** When all of it ends, in milliseconds since 1970; undefined when no last day was set. */
      readonly endsAtMs: number | undefined
      readonly isLess: boolean
    }
  | { readonly problem: ChangeProblem }

/** How what somebody wrote is read. */
export interface Reading {
  /** Between units and fractions in amounts. */
  readonly decimalSign: '.' | ','
  /** When a day ends, exclusive, in milliseconds since 1970; undefined for what is no day. */
  readonly endOfDay: (day: string) => number | undefined
}

const NAME = /^(amount|times|without)-(\d{1,2})$/
const END = 'end'
/** Of any of them, in characters: the largest amount has 78 digits. */
const VALUE_LENGTH_MAX = 300
const DAY_MS = 86_400_000
const COUNT = /^[1-9]\d{0,5}$/

/** Reads changes from the fields of a form; others are ignored. */
export function readChanges(fields: Iterable<readonly [string, string]>): Changes {
  const amounts = new Map<number, string>()
  const times = new Map<number, string>()
  let end: string | undefined
  const without = new Set<number>()
  for (const [name, value] of fields) {
    if (value.trim() === '' || value.length > VALUE_LENGTH_MAX) continue
    if (name === END) end = value.trim()
    const [, kind, digits] = NAME.exec(name) ?? []
    if (kind === undefined) continue
    const place = Number(digits)
    if (kind === 'amount') amounts.set(place, value.trim())
    else if (kind === 'times') times.set(place, value.trim())
    else without.add(place)
  }
  return { amounts, times, end, without }
}

/** The fields from which {@link readChanges} reads the same. */
export function changeFields({
  amounts,
  times,
  end,
  without
}: Changes): readonly (readonly [string, string])[] {
  return [
    ...[...amounts].map(([place, value]) => [`amount-${String(place)}`, value] as const),
    ...[...times].map(([place, value]) => [`times-${String(place)}`, value] as const),
    ...(end === undefined ? [] : [[END, end] as const]),
    ...[...without].map((place) => [`without-${String(place)}`, 'on'] as const)
  ]
}

/**
 * What is granted with changes.
 *
 * @param expiresAtMs when the request can no longer be decided
 */
export function applyChanges(
  asked: readonly AskedItem[],
  changes: Changes,
  expiresAtMs: number,
  reading: Reading
): Narrowed {
  const items: { place: number; item: AskedItem }[] = []
  const endsAtMs = changes.end === undefined ? undefined : reading.endOfDay(changes.end)
  if (changes.end !== undefined && (endsAtMs ?? 0) <= expiresAtMs) return { problem: 'end' }
  let isLess = endsAtMs !== undefined
  for (const [place, item] of asked.entries()) {
    if (changes.without.has(place)) {
      isLess = true
      continue
    }
    const amount = narrowAmount(item, changes.amounts.get(place), reading.decimalSign)
    if (amount === 'problem') return { problem: 'amount' }
    const fewer = narrowTimes(item, changes.times.get(place))
    if (fewer === 'problem') return { problem: 'times' }
    const interval = narrowEnd(item, fewer, endsAtMs, expiresAtMs)
    if (interval === 'problem') return { problem: 'end' }
    if (amount === undefined && interval === undefined) {
      items.push({ place, item })
      continue
    }
    isLess = true
    const limits = { ...item.limits, ...amount, ...(interval === undefined ? {} : { interval }) }
    items.push({ place, item: { ...item, limits } })
  }
  return items.length === 0 ? { problem: 'nothing' } : { items, endsAtMs, isLess }
}

/** Whether the interval of an item can end earlier: not where only one receiver is paid, nor where the last interval is fixed. */
function takesEnd(item: AskedItem): boolean {
  const { limits } = item
  if (!isPaying(item) || limits?.receiver !== undefined) return false
  return limits?.interval === undefined || parseRepeatingInterval(limits.interval).anchor === 'start'
}

/** The amount of an item that can be lowered, and its name. */
export function limitingAmount(
  item: AskedItem
): { readonly name: 'debitAmount' | 'receiveAmount'; readonly amount: AmountWire } | undefined {
  const { debitAmount, receiveAmount } = item.limits ?? {}
  if (debitAmount !== undefined) return { name: 'debitAmount', amount: debitAmount }
  return receiveAmount === undefined ? undefined : { name: 'receiveAmount', amount: receiveAmount }
}

/** How often an item repeats: `Infinity` for one without end, undefined for one that does not repeat, or whose end is fixed. */
export function repetitionsOf(item: AskedItem): number | undefined {
  const { interval } = item.limits ?? {}
  if (interval === undefined) return undefined
  const { anchor, count = Infinity } = parseRepeatingInterval(interval)
  return anchor === 'end' || count === 1 ? undefined : count
}

function narrowAmount(
  item: AskedItem,
  text: string | undefined,
  decimalSign: '.' | ','
): Partial<Record<'debitAmount' | 'receiveAmount', AmountWire>> | 'problem' | undefined {
  const limiting = limitingAmount(item)
  if (text === undefined || limiting === undefined) return undefined
  const asked = parseAmount(limiting.amount)
  const wanted = readTypedAmount(text, asked.asset, decimalSign)
  if (wanted === undefined || wanted.value === 0n || wanted.value > asked.value) return 'problem'
  return wanted.value === asked.value ? undefined : { [limiting.name]: formatAmount(wanted) }
}

function narrowTimes(item: AskedItem, text: string | undefined): string | undefined {
  const most = repetitionsOf(item)
  const interval = item.limits?.interval
  if (text === undefined || most === undefined || interval === undefined) return undefined
  if (!COUNT.test(text) || Number(text) > most) return 'problem'
  return Number(text) === most ? undefined : interval.replace(/^R[^/]*/, `R${text}`)
}

/**
 * The interval with an end. What is counted in an interval cannot be counted in a part of it and the rest: so the last one is the last that
 * ends by then, or a part of the one that runs.
 *
 * @param fewer the interval with fewer repetitions; undefined unless there are
 * @param endMs after `expiresAtMs`; undefined without an end
 */
function narrowEnd(
  item: AskedItem,
  fewer: string | undefined,
  endMs: number | undefined,
  expiresAtMs: number
): string | undefined {
  if (endMs === undefined || !takesEnd(item)) return fewer
  const text = fewer ?? item.limits?.interval
  // It may be decided at any time until then, and counts from then on.
  if (text === undefined) return single(Math.floor(expiresAtMs / DAY_MS - 1) * DAY_MS, endMs)
  const interval = parseRepeatingInterval(text)
  if (endMs <= interval.anchorMs) return 'problem'
  const ended = endedIntervals(interval, endMs)
  if (ended === undefined) return fewer
  const running = intervalIndexAt(interval, expiresAtMs) ?? 0n
  return ended > running
    ? text.replace(/^R[^/]*/, `R${String(ended)}`)
    : single(intervalBounds(interval, running).startMs, endMs)
}

/** How many intervals have ended by an instant after the first began; undefined if that is all of them. */
function endedIntervals(interval: RepeatingInterval, endMs: number): bigint | undefined {
  const index = intervalIndexAt(interval, endMs - 1)
  if (index === undefined) return undefined
  const ended = intervalBounds(interval, index).endMs <= endMs ? index + 1n : index
  return interval.count !== undefined && ended >= BigInt(interval.count) ? undefined : ended
}

/** One interval: the amounts apply to all of it. */
function single(startMs: number, endMs: number): string {
  return `R1/${new Date(startMs).toISOString()}/${new Date(endMs).toISOString()}`
}
