import {
  type AmountWire,
  type Asset,
  isSameAsset,
  parseAmount,
  UINT64_MAX
} from '@open-payments-server/value-types/amounts'
import { limitingAmount } from '../domain/changes.js'
import {
  intervalBounds,
  isPayment,
  lastIntervalEnd,
  parseRepeatingInterval,
  payableUntilMs,
  type RepeatingInterval
} from '@open-payments-server/value-types/intervals'
import { endsWithPayments } from '../domain/ends.js'
import type { AskedItem } from '../domain/grant.js'
import type { Receiver } from '../domain/payment.js'
import type { Fact } from './fact.js'
import type { Speech } from './languages.js'
import type { Messages } from './messages.js'
import { addressOf, domainOf, presentableName, presentableText } from './presentable.js'

/** Receivers that were described, by their URLs. */
export type DescribedReceivers = ReadonlyMap<string, Receiver>

const HOUR_MS = 3_600_000

/** URLs of the receivers of items, each once. */
export function receiversOf(items: readonly AskedItem[]): readonly string[] {
  return [...new Set(items.flatMap(({ limits }) => limits?.receiver ?? []))]
}

/** A payee in a sentence: by name where it is known, otherwise by wallet address or domain. */
export function payeeName(url: string, receivers: DescribedReceivers, { messages }: Speech): string {
  const receiver = receivers.get(url)
  if (receiver?.place !== 'here') {
    const walletAddress = receiver?.walletAddress ?? ''
    return walletAddress === '' ? messages.payeeAt(domainOf(url)) : addressOf(walletAddress)
  }
  const name = presentableName(receiver.name)
  return name === '' ? addressOf(receiver.walletAddress) : name
}

/** Who is paid, and for what. */
export function payeeFacts(url: string, receivers: DescribedReceivers, { messages }: Speech): Fact[] {
  const receiver = receivers.get(url)
  const label = messages.facts.to
  if (receiver?.place === 'gone') return [{ label, value: addressOf(url), remark: messages.payeeGone }]
  if (receiver?.place !== 'here') {
    const walletAddress = receiver?.walletAddress ?? ''
    const value = addressOf(walletAddress === '' ? url : walletAddress)
    return [{ label, value, remark: messages.payeeElsewhere(domainOf(url)) }]
  }
  const name = presentableName(receiver.name)
  const description = presentableText(receiver.description)
  return [
    { label, value: addressOf(receiver.walletAddress), ...(name === '' ? {} : { remark: name }) },
    ...(description === '' ? [] : [{ label: messages.facts.purpose, value: description }])
  ]
}

/** The amount that limits an item, with its period: `25.00 USD a month`; undefined without a limit. */
export function limitWords(item: AskedItem, speech: Speech): string | undefined {
  const limiting = limitingAmount(item)
  return limiting && inPeriod(speech.formats.amount(limiting.amount), item.limits?.interval, speech)
}

/**
 * What several items let a client pay at most in all.
 *
 * @returns undefined where that is no amount: one has no limit, or repeats, or they limit different things
 */
export function totalOf(items: readonly AskedItem[]): AmountWire | undefined {
  const limiting = items.map(limitingAmount)
  const [first] = limiting
  if (first === undefined || items.some(({ limits }) => limits?.interval !== undefined)) return undefined
  let total = 0n
  for (const each of limiting) {
    if (each?.name !== first.name || !isSameAsset(assetOf(each.amount), assetOf(first.amount)))
      return undefined
    total += parseAmount(each.amount).value
  }
  return total > UINT64_MAX ? undefined : { ...first.amount, value: total.toString() }
}

function assetOf(amount: AmountWire): Asset {
  return parseAmount(amount).asset
}

/** An amount with its period, unless that is a single one. */
export function inPeriod(amount: string, interval: string | undefined, speech: Speech): string {
  const parsed = interval === undefined ? undefined : parseRepeatingInterval(interval)
  return parsed === undefined || parsed.count === 1 ? amount : `${amount} ${periodWords(parsed, speech)}`
}

/** How much may be paid, in all that limits it. */
export function amountWords(item: AskedItem, speech: Speech): string {
  const { messages, formats } = speech
  const { debitAmount, receiveAmount, interval } = item.limits ?? {}
  const withPeriod = (amount: AmountWire): string => inPeriod(formats.amount(amount), interval, speech)
  const parts = [
    ...(debitAmount === undefined ? [] : [messages.feesIncluded(withPeriod(debitAmount))]),
    ...(receiveAmount === undefined ? [] : [messages.payeeGets(withPeriod(receiveAmount))])
  ]
  return parts.length === 0 ? messages.noLimit : formats.list(parts)
}

/**
 * What an item that pays allows.
 *
 * @param knownMs an instant by which an interval that began before needs no beginning, in milliseconds since 1970
 */
