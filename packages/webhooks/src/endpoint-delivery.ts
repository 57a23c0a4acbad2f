import type { ToldEvent } from '@open-payments-server/events'
import { type AttemptResult } from './attempt.js'
import { type Backlog, createBacklog } from './backlog.js'
import type { DisabledCause } from './endpoint.js'
import type { EventBatch, EventSource } from './event-source.js'
import type { LeasedEndpoint, Progress, Undelivered } from './leases.js'
import { nextAttemptAtMs, TRIED_MS } from './schedule.js'

/** Maximum number of subjects of one endpoint that are posted at a time. */
const SUBJECTS_AT_A_TIME_MAX = 16
/** Maximum number of undelivered events of one subject that are posted one after the other. */
const TRIED_TOGETHER_MAX = 20
/** Maximum number of undelivered events of one endpoint: with more, no later ones are read. */
export const UNDELIVERED_MAX = 1_000
/** After so many failures in a row an endpoint counts as down: it gets one event at a time until it takes one. */
const FAILURES_TO_BE_DOWN = 5
/**
 * How soon after the last attempt an endpoint that is down is tried with an event that it was not tried with, in milliseconds: it may
 * fail to take only those that it was.
 */
const PROBE_MS = 60_000
/** How long after its beginning a round begins no more attempts, in milliseconds: until it ends, no later events are read. */
const ROUND_MS = 5_000
/** How soon an endpoint that was down gets what it missed, in milliseconds. */
const RECOVERY_MS = 1_000
/** How long an event that passed no filter may leave the stored number behind, in milliseconds. */
const STORE_AFTER_MS = 10_000

/** What delivering to an endpoint needs. */
export interface EndpointDeliveryDependencies {
  readonly source: EventSource
  /** Posts an event once. Undefined when the process stops meanwhile: nobody knows whether it arrived, so it is posted again. */
  readonly attempt: (event: ToldEvent) => Promise<AttemptResult | undefined>
  /** Whether an event passes the filters of the endpoint. */
  readonly wants: (event: ToldEvent) => boolean
  /** Records progress. @returns whether this process still holds the endpoint */
  readonly record: (progress: Progress) => Promise<boolean>
  /** Number of the newest event. */
  readonly newestNumber: () => bigint
  /** Whether this process may still post to the endpoint. */
  readonly isHeld: () => boolean
  readonly now: () => number
  /** From 0 to below 1. */
  readonly random: () => number
}

/** An event to deliver. */
interface Wanted {
  /** Undefined when it is no longer kept, or passes the filters no longer. */
  readonly event: ToldEvent | undefined
  readonly state: Undelivered
}

/** What became of one. */
type Outcome =
  | { readonly kind: 'delivered' | 'failed'; readonly wanted: Wanted; readonly result: AttemptResult }
  | { readonly kind: 'expired'; readonly wanted: Wanted }
  /** Behind one that failed, or when the round or the process ends. */
  | { readonly kind: 'waits'; readonly wanted: Wanted }

/** Events that were read. */
interface Fresh {
  /** Of each subject, in order. */
  readonly queues: readonly (readonly Wanted[])[]
  /** Those behind an undelivered one of their subject. */
  readonly waiting: readonly Undelivered[]
  /** Where the endpoint stands after them. */
  readonly toNumber: bigint
}

/** Delivers the events of one endpoint that was just leased, while this process holds it. */
export class EndpointDelivery {
  readonly #endpointId: string
  readonly #dependencies: EndpointDeliveryDependencies
  readonly #backlog: Backlog
  #reachedNumber: bigint
  #storedNumber: bigint
  #storedAtMs: number
  #failingSinceMs: number | undefined
  #failures: number
  #attemptedAtMs = -Infinity

  constructor(endpoint: LeasedEndpoint, dependencies: EndpointDeliveryDependencies) {
    this.#endpointId = endpoint.id
    this.#dependencies = dependencies
    this.#backlog = createBacklog(endpoint.undelivered)
    this.#reachedNumber = endpoint.reachedNumber
    this.#storedNumber = endpoint.reachedNumber
    this.#storedAtMs = dependencies.now()
    this.#failingSinceMs = endpoint.failingSinceMs
    this.#failures = endpoint.failingSinceMs === undefined ? 0 : FAILURES_TO_BE_DOWN
  }

