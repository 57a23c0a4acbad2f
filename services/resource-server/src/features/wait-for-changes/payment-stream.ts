import {
  type EventStream,
  formatMessage,
  type HttpRequest,
  type HttpResponse
} from '@open-payments-server/http-server'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import { inactiveToken } from '../../domain/errors.js'
import type { Representation } from '../../domain/representation.js'
import type { Queries } from '../../modules/database.js'
import { hasEvents, readHistory, type StoredEvent } from '../../modules/events/index.js'
import type { ShownPayment, WaitableKind } from '../waitable-payments.js'
import type { WaitingDependencies } from './waiting-request.js'
import type { WatchedToken } from './watched-tokens.js'
import type { ToldPayment, Waiter } from './waiting-room.js'

/** Maximum number of events that a client which comes back is told: after more, it is told how the payment is now. */
const REPLAYED_MAX = 100

/** Id of the state of a payment none of whose events is kept. No event has this number. */
const NO_EVENT = 0n

/**
 * How long a stream stays open after its payment expired, in milliseconds: the event that says so comes a moment later.
 */
const EXPIRY_GRACE_MS = 5_000

/** Bounds of the time after which a client comes back, in milliseconds: chosen at random, so that not all come at once. */
const RETRY_AFTER_MS = { min: 1_000, max: 5_000 } as const

/** What a stream needs. */
export interface StreamDependencies extends WaitingDependencies {
  readonly database: Queries
  /** Maximum silence, in milliseconds. */
  readonly heartbeatMs: number
}

/** A request for events. */
export interface StreamOrder {
  readonly authorized: AuthorizedRequest
  readonly payments: WaitableKind
  /** The payment as it was when the request arrived. */
  readonly payment: ShownPayment
  /** Number of the last event that the client knows; undefined when it knows none. */
  readonly lastEventId: bigint | undefined
  readonly request: HttpRequest
  readonly response: HttpResponse
}

/**
 * Answers with the events of a payment as they happen (WHATWG HTML §9.2): first how it is now, or what happened since the client
 * was here last. A client that knows everything of a payment that has ended is answered 204, which tells it not to come back.
 *
 * @throws Refusal `inactive-token` when the token has ended meanwhile, and as `WaitingRoom.enter`
 */
export async function streamPayment(order: StreamOrder, dependencies: StreamDependencies): Promise<void> {
  const { room, tokens } = dependencies
  const { authorized, request, response } = order
  const stream = new PaymentStream(order, dependencies)
  const token = tokens.watch(authorized, () => {
    stream.end()
  })
  stream.onEnd(() => {
    token.close()
  })
  try {
    if (!room.isStopping) stream.onEnd(await room.enter(stream))
    const messages = await stream.readFirst()
    if (!(await token.isActive())) throw inactiveToken()
    if (messages.length === 0 && stream.isOver) {
      stream.end()
      response.addField('Cache-Control', 'no-store')
      response.sendEmpty(204)
      return
    }
    request.beginWait()
    response.onClosed(() => {
      stream.end()
    })
    stream.begin(response.openEventStream(), messages, token)
    if (stream.isOver || room.isStopping) stream.end()
  } catch (error) {
    stream.end()
    throw error
  }
}

class PaymentStream implements Waiter {
  readonly kind = 'stream'
  readonly client: string
  readonly paymentId: string
  readonly payments: WaitableKind
  readonly #order: StreamOrder
  readonly #dependencies: StreamDependencies
  readonly #representation: Representation
  readonly #atEnd: (() => void)[] = []
  /** What is told next. Until the stream begins, events wait here for those before them. */
  #queue: ToldPayment[] = []
  /** Undefined before it begins. */
  #open: { readonly stream: EventStream; readonly token: WatchedToken } | undefined
  #lastNumber = NO_EVENT
  #endsAtMs: number
  #writtenAtMs = 0
  #isEnded = false
  #isChecking = false

  constructor(order: StreamOrder, dependencies: StreamDependencies) {
    const { authorized, payments, payment, request } = order
    this.client = authorized.client
    this.paymentId = payment.id
    this.payments = payments
    this.#order = order
    this.#dependencies = dependencies
    this.#representation = payments.representationOf(request)
    this.#endsAtMs = payment.endsAtMs
  }

  /** Whether the payment had ended when it was last told of: an event that says so may still be on its way when it just expired. */
  get isOver(): boolean {
    return this.#endsAtMs + EXPIRY_GRACE_MS <= this.#dependencies.clock.now()
  }

