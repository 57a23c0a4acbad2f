import { type auth, wallet } from '@open-payments-server/proto'
import type { Cell } from '../../pages/console/blocks.js'
import type { ConsoleWord, ConsoleWords } from '../../words/console/words.js'
import type { Speech } from '../../words/languages.js'
import { addressOf, presentableName } from '../../words/presentable.js'

/** What is written where there is nothing. */
export const NONE = '–'

interface AssetLike {
  readonly code: string
  readonly scale: number
}

/** Values as the pages of the console show them. */
export interface Show {
  /** `1,234.50 USD`, exact, of any size, and below 0 too; a dash for an empty text. */
  money(value: string, asset: AssetLike | undefined): string
  /** An amount of a grant. */
  amount(amount: auth.Amount | undefined): string
  /** An instant, to the second. */
  instant(at: Date | undefined): Cell
  /** A word for a state, with how it stands. */
  state(state: string): Cell
  payment(id: string): Cell
  account(name: string): Cell
  walletAddress(url: string): Cell
  client(name: string): Cell
  grant(id: string): Cell
  /** What strangers wrote. */
  text(text: string): string
}

const TONES: Readonly<Record<string, Cell['tone']>> = {
  completed: 'good',
  posted: 'good',
  issued: 'good',
  settled: 'good',
  failed: 'bad',
  rejected: 'bad',
  revoked: 'bad',
  refused: 'bad',
  pending: 'waiting',
  awaiting_approval: 'waiting',
  open: 'waiting',
  approved: 'waiting'
}

/** Instants are in UTC, as logs, command line and searches have them. */
export function createShow(t: ConsoleWords, { language, messages }: Speech): Show {
  const whole = new Intl.NumberFormat(language)
  // Swedish instants are as ISO 8601 writes them: they can be compared, and copied into a search.
  const instants = new Intl.DateTimeFormat('sv-SE', {
    ...({ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const),
    second: '2-digit',
    timeZone: 'UTC'
  })
  const money: Show['money'] = (value, asset) => {
    if (value === '' || asset === undefined) return NONE
    const { code, scale } = asset
    const isBelow = value.startsWith('-')
    const digits = value.replace('-', '').padStart(scale + 1, '0')
    const units = whole.format(BigInt(digits.slice(0, digits.length - scale)))
    const rest = scale === 0 ? '' : `${messages.decimalSign}${digits.slice(digits.length - scale)}`
    return `${isBelow ? '−' : ''}${units}${rest}\u00a0${code}`
  }
  const link = (text: string, href: string): Cell => ({ text, href, isCode: true })
  return {
    money,
    amount: (amount) =>
      amount === undefined ? NONE : money(amount.value, { code: amount.assetCode, scale: amount.assetScale }),
    instant: (at) => ({ text: at === undefined ? NONE : instants.format(at), isCode: true }),
    state: (state) => ({ text: t(`state.${state}` as ConsoleWord), tone: TONES[state] }),
    payment: (id) => link(id, `/payments/${id}`),
    account: (name) => ({ text: name, href: `/accounts/${encodeURIComponent(name)}` }),
    walletAddress: (url) =>
      url === '' ? { text: NONE } : { text: addressOf(url), href: pathTo('/wallet-address', { url }) },
    client: (name) =>
      name === '' ? { text: NONE } : { text: addressOf(name), href: pathTo('/client', { name }) },
    grant: (id) => (id === '' ? { text: NONE } : link(id, `/grants/${id}`)),
    text: presentableName
  }
}

/** A path with a query; members that are undefined or empty are left out. */
export function pathTo(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

/** How the contract names a client: URL of its wallet address, or `jwk:` and its key's thumbprint. */
export function nameOf(client: auth.ClientInstance | undefined): string {
  if (client === undefined) return ''
  return client.walletAddress === '' ? `jwk:${client.jwkThumbprint}` : client.walletAddress
}

/** The kind of a payment, for the contract. */
export function kindOf(text: string | null): wallet.PaymentKind {
  return text === 'incoming'
    ? wallet.PaymentKind.PAYMENT_KIND_INCOMING
    : wallet.PaymentKind.PAYMENT_KIND_OUTGOING
}
