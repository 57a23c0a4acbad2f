import { isPaying } from '@open-payments-server/value-types/intervals'
import type { AskedGrant, AskedItem } from '../domain/grant.js'
import {
  actionWords,
  alsoFacts,
  type DescribedReceivers,
  endFacts,
  limitWords,
  payeeName,
  payingFacts,
  totalOf,
  warningsOf
} from './describe-item.js'
import type { Fact } from './fact.js'
import type { Speech } from './languages.js'
import { addressOf, presentableName } from './presentable.js'

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
 * @param granted what would be granted, or was; without an end, `endsAtMs` is undefined
 * @param receivers whom it wants to pay
 */
export function describeGrant(
  grant: AskedGrant,
  granted: { readonly access: readonly AskedItem[]; readonly endsAtMs: number | undefined },
  receivers: DescribedReceivers,
  speech: Speech
): GrantWords {
  const { access: items, endsAtMs } = granted
  const { messages } = speech
  const client = addressOf(grant.client)
  const paying = items.filter(isPaying)
  const name = presentableName(grant.clientName)
  const knownMs = grant.expiresAtMs
  const facts: Fact[] = [
    {
      label: messages.facts.asks,
      value: client,
      ...(name === '' ? {} : { remark: messages.consent.claims(name) })
    },
    { label: messages.facts.from, value: addressOf(grant.walletAddress) },
    ...paying.flatMap((item, place) => [
      ...(paying.length === 1
        ? []
        : [
            {
              label: place === 0 ? messages.facts.may : messages.facts.also,
              value: headlineOf(item, client, receivers, speech)
            }
          ]),
      ...payingFacts(item, receivers, speech, knownMs)
    ]),
    ...alsoFacts(items, grant.walletAddress, speech, endsAtMs),
    ...endFacts(endsAtMs, speech),
    ...grant.subjects.map((url) => ({ label: messages.facts.learns, value: addressOf(url) })),
    { label: messages.facts.decide, value: speech.formats.instant(grant.expiresAtMs) }
  ]
  const warnings = [
    ...(isAnotherCustomer(grant) ? [messages.warnings.customer] : []),
    ...(paying.length > 1 ? [messages.warnings.several] : []),
    ...new Set(paying.flatMap((item) => warningsOf(item, receivers, speech)))
  ].filter((warning) => endsAtMs === undefined || warning !== messages.warnings.noEnd)
  const { headline, allow } = askOf(items, client, receivers, speech)
  const words = [
    headline,
    ...warnings,
    ...facts.map(({ label, value, remark }) => sentence(label, value, remark))
  ]
  return { headline, warnings, facts, allow, words }
}

/** Whether the client is another wallet on the host of the one that is asked, which people may take for their provider. */
function isAnotherCustomer({ client, walletAddress }: AskedGrant): boolean {
  if (!URL.canParse(client) || !URL.canParse(walletAddress)) return false
  const [asking, asked] = [new URL(client), new URL(walletAddress)]
  return asking.host === asked.host && asking.pathname !== '/' && asking.href !== asked.href
}

/** What is asked, in a headline and on the button that agrees: all of it, and never only the first of several payments. */
function askOf(
  items: readonly AskedItem[],
  client: string,
  receivers: DescribedReceivers,
  speech: Speech
): Pick<GrantWords, 'headline' | 'allow'> {
  const { headline, allow } = speech.messages
  const paying = items.filter(isPaying)
  const [first] = paying
  if (first === undefined)
    return { headline: items.length === 0 ? headline.know(client) : headline.see(client), allow: allow.other }
  if (paying.length === 1)
    return { headline: headlineOf(first, client, receivers, speech), allow: allowOf(first, speech) }
  const total = totalOf(paying)
  const count = paying.length
  if (total === undefined) return { headline: headline.several(client, count), allow: allow.several(count) }
  const amount = speech.formats.amount(total)
  return { headline: headline.total(client, amount, count), allow: allow.total(amount) }
}

/** One item in a few words, for leaving it out. */
export function nameItem(
  item: AskedItem,
  grant: AskedGrant,
  receivers: DescribedReceivers,
  speech: Speech
): string {
  return isPaying(item)
    ? headlineOf(item, addressOf(grant.client), receivers, speech)
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

function allowOf(item: AskedItem, speech: Speech): string {
  const { allow } = speech.messages
  const amount = limitWords(item, speech)
  if (amount === undefined) return allow.other
  const isSinglePayment = item.limits?.receiver !== undefined && item.limits.interval === undefined
  return isSinglePayment ? allow.pay(amount) : allow.amount(amount)
}
