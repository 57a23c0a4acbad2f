import {
  AmountError,
  type AmountWire,
  formatAmount,
  parseAmount,
  parseMajorUnits
} from '@open-payments-server/value-types/amounts'
import { parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import type { AskedItem } from './grant.js'

/** By how much less than was asked an account holder allows, by the place of the item, from 0. As they wrote it. */
export interface Changes {
  /** Amounts in whole units, such as `20.00`. */
  readonly amounts: ReadonlyMap<number, string>
  /** Numbers of repetitions. */
  readonly times: ReadonlyMap<number, string>
  /** Items that are left out. */
  readonly without: ReadonlySet<number>
}

/** Why changes cannot be applied. */
export type ChangeProblem = 'amount' | 'times' | 'nothing'

/** What is left of a request. */
export type Narrowed =
  | {
      readonly items: readonly { readonly place: number; readonly item: AskedItem }[]
      readonly isLess: boolean
    }
  | { readonly problem: ChangeProblem }

const NAME = /^(amount|times|without)-(\d{1,2})$/
/** Of any of them, in characters: the largest amount has 78 digits. */
const VALUE_LENGTH_MAX = 300
const COUNT = /^[1-9]\d{0,5}$/

/** Reads changes from the fields of a form; others are ignored. */
export function readChanges(fields: Iterable<readonly [string, string]>): Changes {
  const amounts = new Map<number, string>()
  const times = new Map<number, string>()
  const without = new Set<number>()
  for (const [name, value] of fields) {
    const [, kind, digits] = NAME.exec(name) ?? []
    if (kind === undefined || value.trim() === '' || value.length > VALUE_LENGTH_MAX) continue
    const place = Number(digits)
    if (kind === 'amount') amounts.set(place, value.trim())
    else if (kind === 'times') times.set(place, value.trim())
    else without.add(place)
  }
  return { amounts, times, without }
}

/** The fields from which {@link readChanges} reads the same. */
export function changeFields({ amounts, times, without }: Changes): readonly (readonly [string, string])[] {
  return [
    ...[...amounts].map(([place, value]) => [`amount-${String(place)}`, value] as const),
    ...[...times].map(([place, value]) => [`times-${String(place)}`, value] as const),
    ...[...without].map((place) => [`without-${String(place)}`, 'on'] as const)
  ]
}

/**
 * What is granted with changes.
 *
 * @param decimalSign between units and fractions in amounts
 */
export function applyChanges(
  asked: readonly AskedItem[],
  changes: Changes,
  decimalSign: '.' | ','
): Narrowed {
  const items: { place: number; item: AskedItem }[] = []
  let isLess = false
  for (const [place, item] of asked.entries()) {
    if (changes.without.has(place)) {
      isLess = true
      continue
    }
    const amount = narrowAmount(item, changes.amounts.get(place), decimalSign)
    if (amount === 'problem') return { problem: 'amount' }
    const interval = narrowTimes(item, changes.times.get(place))
    if (interval === 'problem') return { problem: 'times' }
    if (amount === undefined && interval === undefined) {
      items.push({ place, item })
      continue
    }
    isLess = true
    const limits = { ...item.limits, ...amount, ...(interval === undefined ? {} : { interval }) }
    items.push({ place, item: { ...item, limits } })
  }
  return items.length === 0 ? { problem: 'nothing' } : { items, isLess }
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
  // Signs that group digits are refused: a point that means a fraction to one person means thousands to another.
  if (decimalSign === ',' && text.includes('.')) return 'problem'
  try {
    const plain = text.replace(decimalSign, '.')
    const wanted = parseMajorUnits(plain, asked.asset)
    if (wanted.value === asked.value) return undefined
    if (wanted.value === 0n || wanted.value > asked.value) return 'problem'
    return { [limiting.name]: formatAmount(wanted) }
  } catch (error) {
    if (error instanceof AmountError) return 'problem'
    throw error
  }
}

function narrowTimes(item: AskedItem, text: string | undefined): string | undefined {
  const most = repetitionsOf(item)
  const interval = item.limits?.interval
  if (text === undefined || most === undefined || interval === undefined) return undefined
  if (!COUNT.test(text) || Number(text) > most) return 'problem'
  return Number(text) === most ? undefined : interval.replace(/^R[^/]*/, `R${text}`)
}
