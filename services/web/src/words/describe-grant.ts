import type { AskedGrant, AskedItem } from '../domain/grant.js'
import {
  actionWords,
  alsoFacts,
  type DescribedReceivers,
  isPaying,
  limitWords,
  payeeName,
  payingFacts,
  warningsOf
} from './describe-item.js'
import type { Fact } from './fact.js'
import type { Speech } from './languages.js'
import { addressOf, domainOf, presentableName } from './presentable.js'

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

/**
 * Says what a client asks, or what is left of it.
 *
 * @param receivers whom it wants to pay
 */
export function describeGrant(
  grant: AskedGrant,
  items: readonly AskedItem[],
  receivers: DescribedReceivers,
  speech: Speech
): GrantWords {
  const { messages } = speech
  const client = domainOf(grant.client)
  const paying = items.filter(isPaying)
  const [first, ...others] = paying
  const name = presentableName(grant.clientName)
  const knownMs = grant.expiresAtMs
  const facts: Fact[] = [
    {
      label: messages.facts.asks,
      value: client,
      ...(name === '' ? {} : { remark: messages.consent.claims(name) })
    },
    { label: messages.facts.from, value: addressOf(grant.walletAddress) },
    ...(first === undefined ? [] : payingFacts(first, receivers, speech, knownMs)),
    ...others.flatMap((item) => [
      { label: messages.facts.also, value: headlineOf(item, client, receivers, speech) },
      ...payingFacts(item, receivers, speech, knownMs)
    ]),
    ...alsoFacts(items, grant.walletAddress, speech),
    ...grant.subjects.map((url) => ({ label: messages.facts.learns, value: addressOf(url) })),
    { label: messages.facts.decide, value: speech.formats.instant(grant.expiresAtMs) }
  ]
  const warnings = [...new Set(paying.flatMap((item) => warningsOf(item, receivers, speech)))]
  const headline =
    first !== undefined
      ? headlineOf(first, client, receivers, speech)
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
export function nameItem(
  item: AskedItem,
  grant: AskedGrant,
  receivers: DescribedReceivers,
  speech: Speech
): string {
  return isPaying(item)
    ? headlineOf(item, domainOf(grant.client), receivers, speech)
    : speech.formats.list(item.actions.map((action) => actionWords(item, action, speech)))
}

function sentence(label: string, value: string, remark: string | undefined): string {
  return `${label}: ${value}${remark === undefined ? '' : ` (${remark})`}`
}

function headlineOf(item: AskedItem, client: string, receivers: DescribedReceivers, speech: Speech): string {
  const { headline } = speech.messages
  const { receiver } = item.limits ?? {}
  const amount = limitWords(item, speech)
  if (receiver === undefined)
    return amount === undefined ? headline.takeAnything(client) : headline.take(client, amount)
  const payee = payeeName(receiver, receivers, speech)
  return amount === undefined ? headline.payAnything(payee) : headline.pay(amount, payee)
}

function allowOf(first: AskedItem | undefined, speech: Speech): string {
  const { allow } = speech.messages
  const amount = first && limitWords(first, speech)
  if (first === undefined || amount === undefined) return allow.other
  const isSinglePayment = first.limits?.receiver !== undefined && first.limits.interval === undefined
  return isSinglePayment ? allow.pay(amount) : allow.amount(amount)
}