  /**
   * Delivers what is due.
   *
   * @returns when there is more to do, in milliseconds since 1970; undefined for nothing before there are new events; `ended` when
   *   the endpoint is disabled, or no longer held
   */
  async deliver(): Promise<number | undefined | 'ended'> {
    const { now, isHeld } = this.#dependencies
    // What waits is due at once: without this, a lease that is renewed late would be a loop without a pause.
    if (!isHeld()) return 'ended'
    const wasDown = this.#isDown
    const due = await this.#chooseDue()
    const fresh = await this.#chooseNew(due.length > 0)
    const queues = [...due, ...fresh.queues]
    const isBehind = fresh.toNumber !== this.#storedNumber && now() - this.#storedAtMs >= STORE_AFTER_MS
    this.#reachedNumber = fresh.toNumber
    if (queues.length > 0 || fresh.waiting.length > 0 || isBehind) {
      const untilMs = now() + ROUND_MS
      const outcomes = await deliverSubjects(queues, (queue) => this.#deliverSubject(queue, untilMs))
      if (!(await this.#record(outcomes, fresh.waiting, wasDown))) return 'ended'
    }
    const storeAtMs =
      this.#reachedNumber === this.#storedNumber ? undefined : this.#storedAtMs + STORE_AFTER_MS
    return earliest(this.#backlog.nextDueAtMs(), storeAtMs, this.#readsMoreAtMs)
  }

  get #isDown(): boolean {
    return this.#failures >= FAILURES_TO_BE_DOWN
  }

  /** When later events may be read, in milliseconds since 1970; undefined while there are none, or too many undelivered. */
  get #readsMoreAtMs(): number | undefined {
    const { newestNumber } = this.#dependencies
    if (newestNumber() <= this.#reachedNumber || this.#backlog.size >= UNDELIVERED_MAX) return undefined
    return this.#isDown && this.#backlog.size > 0 ? this.#attemptedAtMs + PROBE_MS : 0
  }

  /** What was tried before, or waited behind that, and is due. */
  async #chooseDue(): Promise<Wanted[][]> {
    const { source, wants, now } = this.#dependencies
    const queues = this.#backlog
      .due(now())
      .slice(0, this.#isDown ? 1 : SUBJECTS_AT_A_TIME_MAX)
      .map((queue) => queue.slice(0, this.#isDown ? 1 : TRIED_TOGETHER_MAX))
    const events = await source.numbered(queues.flat().map(({ number }) => number))
    // The filters may have been narrowed since it was first tried: whoever the endpoint belongs to now must not see it.
    const wanted = ({ number }: Undelivered): ToldEvent | undefined => {
      const event = events.get(number)
      return event !== undefined && wants(event) ? event : undefined
    }
    return queues.map((queue) => queue.map((state) => ({ state, event: wanted(state) })))
  }

  async #chooseNew(hasDue: boolean): Promise<Fresh> {
    const { source, now } = this.#dependencies
    const isTime = (this.#readsMoreAtMs ?? Infinity) <= now() && !(this.#isDown && hasDue)
    if (!isTime) return { queues: [], waiting: [], toNumber: this.#reachedNumber }
    const batch = await source.after(this.#reachedNumber)
    const { events, toNumber } = this.#isDown ? this.#upToFirst(batch) : batch
    const bySubject = new Map<string, Wanted[]>()
    const waiting: Undelivered[] = []
    for (const event of events.filter((each) => this.#dependencies.wants(each))) {
      const { number, subjectId } = event
      const state = { number, subjectId, attempts: 0, firstAttemptedAtMs: undefined, dueAtMs: undefined }
      const queue = bySubject.get(subjectId) ?? []
      if (this.#backlog.has(subjectId)) waiting.push(state)
      else bySubject.set(subjectId, queue)
      queue.push({ event, state })
    }
    return { queues: [...bySubject.values()], waiting, toNumber }
  }

  /** Events up to the first that is to be posted. */
  #upToFirst(batch: EventBatch): EventBatch {
    const { wants } = this.#dependencies
    const index = batch.events.findIndex((event) => wants(event) && !this.#backlog.has(event.subjectId))
    const first = batch.events[index]
    return first === undefined ? batch : { events: batch.events.slice(0, index + 1), toNumber: first.number }
  }

  /** Posts the events of a subject in order, up to the first that fails. */
  async #deliverSubject(queue: readonly Wanted[], untilMs: number): Promise<Outcome[]> {
    const { attempt, isHeld, now } = this.#dependencies
    const outcomes: Outcome[] = []
    let isStopped = false
    for (const wanted of queue) {
      const { event } = wanted
      isStopped ||= !isHeld() || now() >= untilMs
      if (isStopped) outcomes.push({ kind: 'waits', wanted })
      else if (event === undefined) outcomes.push({ kind: 'expired', wanted })
      else {
        const result = await attempt(event)
        if (result === undefined) outcomes.push({ kind: 'waits', wanted })
        else {
          this.#count(result)
          outcomes.push({
            kind: result.attempt.failure === undefined ? 'delivered' : 'failed',
            wanted,
            result
          })
        }
        isStopped = result?.attempt.failure !== undefined || result === undefined
      }
    }
    return outcomes
  }

  #count({ attempt: { failure, attemptedAtMs } }: AttemptResult): void {
    this.#attemptedAtMs = attemptedAtMs
    if (failure === undefined) {
      this.#failures = 0
      this.#failingSinceMs = undefined
    } else {
      this.#failures += 1
      this.#failingSinceMs ??= attemptedAtMs
    }
  }

  /** Records what became of events, here and in the database. @returns whether to go on */
  async #record(
    outcomes: readonly Outcome[],
    waiting: readonly Undelivered[],
    wasDown: boolean
  ): Promise<boolean> {
    const { now, random, record } = this.#dependencies
    const changed = new Map<bigint, Undelivered>()
    const done: Undelivered[] = []
    const givenUp: Undelivered[] = []
    for (const outcome of outcomes) {
      const { state } = outcome.wanted
      if (outcome.kind === 'waits') changed.set(state.number, state)
      else if (outcome.kind === 'failed') {
        const failed = afterFailure(state, outcome.result, { nowMs: now(), random: random() })
        if (failed.dueAtMs === undefined) givenUp.push(failed)
        else changed.set(state.number, failed)
      } else done.push(state)
    }
    for (const state of waiting) changed.set(state.number, state)
    for (const state of changed.values()) this.#backlog.put(state)
    for (const state of [...done, ...givenUp]) this.#backlog.remove(state)
    const hastened = wasDown && !this.#isDown ? this.#backlog.hasten(now() + RECOVERY_MS) : []
    for (const state of hastened) changed.set(state.number, state)
    const results = outcomes.flatMap((outcome) => ('result' in outcome ? [outcome.result] : []))
    const disabledCause = causeToDisable(results, givenUp, this.#failingSinceMs, now())
    const isHeld = await record({
      endpointId: this.#endpointId,
      reachedNumber: this.#reachedNumber,
      failingSinceMs: this.#failingSinceMs,
      disabledCause,
      deliveredNumbers: done.map(({ number }) => number),
      undelivered: [...changed.values()],
      givenUp,
      attempts: results.map(({ attempt }) => attempt)
    })
    this.#storedNumber = this.#reachedNumber
    this.#storedAtMs = now()
    return isHeld && disabledCause === undefined
  }
}

/** Posts several subjects at a time. */
async function deliverSubjects(
  queues: readonly (readonly Wanted[])[],
  deliverSubject: (queue: readonly Wanted[]) => Promise<Outcome[]>
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const waiting = queues[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (const queue of waiting) outcomes.push(...(await deliverSubject(queue)))
  }
  await Promise.all(Array.from({ length: Math.min(SUBJECTS_AT_A_TIME_MAX, queues.length) }, work))
  return outcomes
}

/** @returns without `dueAtMs` when it is given up */
function afterFailure(
  state: Undelivered,
  { attempt, retryAfterMs }: AttemptResult,
  { nowMs, random }: { readonly nowMs: number; readonly random: number }
): Undelivered {
  const firstAttemptedAtMs = state.firstAttemptedAtMs ?? attempt.attemptedAtMs
  const attempts = state.attempts + 1
  const dueAtMs = nextAttemptAtMs({ attempts, firstAttemptedAtMs, nowMs, retryAfterMs }, random)
  return { ...state, attempts, firstAttemptedAtMs, dueAtMs }
}

function causeToDisable(
  results: readonly AttemptResult[],
  givenUp: readonly Undelivered[],
  failingSinceMs: number | undefined,
  nowMs: number
): DisabledCause | undefined {
  if (results.some(({ isGone }) => isGone)) return 'gone'
  if (failingSinceMs === undefined) return undefined
  // Its last attempt may be some hours before the three days are over: then it took nothing as long as an event is tried.
  const tookNothing = givenUp.some(({ firstAttemptedAtMs = 0 }) => firstAttemptedAtMs >= failingSinceMs)
  return tookNothing || nowMs - failingSinceMs >= TRIED_MS ? 'failing' : undefined
}

function earliest(...instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((instant) => instant !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