  onEvents(told: readonly ToldPayment[]): void {
    this.#queue.push(...told)
    this.#flush()
  }

  /** It comes back, and is told how the payment is then. */
  onGap(): void {
    this.end()
  }

  onStop(): void {
    this.end()
  }

  onTick(): void {
    if (this.#isTokenExpired || this.isOver) this.end()
    else if (performance.now() - this.#writtenAtMs >= this.#dependencies.heartbeatMs) this.#beat()
  }

  get #isTokenExpired(): boolean {
    return this.#order.authorized.tokenExpiresAtMs <= this.#dependencies.clock.now()
  }

  /** Calls something once it has ended; at once when it has. */
  onEnd(action: () => void): void {
    if (this.#isEnded) action()
    else this.#atEnd.push(action)
  }

  /** Ends it. May be called again, and before it began. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const { min, max } = RETRY_AFTER_MS
    this.#open?.stream.end(min + Math.random() * (max - min))
    for (const action of this.#atEnd) action()
  }

  /** What the client is told first; nothing when it knows everything. Everything later is told by events. */
  async readFirst(): Promise<readonly string[]> {
    const { lastEventId, payment } = this.#order
    const { database } = this.#dependencies
    const countMax = lastEventId === undefined ? 1 : REPLAYED_MAX + 1
    const history = await readHistory(database, { subjectId: this.paymentId, countMax })
    const newest = history.at(-1)
    if (newest === undefined) {
      if (lastEventId !== NO_EVENT) return [this.#format(payment.lastEventType, NO_EVENT, payment)]
      // It may have been told how the payment was before that ended: the event that says so is on its way.
      if (this.isOver && (await hasEvents(database, this.paymentId))) this.#endsAtMs = Infinity
      return []
    }
    this.#lastNumber = newest.number
    const shown = await this.payments.readTold(history)
    // The payment itself may be ahead of what is published.
    this.#endsAtMs = shown.at(-1)?.endsAtMs ?? -Infinity
    const first = firstAfter(history, lastEventId)
    return history.flatMap(({ type, number }, index) => {
      const then = index < first ? undefined : shown[index]
      return then === undefined ? [] : [this.#format(type, number, then)]
    })
  }

  /** Begins to tell. */
  begin(stream: EventStream, messages: readonly string[], token: WatchedToken): void {
    this.#open = { stream, token }
    if (messages.length === 0) this.#beat()
    else this.#write(messages.join(''))
    // Its token ended, or its client left, while it began.
    if (this.#isEnded) stream.end(RETRY_AFTER_MS.min)
    else this.#flush()
  }

  /** Tells what waits, unless its token may have ended: that is asked first. */
  #flush(): void {
    if (this.#open === undefined || this.#queue.length === 0 || this.#isChecking) return
    const isActive = this.#open.token.isActive()
    if (isActive === true) this.#tell()
    else if (isActive === false) this.end()
    else void this.#flushIf(isActive)
  }

  async #flushIf(isActive: Promise<boolean>): Promise<void> {
    this.#isChecking = true
    const isKnownActive = await isActive.catch(() => false)
    this.#isChecking = false
    if (isKnownActive) this.#tell()
    else this.end()
  }

  #tell(): void {
    if (this.#isTokenExpired) {
      this.end()
      return
    }
    let isLast = false
    for (const { event, payment } of this.#queue.splice(0)) {
      if (event.number <= this.#lastNumber) continue
      this.#lastNumber = event.number
      if (payment === undefined) isLast = true
      else {
        this.#write(this.#format(event.type, event.number, payment))
        this.#endsAtMs = payment.endsAtMs
        isLast = payment.endsAtMs === -Infinity
      }
    }
    if (isLast) this.end()
  }

  #format(type: string, number: bigint, payment: ShownPayment): string {
    const { text } = payment.render(this.#representation)
    return formatMessage({ type, id: number.toString(), data: text })
  }

  #write(text: string): void {
    if (this.#isEnded) return
    this.#open?.stream.write(text)
    this.#writtenAtMs = performance.now()
  }

  #beat(): void {
    this.#open?.stream.beat()
    this.#writtenAtMs = performance.now()
  }
}

/**
 * Where begins what a client must be told: after the event that it knows. A client that knows none, or one that is not among these, is
 * told the newest, which says how the payment is.
 *
 * @param history the newest events of the payment, oldest first
 * @returns an index
 */
function firstAfter(history: readonly StoredEvent[], lastEventId: bigint | undefined): number {
  const known = history.findIndex(({ number }) => number === lastEventId)
  return known < 0 ? history.length - 1 : known + 1
}
