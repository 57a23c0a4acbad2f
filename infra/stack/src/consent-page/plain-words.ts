import { AmountError, describeAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import {
  describeInterval,
  IntervalError,
  parseRepeatingInterval
} from '@open-payments-server/value-types/intervals'
import type { AskedAccessItem, GrantDetails } from './identity-provider.js'

/** One requested item, as the account holder reads it. */
export interface AskedForWords {
  readonly title: string
  /** The most that can be spent, shown large; undefined if no money moves. */
  readonly amount: { readonly figure: string; readonly explanation: string } | undefined
  /** A warning, if the request exceeds what the account holder would expect. */
  readonly warning: string | undefined
  readonly facts: readonly (readonly [name: string, words: string, kind?: 'address'])[]
}

type Amount = NonNullable<NonNullable<AskedAccessItem['limits']>['debitAmount']>

/** Describes a request in plain words, item by item. */
export function describeRequest({ access, subject, walletAddress }: GrantDetails): AskedForWords[] {
  const subjects = subject?.sub_ids ?? []
  const items = access.map((item) => describeItem(item, walletAddress ?? undefined))
  return [...items, ...(subjects.length === 0 ? [] : [describeSubject(subjects)])]
}

/**
 * One requested item in words.
 *
 * @param asked the wallet address whose account holder is asked; undefined when the auth server does not say
 */
function describeItem(item: AskedAccessItem, asked: string | undefined): AskedForWords {
  switch (item.type) {
    case 'outgoing-payment':
      return item.actions.includes('create') ? describePaying(item) : describeSeeing(item)
    case 'incoming-payment':
      return describeReceiving(item, asked)
    case 'quote':
      return describePricing(item, asked)
    default:
      return noMoney(`Something this page does not know: ${item.type}`, item, {})
  }
}

function describePaying(item: AskedAccessItem): AskedForWords {
  const { receiver, interval } = item.limits ?? {}
  return {
    title: 'Send payments from your wallet',
    amount: describeMaximum(item),
    warning: describeMissingLimit(item),
    facts: [
      ...walletFact('From', item),
      receiver === undefined ? ['To', 'anyone it chooses'] : ['To', receiver, 'address'],
      ['How much', describeHowMuch(item)],
      ['How often', describeHowOften(interval, hasAmount(item))],
      ...mayFact(
        { ...item, actions: item.actions.filter((action) => action !== 'create') },
        OUTGOING_ACTIONS,
        'Also'
      )
    ]
  }
}

function describeSeeing(item: AskedAccessItem): AskedForWords {
  return noMoney('See payments from your wallet', item, OUTGOING_ACTIONS)
}

function describeReceiving(item: AskedAccessItem, asked: string | undefined): AskedForWords {
  const what = item.actions.includes('create') ? 'Request payments' : 'Requests for payment'
  return {
    ...noMoney(`${what} into ${whichWallet(item, asked)}`, item, INCOMING_ACTIONS),
    facts: [...walletFact('Into', item), ...mayFact(item, INCOMING_ACTIONS), NOTHING_LEAVES]
  }
}

/**
 * Consent opens the quotes that other clients asked for of the wallet that is asked, and of no other: for any other wallet,
 * `read-all` is worth no more than `read`.
 */
function describePricing(item: AskedAccessItem, asked: string | undefined): AskedForWords {
  const { actions, identifier } = item
  const opensOthers =
    actions.includes('read-all') && (identifier === undefined || asked === undefined || identifier === asked)
  const wallet: AskedForWords['facts'] =
    opensOthers && identifier === undefined
      ? [['Wallet', 'every wallet here, but the prices that others asked for are shown only for yours']]
      : walletFact('Wallet', item)
  const words = opensOthers ? { ...QUOTE_ACTIONS, 'read-all': OTHERS_QUOTES } : QUOTE_ACTIONS
  const title = actions.includes('create') ? 'Ask what a payment would cost' : 'See what payments would cost'
  return { ...noMoney(title, item, words), facts: [...wallet, ...mayFact(item, words), NOTHING_LEAVES] }
}

function describeSubject(subjects: readonly { id: string }[]): AskedForWords {
  return {
    title: 'Know that this wallet is yours',
    amount: undefined,
    warning: undefined,
    facts: [...subjects.map(({ id }) => ['Wallet', id, 'address'] as const), NOTHING_LEAVES]
  }
}

const OUTGOING_ACTIONS: Readonly<Record<string, string>> = {
  read: 'see the payments it made',
  list: 'list the payments it made',
  'read-all': 'see every payment you made, also those that others made for you',
  'list-all': 'list every payment you made, also those that others made for you'
}

const INCOMING_ACTIONS: Readonly<Record<string, string>> = {
  create: 'create requests for payment',
  complete: 'close the requests it made',
  read: 'see the requests it made',
  list: 'list the requests it made',
  'read-all': 'see every request for payment there, and what was received',
  'list-all': 'list every request for payment there, and what was received'
}

const QUOTE_ACTIONS: Readonly<Record<string, string>> = {
  create: 'ask what a payment would cost',
  read: 'see the prices it asked for',
  'read-all': 'see the prices it asked for'
}

const OTHERS_QUOTES = 'see every price that was asked for payments from your wallet, also by others'

const NOTHING_LEAVES = ['Your money', 'no money leaves your wallet by this'] as const

function noMoney(
  title: string,
  item: AskedAccessItem,
  words: Readonly<Record<string, string>>
): AskedForWords {
  return {
    title,
    amount: undefined,
    warning: undefined,
    facts: [...walletFact('Wallet', item), ...mayFact(item, words), NOTHING_LEAVES]
  }
}

/** An item that needs no consent may be about other people's wallets. */
function whichWallet({ identifier }: AskedAccessItem, asked: string | undefined): string {
  if (identifier === undefined) return 'any wallet'
  return asked === undefined || identifier === asked ? 'your wallet' : 'another wallet'
}

/** Without an identifier, both services let it reach every wallet. */
function walletFact(name: string, { identifier }: AskedAccessItem): AskedForWords['facts'] {
  return identifier === undefined
    ? [[name, 'every wallet here, also those of others: nobody’s consent is needed for that']]
    : [[name, identifier, 'address']]
}

function mayFact(
  { actions }: AskedAccessItem,
  words: Readonly<Record<string, string>>,
  name = 'It may'
): AskedForWords['facts'] {
  if (actions.length === 0) return []
  return [[name, joinWords([...new Set(actions.map((action) => words[action] ?? `“${action}”`))])]]
}

function hasAmount({ limits }: AskedAccessItem): boolean {
  return limits?.debitAmount !== undefined || limits?.receiveAmount !== undefined
}

function describeMaximum({ limits }: AskedAccessItem): AskedForWords['amount'] {
  const period = limits?.interval === undefined ? 'in total' : 'in each period'
  if (limits?.debitAmount !== undefined) {
    return { figure: amountWords(limits.debitAmount), explanation: `is the most you pay, ${period}` }
  }
  if (limits?.receiveAmount !== undefined) {
    return {
      figure: amountWords(limits.receiveAmount),
      explanation: `is the most that is received, ${period}`
    }
  }
  return undefined
}

function describeMissingLimit(item: AskedAccessItem): string | undefined {
  if (hasAmount(item)) return undefined
  return item.limits?.receiver === undefined
    ? 'There is no limit. It may send any amount from this wallet, to anyone.'
    : 'There is no limit on the amount. It may send as much as this receiver accepts.'
}

function describeHowMuch({ limits }: AskedAccessItem): string {
  const { debitAmount, receiveAmount } = limits ?? {}
  if (debitAmount !== undefined && receiveAmount !== undefined) {
    return `at most ${amountWords(debitAmount)} leaves your wallet, and receivers get at most ${amountWords(receiveAmount)}`
  }
  if (debitAmount !== undefined)
    return `at most ${amountWords(debitAmount)} leaves your wallet, fees included`
  if (receiveAmount !== undefined) {
    return `receivers get at most ${amountWords(receiveAmount)}; you pay what it costs to deliver that, fees included`
  }
  return 'no limit'
}

function describeHowOften(interval: string | undefined, isLimited: boolean): string {
  if (interval === undefined) {
    return isLimited
      ? 'in one payment or in several, until that is used up'
      : 'as often as it likes, without end'
  }
  return isLimited ? `${intervalWords(interval)}; the amount holds for each period` : intervalWords(interval)
}

/** The auth server has checked both; should it ever let something else through, the raw text is better than no page. */
function amountWords(amount: Amount): string {
  try {
    return describeAmount(parseAmount(amount))
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    return `${amount.value} units of ${amount.assetCode}`
  }
}

function intervalWords(interval: string): string {
  try {
    return describeInterval(parseRepeatingInterval(interval))
  } catch (error) {
    if (!(error instanceof IntervalError)) throw error
    return interval
  }
}

function joinWords(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.slice(-1).join()}`
}
