import { type Answer, type RandomSequence, weighted, wholeNumber } from '@open-payments-server/testing'
import type { ConnectedSystem } from '../connect-system.js'
import type { Limits } from '../consent.js'
import { amountOf, Correspondence, type Wallet } from '../wallets.js'
import type { OrderBook } from './order-book.js'
import { type Direction, directionsOf, PEERINGS, type ProviderPair, YEN } from './provider-pair.js'

/** How a payment is fixed: by each amount of a quote, by what its receiver lacks, or without a quote. */
export const ORDER_FORMS = ['debitAmount', 'receiveAmount', 'incomingAmount', 'without a quote'] as const

type OrderForm = (typeof ORDER_FORMS)[number]

/** How a grant is limited. */
type GrantKind = 'none' | 'debitAmount' | 'receiveAmount' | 'interval'

/**
 * Which receiver is paid: one for any amount, one that several payments fill, one that lacks less than two quotes together promise, or one
 * that is completed right after the order.
 */
type ReceiverKind = 'open' | 'small' | 'contested' | 'completed'

/** An order that was drawn, and is still to be placed. */
interface DrawnOrder {
  readonly by: Correspondence
  readonly form: OrderForm
  readonly receiver: ReceiverKind
  /** In the asset of whoever's amount is fixed. */
  readonly value: bigint
}

const GRANT_KINDS: readonly GrantKind[] = ['none', 'debitAmount', 'receiveAmount', 'interval']
const FORMS: Readonly<Record<OrderForm, number>> = {
  debitAmount: 2,
  receiveAmount: 2,
  incomingAmount: 2,
  'without a quote': 3
}
const RECEIVERS: Readonly<Record<ReceiverKind, number>> = { open: 3, small: 2, contested: 1, completed: 2 }
/** What a wallet has, in the smallest units. */
const BALANCE = 100_000_000n
/** Most of an order, in the smallest units. */
const VALUE_MAX = 1_500
/** What a grant with a limit allows: some payments of a grant exceed it. */
const LIMIT_VALUE = 3_000n
/** What a receiver takes that several payments fill, and how many are ordered to it. */
const SMALL_VALUE = 1_200n
const ORDERS_PER_SMALL = 5
/** Orders that each system places at a time. */
const AT_A_TIME = 6

/** Statuses of refusals: for a receiver that takes nothing more or too little, and beyond the limits of a grant. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403])

/** Payments of every form, between two systems in both directions and within each, in several assets and under grants of every kind. */
export class ProviderMix {
  /** How often each form was answered with each status, such as `debitAmount 201`. */
  readonly answers = new Map<string, number>()
  /** Answers that nobody should get. */
  readonly wrong: string[] = []
  readonly #book: OrderBook
  readonly #random: RandomSequence
  readonly #correspondences: readonly Correspondence[]
  /** URLs of receivers, by wallet address. */
  readonly #open = new Map<string, string>()
  readonly #small = new Map<string, { readonly url: string; ordersLeft: number }>()

  private constructor(book: OrderBook, random: RandomSequence, correspondences: readonly Correspondence[]) {
    this.#book = book
    this.#random = random
    this.#correspondences = correspondences
  }

  /** Opens wallets in every asset at both systems, and grants for payments between them. */
  static async prepare(pair: ProviderPair, book: OrderBook, random: RandomSequence): Promise<ProviderMix> {
    const assets = [...Object.values(PEERINGS), YEN]
    const walletsOf = new Map<ConnectedSystem, readonly Wallet[]>()
    for (const system of [pair.one, pair.another]) {
      const wallets: Wallet[] = []
      for (const asset of assets) {
        const name = `mix-${asset.code.toLowerCase()}`
        wallets.push(await book.openWallet(system, name, { asset, balance: BALANCE }))
      }
      walletsOf.set(system, wallets)
    }
    const correspondences: Correspondence[] = []
    for (const direction of directionsOf(pair)) {
      correspondences.push(...(await openCorrespondences(direction, walletsOf)))
    }
    const mix = new ProviderMix(book, random, correspondences)
    for (const by of correspondences) {
      if (!mix.#open.has(by.to.walletAddress)) {
        mix.#open.set(by.to.walletAddress, await book.createReceiver(by))
      }
    }
    return mix
  }

