import { createEventTail, type EventNews, type EventTail } from '@open-payments-server/events'
import type { Listener, Logger } from '@open-payments-server/runtime'
import { tooManyWaiting } from '../../domain/errors.js'
import type { Queries } from '../../modules/database.js'
import type { StoredEvent } from '../../modules/events/index.js'
import type { ShownPayment, WaitableKind } from '../waitable-payments.js'

/** How clients wait: with `Prefer: wait`, or for events. */
export type WaitKind = 'request' | 'stream'

/** How often everyone who waits looks at the time, in milliseconds. */
const TICK_MS = 1_000

/** How long events are still read once nobody waits, in milliseconds: another client may come at once. */
const LINGER_MS = 10_000

/** An event, and the payment as it was then: undefined when it is no longer kept. */
export interface ToldPayment {
  readonly event: StoredEvent
  readonly payment: ShownPayment | undefined
}

/** Somebody who waits for changes of one payment. None of these may throw. */
export interface Waiter {
  readonly kind: WaitKind
  /** The token holder, by whom waiting clients are counted. */
  readonly client: string
  /** Id (UUID) of the payment. */
  readonly paymentId: string
  readonly payments: WaitableKind
  /**
   * Something happened.
   *
   * @param told for streams: every event in order, each at least once
   * @param read reads the payment as it is now, once for all who call it
   */
  readonly onEvents: (told: readonly ToldPayment[], read: () => Promise<ShownPayment | undefined>) => void
  /** Events may have been missed. */
  readonly onGap: () => void
  /** Called every second. */
  readonly onTick: () => void
  /** This process stops. */
  readonly onStop: () => void
}

/** What a waiting room needs. */
export interface WaitingRoomDependencies {
  readonly database: Queries
  readonly news: EventNews
  readonly logger: Logger
  /** Maximum number of clients that wait here. */
  readonly waitersMax: number
  /** Maximum number of them that are one client's. */
  readonly waitersPerClientMax: number
  readonly countRefused: (of: 'client' | 'replica') => void
}

/**
 * Everyone who waits at this process. One reader of events serves them all: whoever waits costs memory only, and what is read when
 * a payment changes is shared by all who wait for it.
 */
export class WaitingRoom implements Listener {
  readonly #dependencies: WaitingRoomDependencies
  readonly #tail: EventTail
  /** By the id of their payment. */
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #ofClients = new Map<string, number>()
  readonly #counts: Record<WaitKind, number> = { request: 0, stream: 0 }
  #ticking: NodeJS.Timeout | undefined
  #lingering: NodeJS.Timeout | undefined
  #isStopping = false

  constructor(dependencies: WaitingRoomDependencies) {
    this.#dependencies = dependencies
    this.#tail = createEventTail({
      ...dependencies,
      onEvents: (events) => this.#tell(events),
      onGap: () => {
        for (const waiter of this.#all()) waiter.onGap()
        return Promise.resolve()
      }
    })
  }

  /** Reads the events: to be stopped before what it reads with. */
  get tail(): EventTail {
    return this.#tail
  }

  /** Whether nobody should begin to wait here any more. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** How many wait now. */
  get counts(): Readonly<Record<WaitKind, number>> {
    return this.#counts
  }

  /**
   * Lets somebody wait, who is told of everything that is published from then on.
   *
   * @returns ends it; may be called again
   * @throws Refusal `too-many-requests` or `unavailable` when as many wait as may
   */
  async enter(waiter: Waiter): Promise<() => void> {
    this.#admit(waiter)
    const leave = this.#seat(waiter)
    try {
      await this.#tail.begin()
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Its clients stay until it stops: before that, they would come back to this process. */
  announceStop(): void {
    // Nothing to announce.
  }

  /** Sends everyone elsewhere. */
  stop(): Promise<void> {
    this.#isStopping = true
    for (const waiter of this.#all()) waiter.onStop()
    return Promise.resolve()
  }

  #admit({ client }: Waiter): void {
    const { waitersMax, waitersPerClientMax, countRefused } = this.#dependencies
    const refuse = (of: 'client' | 'replica'): never => {
      countRefused(of)
      throw tooManyWaiting(of)
    }
    if ((this.#ofClients.get(client) ?? 0) >= waitersPerClientMax) refuse('client')
    if (this.#counts.request + this.#counts.stream >= waitersMax) refuse('replica')
  }

  #seat(waiter: Waiter): () => void {
    const { kind, client, paymentId } = waiter
    this.#counts[kind] += 1
    this.#ofClients.set(client, (this.#ofClients.get(client) ?? 0) + 1)
    const together = this.#waiters.get(paymentId) ?? new Set()
    this.#waiters.set(paymentId, together.add(waiter))
    clearTimeout(this.#lingering)
    this.#ticking ??= setInterval(() => {
      for (const one of this.#all()) one.onTick()
    }, TICK_MS).unref()
    return () => {
      if (!together.delete(waiter)) return
      if (together.size === 0) this.#waiters.delete(paymentId)
      this.#counts[kind] -= 1
      const left = (this.#ofClients.get(client) ?? 0) - 1
      if (left > 0) this.#ofClients.set(client, left)
      else this.#ofClients.delete(client)
      if (this.#waiters.size === 0) this.#rest()
    }
  }

  #rest(): void {
    clearInterval(this.#ticking)
    this.#ticking = undefined
    clearTimeout(this.#lingering)
    this.#lingering = setTimeout(() => {
      this.#tail.pause()
    }, LINGER_MS)
    this.#lingering.unref()
  }

  /** A copy: whoever is called may leave. */
  #all(): readonly Waiter[] {
    return [...this.#waiters.values()].flatMap((together) => [...together])
  }

  /** Tells everyone who waits for what happened, with one statement for each kind of payment. */
  async #tell(events: readonly StoredEvent[]): Promise<void> {
    const awaited = new Map<string, StoredEvent[]>()
    for (const event of events) {
      if (!this.#waiters.has(event.subjectId)) continue
      const ofPayment = awaited.get(event.subjectId) ?? []
      ofPayment.push(event)
      awaited.set(event.subjectId, ofPayment)
    }
    const told = await this.#readTold(awaited)
    for (const [paymentId, ofPayment] of awaited) {
      const waiters = [...(this.#waiters.get(paymentId) ?? [])]
      const [first] = waiters
      if (first === undefined) continue
      const read = once(() => first.payments.reader.find(paymentId))
      // Streams that were opened meanwhile read for themselves what is not here.
      const ofStreams = ofPayment.flatMap((event) => told.get(event) ?? [])
      for (const waiter of waiters) waiter.onEvents(ofStreams, read)
    }
  }

  /** The payment of each event that a stream waits for, as it was then. */
  async #readTold(
    awaited: ReadonlyMap<string, readonly StoredEvent[]>
  ): Promise<ReadonlyMap<StoredEvent, ToldPayment>> {
    const ofKinds = new Map<WaitableKind, StoredEvent[]>()
    for (const [paymentId, events] of awaited) {
      const stream = [...(this.#waiters.get(paymentId) ?? [])].find(({ kind }) => kind === 'stream')
      if (stream === undefined) continue
      ofKinds.set(stream.payments, [...(ofKinds.get(stream.payments) ?? []), ...events])
    }
    const told = new Map<StoredEvent, ToldPayment>()
    for (const [payments, events] of ofKinds) {
      const shown = await payments.readTold(events)
      events.forEach((event, index) => told.set(event, { event, payment: shown[index] }))
    }
    return told
  }
}

/** The same promise for everyone who asks. */
function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let promise: Promise<Value> | undefined
  return () => (promise ??= read())
}
