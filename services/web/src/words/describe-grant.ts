import type { AmountWire } from '@open-payments-server/value-types/amounts'
import {
  intervalBounds,
  lastIntervalEnd,
  parseRepeatingInterval,
  type RepeatingInterval
} from '@open-payments-server/value-types/intervals'
import type { AskedGrant, AskedItem } from '../domain/grant.js'
import { limitingAmount } from '../domain/changes.js'
import type { Speech } from './languages.js'
import type { Messages } from './messages.js'
import { addressOf, domainOf, presentableName } from './presentable.js'

/** A fact that an account holder is told. */
export interface Fact {
  readonly label: string
  readonly value: string
  /** What is said of it, smaller. */
  readonly remark?: string
}

/** What an account holder is asked, in words. */
export interface GrantWords {
  /** What happens if they agree. */
  readonly headline: string
  readonly warnings: readonly string[]
  readonly facts: readonly Fact[]
  /** The button that agrees: what it does. */
  readonly allow: string
  /** All of it, paragraph by paragraph: what a consent document has. */
  readonly words: readonly string[]
}

const HOUR_MS = 3_600_000

/** Says what a client asks, or what is left of it. */
export function describeGrant(grant: AskedGrant, items: readonly AskedItem[], speech: Speech): GrantWords {
  const { messages } = speech
  const client = domainOf(grant.client)
  const paying = items.filter(isPaying)
  const [first, ...others] = paying
  const name = presentableName(grant.clientName)
  const facts: Fact[] = [
    {
      label: messages.facts.asks,
      value: client,
      ...(name === '' ? {} : { remark: messages.consent.claims(name) })
    },
    { label: messages.facts.from, value: addressOf(grant.walletAddress) },
    ...(first === undefined ? [] : payingFacts(first, speech)),
    ...others.flatMap((item) => [
      { label: messages.facts.also, value: headlineOf(item, client, speech) },
      ...payingFacts(item, speech)
    ]),
    ...alsoFacts(items, grant, speech),
    ...grant.subjects.map((url) => ({ label: messages.facts.learns, value: addressOf(url) })),
    { label: messages.facts.decide, value: speech.formats.instant(grant.expiresAtMs) }
  ]
  const warnings = [...new Set(paying.flatMap((item) => warningsOf(item, speech)))]
  const headline =
    first !== undefined
      ? headlineOf(first, client, speech)
      : items.length === 0
        ? messages.headline.know(client)
        : messages.headline.see(client)
  const words = [
    headline,
    ...warnings,
    ...facts.map(({ label, value, remark }) => sentence(label, value, remark))
  ]
  return { headline, warnings, facts, allow: allowOf(first, speech), words }
}

/** One item in a few words, for leaving it out. */
export function nameItem(item: AskedItem, grant: AskedGrant, speech: Speech): string {
  return isPaying(item)
    ? headlineOf(item, domainOf(grant.client), speech)
    : speech.formats.list(item.actions.map((action) => actionWords(item, action, speech)))
}

function sentence(label: string, value: string, remark: string | undefined): string {
  return `${label}: ${value}${remark === undefined ? '' : ` (${remark})`}`
}

function isPaying({ type, actions }: AskedItem): boolean {
  return type === 'outgoing-payment' && actions.includes('create')
}

function headlineOf(item: AskedItem, client: string, { messages, formats }: Speech): string {
  const { receiver } = item.limits ?? {}
  const limiting = limitingAmount(item)
  const payee = receiver === undefined ? undefined : messages.payeeAt(domainOf(receiver))
  if (limiting === undefined)
    return payee === undefined ? messages.headline.takeAnything(client) : messages.headline.payAnything(payee)
  const amount = amountWithPeriod(item, { messages, formats })
  return payee === undefined ? messages.headline.take(client, amount) : messages.headline.pay(amount, payee)
}

function allowOf(first: AskedItem | undefined, speech: Speech): string {
  const { allow } = speech.messages
  if (first === undefined || limitingAmount(first) === undefined) return allow.other
  const amount = amountWithPeriod(first, speech)
  const isSinglePayment = first.limits?.receiver !== undefined && first.limits.interval === undefined
  return isSinglePayment ? allow.pay(amount) : allow.amount(amount)
}

