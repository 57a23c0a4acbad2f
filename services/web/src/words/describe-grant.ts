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
    { label: messages.facts.asks, value: client },
    ...(name === ''
      ? []
      : [{ label: messages.facts.claims, value: `“${name}”`, remark: messages.consent.nameIsClaimed }]),
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
  const amount = formats.amount(limiting.amount)
  const { interval } = item.limits ?? {}
  if (interval === undefined) return amount
  const parsed = parseRepeatingInterval(interval)
  return parsed.count === 1 ? amount : `${amount} ${periodWords(parsed, { messages, formats })}`
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
    ...(interval === undefined
      ? [{ label: messages.facts.often, value: messages.onlyOnce }]
      : intervalFacts(parseRepeatingInterval(interval), speech))
  ]
}

function amountFact(item: AskedItem, { messages, formats }: Speech): string {
  const { debitAmount, receiveAmount } = item.limits ?? {}
  const parts = [
    ...(debitAmount === undefined ? [] : [messages.feesIncluded(formats.amount(debitAmount))]),
    ...(receiveAmount === undefined ? [] : [messages.payeeGets(formats.amount(receiveAmount))])
  ]
  return parts.length === 0 ? messages.noLimit : formats.list(parts)
}

function intervalFacts(interval: RepeatingInterval, speech: Speech): Fact[] {
  const { messages, formats } = speech
  if (interval.count === 1) {
    const { startMs, endMs } = intervalBounds(interval, 0n)
    return [
      { label: messages.facts.often, value: messages.between(formats.date(startMs), formats.date(endMs)) }
    ]
  }
  const endMs = lastIntervalEnd(interval)
  const end = endMs === undefined ? messages.withoutEnd : formats.date(endMs)
  return [
    { label: messages.facts.often, value: periodWords(interval, speech) },
    {
      label: messages.facts.until,
      value: interval.count === undefined ? end : messages.times(interval.count, end)
    }
  ]
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

/** What else it may do, with each wallet that is named. */
function alsoFacts(items: readonly AskedItem[], grant: AskedGrant, speech: Speech): Fact[] {
  const { messages } = speech
  return items.flatMap((item) =>
    item.actions
      .filter((action) => !(item.type === 'outgoing-payment' && action === 'create'))
      .map((action) => {
        const value = actionWords(item, action, speech)
        if (item.identifier === grant.walletAddress) return { label: messages.facts.also, value }
        const remark = item.identifier === undefined ? messages.anyWallet : addressOf(item.identifier)
        return { label: messages.facts.also, value, remark }
      })
  )
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
