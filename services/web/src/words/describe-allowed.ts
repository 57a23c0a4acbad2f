import { parseAmountValue } from '@open-payments-server/value-types/amounts'
import type { AllowedGrant, AllowedItem, GrantAct, Terms } from '../domain/allowed.js'
import {
  isPaying,
  nextIntervalStart,
  parseRepeatingInterval
} from '@open-payments-server/value-types/intervals'
import { endsWithPayments } from '../domain/ends.js'
import type { AskedItem } from '../domain/grant.js'
import {
  actionWords,
  alsoFacts,
  amountWords,
  type DescribedReceivers,
  endFacts,
  limitWords,
  payeeName,
  payingFacts,
  totalOf
} from './describe-item.js'
import type { Fact } from './fact.js'
import type { Speech } from './languages.js'
import { addressOf, presentableName } from './presentable.js'

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
  /** Address of the client. */
  readonly client: string
  /** What it calls itself; undefined when it does not say. */
  readonly claimed: string | undefined
  readonly headline: string
  /** Its state, in a mark. */
  readonly mark: string
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
  const isOver = paymentsAreOver(grant, nowMs)
  return {
    client,
    claimed: claimed === '' ? undefined : claimed,
    headline:
      state === 'ended' || isOver ? words.was(client, summary) : headlineOf(grant, client, receivers, speech),
    mark: isOver && state === 'in-force' ? words.paymentsOver : words.states[state],
    summary,
    spending: grant.items
      .filter(({ item }) => isPaying(item))
      .map((item) => spendingOf(grant, item, speech, nowMs)),
    remarks: [
      ...(grant.isConsentOfAnother && state !== 'ended' ? [words.ofAnother] : []),
      ...(pausedAtMs === undefined || state === 'ended'
        ? []
        : [words.pausedSince(formats.instant(pausedAtMs))]),
      ...paymentRemarks(grant, isOver, speech),
      ...end
    ],
    lastUse: lastUsedAtMs === undefined ? words.neverUsed : words.lastUsed(formats.instant(lastUsedAtMs))
  }
}

/** The client by address, or by its key. */
export function clientOf({ client, clientKey }: AllowedGrant, { messages }: Speech): string {
  return client === '' ? messages.allowed.keyClient(clientKey.slice(0, 8)) : addressOf(client)
}

/** Whether nothing is paid under it any more, though it has not ended. */
function paymentsAreOver({ state, paymentsEndMs }: AllowedGrant, nowMs: number): boolean {
  return state !== 'ended' && paymentsEndMs !== undefined && paymentsEndMs <= nowMs
}

/** When payments end before all of it does, and what is left then. */
function paymentRemarks(
  { state, items, paymentsEndMs, endsAtMs }: AllowedGrant,
  isOver: boolean,
  speech: Speech
): string[] {
  const { messages, formats } = speech
  if (state === 'ended' || paymentsEndMs === undefined || paymentsEndMs >= (endsAtMs ?? Infinity)) return []
  const left = items.flatMap(({ item }) =>
    item.actions
      .filter((action) => !endsWithPayments(item, action))
      .map((action) => actionWords(item, action, speech))
  )
  return [
    messages.allowed.paysUntil(formats.until(paymentsEndMs)),
    ...(isOver && left.length > 0 ? [messages.allowed.mayStill(formats.list([...new Set(left)]))] : [])
  ]
}

function endRemark(state: AllowedGrant['state'], endMs: number, { messages, formats }: Speech): string {
  return state === 'ended'
    ? messages.allowed.endedOn(formats.instant(endMs))
    : messages.allowed.endsOn(formats.until(endMs))
}

/** All of it, and never only the first of several payments. */
function headlineOf(
  { items }: AllowedGrant,
  client: string,
  receivers: DescribedReceivers,
  speech: Speech
): string {
  const { headline } = speech.messages.allowed
  const [first, ...others] = payingOf(items)
  if (first === undefined) return items.length === 0 ? headline.know(client) : headline.see(client)
  if (others.length === 0) return itemHeadline(first, client, receivers, speech)
  const total = totalWords([first, ...others], speech)
  const count = others.length + 1
  return total === undefined ? headline.several(client, count) : headline.total(client, total, count)
}

function payingOf(items: readonly AllowedItem[]): AskedItem[] {
  return items.map(({ item }) => item).filter(isPaying)
}

/** What several items allow at most in all; undefined where that is no amount. */
function totalWords(items: readonly AskedItem[], { formats }: Speech): string | undefined {
  const total = totalOf(items)
  return total && formats.amount(total)
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
  const [first, ...others] = payingOf(items)
  if (first === undefined) return items.length === 0 ? summary.know : summary.see
  if (others.length > 0) {
    const total = totalWords([first, ...others], speech)
    const count = others.length + 1
    return total === undefined ? summary.several(count) : summary.total(total, count)
  }
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
  const endsAtMs = which === 'agreed' ? grant.consentedEndsAtMs : grant.endsAtMs
  const paying = items.filter(isPaying)
  return [
    {
      label: words.facts.client,
      value: client,
      ...(claimed === '' ? {} : { remark: messages.consent.claims(claimed) })
    },
    { label: messages.facts.from, value: addressOf(grant.walletAddress) },
    ...paying.flatMap((item, place) => [
      ...(paying.length === 1
        ? []
        : [
            {
              label: place === 0 ? messages.facts.may : messages.facts.also,
              value: itemHeadline(item, client, receivers, speech)
            }
          ]),
      ...payingFacts(item, receivers, speech, grant.createdAtMs)
    ]),
    ...alsoFacts(items, grant.walletAddress, speech, endsAtMs),
    ...endFacts(endsAtMs, speech),
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