export function payingFacts(
  item: AskedItem,
  receivers: DescribedReceivers,
  speech: Speech,
  knownMs: number
): Fact[] {
  const { messages } = speech
  const { receiver, interval } = item.limits ?? {}
  return [
    ...(receiver === undefined
      ? [{ label: messages.facts.to, value: messages.anyone }]
      : payeeFacts(receiver, receivers, speech)),
    { label: messages.facts.amount, value: amountWords(item, speech) },
    ...(interval === undefined ? [] : [untilFact(parseRepeatingInterval(interval), speech, knownMs)])
  ]
}

function untilFact(interval: RepeatingInterval, { messages, formats }: Speech, knownMs: number): Fact {
  const label = messages.facts.until
  if (interval.count === 1) {
    const { startMs, endMs } = intervalBounds(interval, 0n)
    const end = formats.until(endMs)
    return {
      label,
      value: startMs <= knownMs ? messages.onceUntil(end) : messages.between(formats.date(startMs), end)
    }
  }
  const endMs = lastIntervalEnd(interval)
  const end = endMs === undefined ? messages.withoutEnd : formats.until(endMs)
  return { label, value: interval.count === undefined ? end : messages.times(interval.count, end) }
}

/** `a month`, `every 3 months`. */
function periodWords(
  { duration: { months, milliseconds } }: RepeatingInterval,
  { messages, formats }: Speech
): string {
  const inWeeks = months === 0 && milliseconds % (7 * 24 * HOUR_MS) === 0
  const parts = (
    inWeeks
      ? [[milliseconds / (7 * 24 * HOUR_MS), 'week']]
      : [
          [Math.floor(months / 12), 'year'],
          [months % 12, 'month'],
          [Math.floor(milliseconds / (24 * HOUR_MS)), 'day'],
          [Math.floor((milliseconds % (24 * HOUR_MS)) / HOUR_MS), 'hour'],
          [Math.floor((milliseconds % HOUR_MS) / 60_000), 'minute'],
          [(milliseconds % 60_000) / 1_000, 'second']
        ]
  ) as [number, 'year' | 'month' | 'week' | 'day' | 'hour' | 'minute' | 'second'][]
  const present = parts.filter(([count]) => count > 0)
  const [[count, unit] = [0, ''], ...others] = present
  if (others.length === 0 && count === 1 && isNamedOnce(unit)) return messages.once[unit]
  return messages.every(formats.duration(present))
}

/** What of an item people must not overlook. */
export function warningsOf(item: AskedItem, receivers: DescribedReceivers, { messages }: Speech): string[] {
  const { receiver, interval } = item.limits ?? {}
  const hasNoEnd = interval !== undefined && lastIntervalEnd(parseRepeatingInterval(interval)) === undefined
  return [
    ...(limitingAmount(item) === undefined ? [messages.warnings.noLimit] : []),
    ...(receiver === undefined ? [messages.warnings.anyone] : []),
    ...(receiver !== undefined && receivers.get(receiver)?.place === 'gone' ? [messages.warnings.gone] : []),
    ...(hasNoEnd ? [messages.warnings.noEnd] : [])
  ]
}

/**
 * What else items allow, and until when: a fact for each wallet that is named, and each end.
 *
 * @param items all that a grant allows
 * @param endsAtMs when all of it ends, in milliseconds since 1970; undefined without an end
 */
export function alsoFacts(
  items: readonly AskedItem[],
  walletAddress: string,
  speech: Speech,
  endsAtMs: number | undefined
): Fact[] {
  const { messages, formats } = speech
  const lastMs = endsAtMs ?? Infinity
  const withPaymentsMs = Math.min(lastMs, payableUntilMs(items) ?? Infinity)
  const groups = new Map<string, { wallet: string | undefined; endMs: number; words: string[] }>()
  for (const item of items)
    for (const action of item.actions.filter((each) => !isPayment(item, each))) {
      const wallet = item.identifier
      const endMs = endsWithPayments(item, action) ? withPaymentsMs : lastMs
      const key = JSON.stringify([wallet, String(endMs)])
      const group = groups.get(key) ?? { wallet, endMs, words: [] }
      groups.set(key, { ...group, words: [...group.words, actionWords(item, action, speech)] })
    }
  return [...groups.values()].map(({ wallet, endMs, words }) => ({
    label: messages.facts.also,
    value: formats.list([...new Set(words)]),
    remark: [
      ...(wallet === walletAddress ? [] : [wallet === undefined ? messages.anyWallet : addressOf(wallet)]),
      endMs === Infinity ? messages.withoutEnd : messages.untilDay(formats.until(endMs))
    ].join('; ')
  }))
}

/** The last day of all that is allowed; nothing without one. */
export function endFacts(endsAtMs: number | undefined, { messages, formats }: Speech): Fact[] {
  return endsAtMs === undefined ? [] : [{ label: messages.facts.ends, value: formats.until(endsAtMs) }]
}

/** What an action of an item allows. */
export function actionWords({ type }: AskedItem, action: string, { messages }: Speech): string {
  return (
    messages.actions[`${type}:${action}`] ??
    messages.unknownAction(presentableName(type), presentableName(action))
  )
}

function isNamedOnce(unit: string): unit is keyof Messages['once'] {
  return ['year', 'month', 'week', 'day', 'hour'].includes(unit)
}
