import { parseAmountValue } from '@open-payments-server/value-types/amounts'
import { nextIntervalStart, parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import type { AllowedGrant, AllowedItem, GrantAct, Terms } from '../domain/allowed.js'
import type { AskedItem } from '../domain/grant.js'
import {
  alsoFacts,
  amountWords,
  type DescribedReceivers,
  isPaying,
  limitWords,
  payeeName,
  payingFacts
} from './describe-item.js'
import type { Fact } from './fact.js'
import type { Speech } from './languages.js'
import { addressOf, domainOf, presentableName } from './presentable.js'

/** What is spent of an item. */
export interface Spending {
  readonly text: string
  /** How much of its limit, in percent, rounded up; undefined without a limit. */
  readonly share: number | undefined
  /** When it counts anew, or begins; undefined when it does not. */
  readonly remark: string | undefined
}

/** A grant that was allowed, in words. */
export interface AllowedWords {
  /** Domain of the client. */
  readonly client: string
  /** What it calls itself; undefined when it does not say. */
  readonly claimed: string | undefined
  readonly headline: string
  /** The same below the client. */
  readonly summary: string
  readonly spending: readonly Spending[]
  /** Pause and end. */
  readonly remarks: readonly string[]
  readonly lastUse: string
}

/** Says what a grant allows, and how far it is used. */
export function describeAllowed(
  grant: AllowedGrant,
  receivers: DescribedReceivers,
  speech: Speech,
  nowMs: number
): AllowedWords {
  const { messages, formats } = speech
  const words = messages.allowed
  const client = clientOf(grant, speech)
  const claimed = presentableName(grant.clientName)
  const { state, endsAtMs, pausedAtMs, lastUsedAtMs } = grant
  const summary = summaryOf(grant, receivers, speech)
  const end = endsAtMs === undefined ? [] : [endRemark(state, endsAtMs, speech)]
  return {
    client,
    claimed: claimed === '' ? undefined : claimed,
    headline: state === 'ended' ? words.was(client, summary) : headlineOf(grant, client, receivers, speech),
    summary,
    spending: grant.items
      .filter(({ item }) => isPaying(item))
      .map((item) => spendingOf(grant, item, speech, nowMs)),
    remarks: [
      ...(pausedAtMs === undefined || state === 'ended'
        ? []
        : [words.pausedSince(formats.instant(pausedAtMs))]),
      ...end
    ],
    lastUse: lastUsedAtMs === undefined ? words.neverUsed : words.lastUsed(formats.instant(lastUsedAtMs))
  }
}

/** The client by domain, or by its key. */
export function clientOf({ client, clientKey }: AllowedGrant, { messages }: Speech): string {
  return client === '' ? messages.allowed.keyClient(clientKey.slice(0, 8)) : domainOf(client)
}

function endRemark(state: AllowedGrant['state'], endMs: number, { messages, formats }: Speech): string {
  return state === 'ended'
    ? messages.allowed.endedOn(formats.instant(endMs))
    : messages.allowed.endsOn(formats.until(endMs))
}

function headlineOf(
  { items }: AllowedGrant,
  client: string,
  receivers: DescribedReceivers,
  speech: Speech
): string {
  const { headline } = speech.messages.allowed
  const first = items.map(({ item }) => item).find(isPaying)
  if (first === undefined) return items.length === 0 ? headline.know(client) : headline.see(client)
  return itemHeadline(first, client, receivers, speech)
}

function itemHeadline(
  item: AskedItem,
  client: string,
  receivers: DescribedReceivers,
  speech: Speech
): string {
  const { headline } = speech.messages.allowed
  const { receiver } = item.limits ?? {}
  const amount = limitWords(item, speech)
  if (receiver === undefined)
    return amount === undefined ? headline.takeAnything(client) : headline.take(client, amount)
  const payee = payeeName(receiver, receivers, speech)
  return amount === undefined ? headline.payAnything(client, payee) : headline.pay(client, amount, payee)
}

function summaryOf({ items }: AllowedGrant, receivers: DescribedReceivers, speech: Speech): string {
  const { summary } = speech.messages.allowed
  const first = items.map(({ item }) => item).find(isPaying)
  if (first === undefined) return items.length === 0 ? summary.know : summary.see
  const { receiver } = first.limits ?? {}
  const amount = limitWords(first, speech)
  if (receiver === undefined) return amount === undefined ? summary.takeAnything : summary.take(amount)
  const payee = payeeName(receiver, receivers, speech)
  return amount === undefined ? summary.payAnything(payee) : summary.pay(amount, payee)
}

function spendingOf(
  { state, endsAtMs }: AllowedGrant,
  { item, spentDebit, spentReceive, interval }: AllowedItem,
  { messages, formats }: Speech,
  nowMs: number
): Spending {
  const words = messages.allowed
  const { debitAmount, receiveAmount, interval: text } = item.limits ?? {}
  const most = debitAmount ?? receiveAmount
  const spent = (debitAmount === undefined && receiveAmount !== undefined ? spentReceive : spentDebit) ?? {
    ...(most ?? { assetCode: '', assetScale: 0 }),
    value: '0'
  }
  const parsed = text === undefined ? undefined : parseRepeatingInterval(text)
  const next = parsed === undefined ? undefined : nextIntervalStart(parsed, interval?.startMs ?? nowMs)
  const comes = state === 'ended' || next === undefined || next >= (endsAtMs ?? Infinity) ? undefined : next
  const when = interval === undefined ? words.begins : words.startsAgain
  return {
    text:
      most === undefined
        ? spentDebit === undefined
          ? words.neverUsed
          : words.spentOf(formats.amount(spent))
        : (debitAmount === undefined ? words.delivered : words.spent)(
            formats.amount(spent),
            formats.amount(most)
          ),
    share: most === undefined ? undefined : shareOf(spent.value, most.value),
    remark: comes === undefined ? undefined : when(formats.date(comes))
  }
}

/** In percent, rounded up, at most 100: more may be spent than a lowered limit allows. */
function shareOf(spent: string, most: string): number {
  const [part, whole] = [parseAmountValue(spent), parseAmountValue(most)]
  if (whole === 0n || part >= whole) return 100
  return Number((part * 100n + whole - 1n) / whole)
}

/** Everything that a grant allows now, as facts. */
export function allowedFacts(grant: AllowedGrant, receivers: DescribedReceivers, speech: Speech): Fact[] {
  return termFacts(grant, 'in-force', receivers, speech)
}

/** What was agreed when it was asked for. */
export function agreedFacts(grant: AllowedGrant, receivers: DescribedReceivers, speech: Speech): Fact[] {
  return termFacts(grant, 'agreed', receivers, speech)
}

function termFacts(
  grant: AllowedGrant,
  which: 'in-force' | 'agreed',
  receivers: DescribedReceivers,
  speech: Speech
): Fact[] {
  const { messages, formats } = speech
  const words = messages.allowed
  const claimed = presentableName(grant.clientName)
  const client = clientOf(grant, speech)
  const items = grant.items.map(({ item, consentedLimits }) =>
    which === 'agreed' ? { ...item, limits: consentedLimits } : item
  )
  const [first, ...others] = items.filter(isPaying)
  return [
    {
      label: words.facts.client,
      value: client,
      ...(claimed === '' ? {} : { remark: messages.consent.claims(claimed) })
    },
    { label: messages.facts.from, value: addressOf(grant.walletAddress) },
    ...(first === undefined ? [] : payingFacts(first, receivers, speech, grant.createdAtMs)),
    ...others.flatMap((item) => [
      { label: messages.facts.also, value: itemHeadline(item, client, receivers, speech) },
      ...payingFacts(item, receivers, speech, grant.createdAtMs)
    ]),
    ...alsoFacts(items, grant.walletAddress, speech),
    { label: words.facts.asked, value: formats.instant(grant.createdAtMs) },
    { label: words.facts.reference, value: grant.id }
  ]
}

/** What was agreed where it is more than what is in force: `25.00 USD a month`. */
export function agreedBefore(grant: AllowedGrant, speech: Speech): Fact[] {
  return grant.items
    .filter(({ item }) => isPaying(item))
    .flatMap(({ item, consentedLimits }) => {
      const [now, agreed] = [item, { ...item, limits: consentedLimits }].map((each) =>
        amountWords(each, speech)
      )
      return agreed === undefined || now === agreed
        ? []
        : [{ label: speech.messages.allowed.facts.agreed, value: agreed }]
    })
}

/** What an act changed, before and after: only what differs. */
export function changesOf({ before, after }: GrantAct, speech: Speech): { before: string; after: string }[] {
  const changes = after.access.flatMap((item, place) => {
    const earlier = before.access[place]
    if (earlier === undefined || !isPaying(item)) return []
    const [was, is] = [amountWords(earlier, speech), amountWords(item, speech)]
    return was === is ? [] : [{ before: was, after: is }]
  })
  if (before.endsAtMs === after.endsAtMs) return changes
  return [...changes, { before: endWords(before, speech), after: endWords(after, speech) }]
}

function endWords({ endsAtMs }: Terms, { messages, formats }: Speech): string {
  if (endsAtMs === undefined) return messages.allowed.noEndSet
  return messages.allowed.endsOn(formats.until(endsAtMs))
}
