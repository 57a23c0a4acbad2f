import type { HttpResponse } from '@open-payments-server/http-server'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import { inactiveToken, notFound } from '../../domain/errors.js'
import type { ShownPayment, WaitableKind } from '../waitable-payments.js'
import type { WatchedToken, WatchedTokens } from './watched-tokens.js'
import type { ToldPayment, Waiter, WaitingRoom } from './waiting-room.js'

/** What waiting needs. */
export interface WaitingDependencies {
  readonly room: WaitingRoom
  readonly tokens: Pick<WatchedTokens, 'watch'>
  readonly clock: Clock
}

/** A request that waits. */
export interface WaitingOrder {
  readonly authorized: AuthorizedRequest
  readonly payments: WaitableKind
  /** The payment as it was when the request arrived. */
  readonly payment: ShownPayment
  /** How long it waits, in seconds. */
  readonly seconds: number
  /** Whether a payment differs from what the client has. */
  readonly isNews: (payment: ShownPayment) => boolean
  /** The answer: nobody waits once it is closed. */
  readonly response: Pick<HttpResponse, 'onClosed'>
}

/**
 * Waits until a payment is news to a client, until it has ended, or until the time is over.
 *
 * @returns the payment as it is then
 * @throws Refusal `inactive-token` when the token ends meanwhile, `not-found` when the payment is deleted, and as
 *   {@link WaitingRoom.enter}
 */
export async function untilChanged(
  order: WaitingOrder,
  dependencies: WaitingDependencies
): Promise<ShownPayment> {
  const { room, tokens } = dependencies
  const { authorized, seconds, response } = order
  const request = new WaitingRequest(order, dependencies.clock)
  const token = tokens.watch(authorized, () => {
    request.onTokenEnded()
  })
  const leave = await room.enter(request).catch((error: unknown) => {
    token.close()
    throw error
  })
  const timer = setTimeout(() => {
    request.onStop()
  }, seconds * 1_000)
  response.onClosed(() => {
    request.onStop()
  })
  try {
    return await request.untilChanged(token)
  } finally {
    clearTimeout(timer)
    leave()
    token.close()
  }
}

type Read = () => Promise<ShownPayment | undefined>

class WaitingRequest implements Waiter {
  readonly kind = 'request'
  readonly client: string
  readonly paymentId: string
  readonly payments: WaitableKind
  readonly #order: WaitingOrder
  readonly #clock: Clock
  readonly #readAlone: Read
  /** Set when the payment may have changed since it was read: at first, because it may have between its reading and now. */
  #read: Read | undefined
  #isOver = false
  #isTokenEnded = false
  #wake: () => void = () => undefined

  constructor(order: WaitingOrder, clock: Clock) {
    const { authorized, payments, payment } = order
    this.client = authorized.client
    this.paymentId = payment.id
    this.payments = payments
    this.#order = order
    this.#clock = clock
    const readAlone: Read = () => payments.reader.find(payment.id)
    this.#readAlone = readAlone
    this.#read = readAlone
  }

  onEvents(_told: readonly ToldPayment[], read: Read): void {
    this.#read = read
    this.#wake()
  }

  onGap(): void {
    this.#read = this.#readAlone
    this.#wake()
  }

  onTick(): void {
    if (this.#isTokenExpired) this.onStop()
    if (this.#order.payment.endsAtMs <= this.#clock.now()) this.onGap()
  }

  get #isTokenExpired(): boolean {
    return this.#order.authorized.tokenExpiresAtMs <= this.#clock.now()
  }

  onStop(): void {
    this.#isOver = true
    this.#wake()
  }

  onTokenEnded(): void {
    this.#isTokenEnded = true
    this.#wake()
  }

  async untilChanged(token: WatchedToken): Promise<ShownPayment> {
    let { payment } = this.#order
    for (;;) {
      // It could be read until then, perhaps as one of others: the client asks again with what it may read now.
      if (this.#isTokenExpired) return payment
      const read = this.#takeRead()
      if (read !== undefined) {
        payment = await this.#readWith(read, token)
        if (this.#order.isNews(payment) || payment.endsAtMs <= this.#clock.now()) return payment
      } else if (this.#isOver) return payment
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      if (this.#isTokenEnded) throw inactiveToken()
    }
  }

  async #readWith(read: Read, token: WatchedToken): Promise<ShownPayment> {
    if (!(await token.isActive())) throw inactiveToken()
    const payment = await read()
    if (payment === undefined) throw notFound()
    return payment
  }

  #takeRead(): Read | undefined {
    const read = this.#read
    this.#read = undefined
    return read
  }
}