function amountWithPeriod(
  item: AskedItem,
  { messages, formats }: Pick<Speech, 'messages' | 'formats'>
): string {
  const limiting = limitingAmount(item)
  if (limiting === undefined) return ''
  return inPeriod(formats.amount(limiting.amount), item.limits?.interval, { messages, formats })
}

function inPeriod(
  amount: string,
  interval: string | undefined,
  speech: Pick<Speech, 'messages' | 'formats'>
): string {
  const parsed = interval === undefined ? undefined : parseRepeatingInterval(interval)
  return parsed === undefined || parsed.count === 1 ? amount : `${amount} ${periodWords(parsed, speech)}`
}

function payingFacts(item: AskedItem, speech: Speech): Fact[] {
  const { messages } = speech
  const { receiver, interval } = item.limits ?? {}
  return [
    {
      label: messages.facts.to,
      value: receiver === undefined ? messages.anyone : addressOf(receiver)
    },
    { label: messages.facts.amount, value: amountFact(item, speech) },
    ...(interval === undefined ? [] : [untilFact(parseRepeatingInterval(interval), speech)])
  ]
}

function amountFact(item: AskedItem, speech: Speech): string {
  const { messages, formats } = speech
  const { debitAmount, receiveAmount, interval } = item.limits ?? {}
  const withPeriod = (amount: AmountWire): string => inPeriod(formats.amount(amount), interval, speech)
  const parts = [
    ...(debitAmount === undefined ? [] : [messages.feesIncluded(withPeriod(debitAmount))]),
    ...(receiveAmount === undefined ? [] : [messages.payeeGets(withPeriod(receiveAmount))])
  ]
  return parts.length === 0 ? messages.noLimit : formats.list(parts)
}

function untilFact(interval: RepeatingInterval, { messages, formats }: Speech): Fact {
  const label = messages.facts.until
  if (interval.count === 1) {
    const { startMs, endMs } = intervalBounds(interval, 0n)
    return { label, value: messages.between(formats.date(startMs), formats.date(endMs)) }
  }
  const endMs = lastIntervalEnd(interval)
  const end = endMs === undefined ? messages.withoutEnd : formats.date(endMs)
  return { label, value: interval.count === undefined ? end : messages.times(interval.count, end) }
}

/** `a month`, `every 3 months`. */
function periodWords(
  { duration: { months, milliseconds } }: RepeatingInterval,
  { messages, formats }: Pick<Speech, 'messages' | 'formats'>
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

function warningsOf(item: AskedItem, { messages }: Speech): string[] {
  const { receiver, interval } = item.limits ?? {}
  const hasNoEnd = interval !== undefined && lastIntervalEnd(parseRepeatingInterval(interval)) === undefined
  return [
    ...(limitingAmount(item) === undefined ? [messages.warnings.noLimit] : []),
    ...(receiver === undefined ? [messages.warnings.anyone] : []),
    ...(hasNoEnd ? [messages.warnings.noEnd] : [])
  ]
}

/** What else it may do: a fact for each wallet that is named. */
function alsoFacts(items: readonly AskedItem[], grant: AskedGrant, speech: Speech): Fact[] {
  const { messages, formats } = speech
  const byWallet = new Map<string | undefined, string[]>()
  for (const item of items) {
    const others = item.actions.filter((action) => !(item.type === 'outgoing-payment' && action === 'create'))
    const words = others.map((action) => actionWords(item, action, speech))
    byWallet.set(item.identifier, [...(byWallet.get(item.identifier) ?? []), ...words])
  }
  return [...byWallet]
    .filter(([, words]) => words.length > 0)
    .map(([wallet, words]) => ({
      label: messages.facts.also,
      value: formats.list([...new Set(words)]),
      ...(wallet === grant.walletAddress
        ? {}
        : { remark: wallet === undefined ? messages.anyWallet : addressOf(wallet) })
    }))
}

function actionWords({ type }: AskedItem, action: string, { messages }: Speech): string {
  return (
    messages.actions[`${type}:${action}`] ??
    messages.unknownAction(presentableName(type), presentableName(action))
  )
}

function isNamedOnce(unit: string): unit is keyof Messages['once'] {
  return ['year', 'month', 'week', 'day', 'hour'].includes(unit)
}