  /** Places a number of orders, both systems at the same time. Resolves once all are answered. */
  async run(orderCount: number): Promise<void> {
    const drawn = Array.from({ length: orderCount }, () => this.#draw())
    const systems = new Set(this.#correspondences.map(({ payer }) => payer.system))
    await Promise.all(
      [...systems].flatMap((system) => {
        const orders = drawn.filter(({ by }) => by.payer.system === system)
        const place = async (): Promise<void> => {
          for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
            await this.#place(order)
          }
        }
        return Array.from({ length: AT_A_TIME }, place)
      })
    )
  }

  #draw(): DrawnOrder {
    const by = this.#correspondences[wholeNumber(this.#random, 0, this.#correspondences.length - 1)]
    if (by === undefined) throw new Error('there is nobody to pay')
    const form = weighted(this.#random, FORMS)
    const receiver = weighted(this.#random, RECEIVERS)
    return { by, form, receiver, value: BigInt(wholeNumber(this.#random, 20, VALUE_MAX)) }
  }

  async #place({ by, form, receiver: kind, value }: DrawnOrder): Promise<void> {
    if (kind === 'contested') {
      await this.#contest(by, value)
      return
    }
    const receiver = await this.#receiverOf(by, { form, kind, value })
    this.#count(form, await this.#order(by, receiver, { form, value }))
    // While it is under way, if it was created.
    if (kind === 'completed') await by.complete(receiver)
  }

  /** Both quotes are given while there is room for each. */
  async #contest(by: Correspondence, value: bigint): Promise<void> {
    const receiver = await this.#book.createReceiver(by, (value * 3n) / 2n)
    const form = 'receiveAmount'
    const quotes = [
      await by.quote(receiver, fixedBy(by, form, value)),
      await by.quote(receiver, fixedBy(by, form, value))
    ]
    await Promise.all(quotes.map(async (quote) => this.#count(form, await this.#payQuote(by, quote))))
  }

  #count(form: OrderForm, { status, text }: Answer): void {
    const name = `${form} ${String(status)}`
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
    if (status !== 201 && !REFUSALS.has(status)) this.wrong.push(`${name}: ${text}`)
  }

  /** Pays on the terms of a quote, if it was given. */
  async #payQuote(by: Correspondence, quote: Answer): Promise<Answer> {
    return quote.status === 201 ? this.#book.keep(by, await by.payQuote(quote)) : quote
  }

  async #order(
    by: Correspondence,
    receiver: string,
    { form, value }: Pick<DrawnOrder, 'form' | 'value'>
  ): Promise<Answer> {
    if (form === 'without a quote')
      return this.#book.keep(by, await by.pay(receiver, amountOf(by.from, value)))
    return this.#payQuote(by, await by.quote(receiver, fixedBy(by, form, value)))
  }

  async #receiverOf(
    by: Correspondence,
    { form, kind, value }: { readonly form: OrderForm; readonly kind: ReceiverKind; readonly value: bigint }
  ): Promise<string> {
    if (form === 'incomingAmount' || kind === 'completed') return this.#book.createReceiver(by, value)
    const { walletAddress } = by.to
    if (kind === 'open') return this.#open.get(walletAddress) ?? ''
    const small = this.#small.get(walletAddress)
    if (small !== undefined && small.ordersLeft > 0) {
      small.ordersLeft -= 1
      return small.url
    }
    const url = await this.#book.createReceiver(by, SMALL_VALUE)
    this.#small.set(walletAddress, { url, ordersLeft: ORDERS_PER_SMALL - 1 })
    return url
  }
}

function fixedBy({ from, to }: Correspondence, form: OrderForm, value: bigint) {
  if (form === 'debitAmount') return { debitAmount: amountOf(from, value) }
  if (form === 'receiveAmount') return { receiveAmount: amountOf(to, value) }
  return undefined
}

/** From each wallet of the sender to those of the receiver in every asset, and to one at home: grants of every kind in turn. */
async function openCorrespondences(
  { sender, receiver }: Direction,
  walletsOf: ReadonlyMap<ConnectedSystem, readonly Wallet[]>
): Promise<Correspondence[]> {
  const home = walletsOf.get(sender) ?? []
  const away = walletsOf.get(receiver) ?? []
  const payee = { system: receiver, client: receiver.shop }
  const ways = home.flatMap((from, index) => [
    ...away.map((to) => ({ from, to, payee })),
    // Fills the same receivers as payments from the other system.
    ...home.slice(index + 1, index + 2).map((to) => ({ from, to }))
  ])
  const correspondences: Correspondence[] = []
  for (const [index, way] of ways.entries()) {
    const kind = GRANT_KINDS[index % GRANT_KINDS.length] ?? 'none'
    const limits = limitsOf(kind, way, sender.clock.now())
    correspondences.push(await Correspondence.open(sender, sender.shop, way, limits))
  }
  return correspondences
}

function limitsOf(
  kind: GrantKind,
  { from, to }: { readonly from: Wallet; readonly to: Wallet },
  nowMs: number
): Limits | undefined {
  if (kind === 'none') return undefined
  if (kind === 'receiveAmount') return { receiveAmount: amountOf(to, LIMIT_VALUE) }
  const debitAmount = amountOf(from, LIMIT_VALUE)
  // Longer than any test: all is spent in its first interval.
  const interval = `R/${new Date(nowMs - 1_000).toISOString()}/P1D`
  return kind === 'debitAmount' ? { debitAmount } : { debitAmount, interval }
}
