import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type RawQueries, writeTogether } from '@open-payments-server/database'
import {
  type CompleteEvents,
  type EventNews,
  readNewestNumber,
  type ToldEvent
} from '@open-payments-server/events'
import type { PostClient } from '@open-payments-server/http-client'
import { type Logger, type Part, startWorker, type Worker } from '@open-payments-server/runtime'
import { attemptDelivery, type AttemptResult } from './attempt.js'
import { EndpointDelivery } from './endpoint-delivery.js'
import { createEventSource, type EventSource } from './event-source.js'
import {
  LEASE_SECONDS,
  LEASED_TOGETHER_MAX,
  leaseEndpoints,
  type LeasedEndpoint,
  type Progress,
  recordProgress,
  releaseEndpoints
} from './leases.js'
import type { SecretBox } from '@open-payments-server/runtime/secret-box'
import { WakeUp } from './wake-up.js'

/** How often leases are renewed, and endpoints without a holder are taken, in milliseconds. */
const LEASE_INTERVAL_MS = 1_000
/** How much earlier than the database this process regards a lease as over, in milliseconds. */
const LEASE_MARGIN_MS = 2_000
/** Pause of an endpoint after an error of this side, such as of the database, in milliseconds. */
const PAUSE_MS = 1_000
/** How long attempts may still take when the process stops, in milliseconds. */
const STOP_PATIENCE_MS = 3_000

/** What delivering webhooks needs. */
export interface WebhookDeliveryDependencies {
  readonly database: RawQueries
  readonly news: EventNews
  readonly complete: CompleteEvents
  /** URLs of the wallet addresses that an event concerns. */
  readonly walletAddressesOf: (event: ToldEvent) => readonly string[]
  readonly client: PostClient
  readonly secrets: SecretBox
  readonly now: () => number
  readonly logger: Logger
  readonly onAttempt: (result: AttemptResult) => void
  readonly onFailed: () => void
}

/** An endpoint that this process holds. */
interface Held {
  /** Until when this process may post to it, as `performance.now()` counts. */
  untilMs: number
  readonly wakeUp: WakeUp
  isEnded: boolean
  ending: Promise<void>
}

/**
 * Delivers events to the endpoints that this process holds. Processes share the endpoints by leases; one that dies is replaced
 * after its leases end. Each endpoint has its own loop, so that none waits for another.
 */
export class WebhookDelivery implements Part {
  readonly name = 'webhook delivery'
  readonly #dependencies: WebhookDeliveryDependencies
  readonly #holder = randomUUID()
  readonly #held = new Map<string, Held>()
  readonly #source: EventSource
  readonly #stopping = new AbortController()
  readonly #impatience = new AbortController()
  readonly #leasing: Worker
  readonly #following: Promise<void>
  readonly #record: (progress: Progress) => Promise<boolean>
  #newestNumber = 0n

  /** Starts. */
  constructor(dependencies: WebhookDeliveryDependencies) {
    const { database, complete, logger, onFailed, now } = dependencies
    this.#dependencies = dependencies
    // Every running attempt listens.
    setMaxListeners(0, this.#impatience.signal)
    this.#source = createEventSource(database, complete)
    this.#record = writeTogether(async (progress: readonly Progress[]) => {
      const recorded = await recordProgress(database, this.#holder, progress, now())
      return progress.map(({ endpointId }) => recorded.has(endpointId))
    })
    this.#leasing = startWorker({
      name: 'webhook leases',
      pollMs: LEASE_INTERVAL_MS,
      logger,
      onBatchFailed: onFailed,
      runBatch: () => this.#lease()
    })
    this.#following = this.#follow()
  }

  /** Lets running attempts end for some seconds, and gives the leases back. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#leasing.stop()
    await this.#following
    for (const lease of this.#held.values()) end(lease)
    const timer = setTimeout(() => {
      this.#impatience.abort(new Error('the process stops'))
    }, STOP_PATIENCE_MS)
    const ids = [...this.#held.keys()]
    await Promise.all([...this.#held.values()].map(({ ending }) => ending))
    clearTimeout(timer)
    await releaseEndpoints(this.#dependencies.database, this.#holder, ids)
  }

  async #lease(): Promise<boolean> {
    const { database } = this.#dependencies
    const untilMs = performance.now() + LEASE_SECONDS * 1_000 - LEASE_MARGIN_MS
    const heldIds = [...this.#held.keys()]
    const { renewed, leased } = await leaseEndpoints(database, this.#holder, heldIds)
    for (const id of heldIds) {
      const lease = this.#held.get(id)
      if (lease === undefined) continue
      if (renewed.has(id)) lease.untilMs = untilMs
      else end(lease)
    }
    if (leased.length > 0) this.#newestNumber = await readNewestNumber(database)
    for (const endpoint of leased) if (!this.#held.has(endpoint.id)) this.#hold(endpoint, untilMs)
    return leased.length === LEASED_TOGETHER_MAX
  }

  /** Learns of new events, while there are endpoints to tell. */
  async #follow(): Promise<void> {
    const { database, news, logger, onFailed } = this.#dependencies
    while (!this.#stopping.signal.aborted) {
      const published = news.next(this.#stopping.signal)
      try {
        if (this.#held.size > 0) this.#newestNumber = await readNewestNumber(database)
        for (const { wakeUp } of this.#held.values()) wakeUp.wake()
      } catch (error) {
        onFailed()
        logger.error({ err: error }, 'new events cannot be looked for')
      }
      await published
    }
  }

  #hold(endpoint: LeasedEndpoint, untilMs: number): void {
    const lease: Held = { untilMs, wakeUp: new WakeUp(), isEnded: false, ending: Promise.resolve() }
    this.#held.set(endpoint.id, lease)
    lease.ending = this.#deliverTo(endpoint, lease)
      .catch(async (error: unknown) => {
        this.#dependencies.onFailed()
        this.#dependencies.logger.error(
          { err: error, endpointId: endpoint.id },
          'delivery to a webhook endpoint failed'
        )
        if (lease.isEnded) return
        await lease.wakeUp.within(PAUSE_MS)
        await this.#giveUp(endpoint.id)
      })
      .finally(() => {
        // Taken again, by whoever comes first, with what is stored of it.
        this.#held.delete(endpoint.id)
      })
  }

  /** Gives a lease back; if the database cannot be reached, it ends by itself. */
  async #giveUp(id: string): Promise<void> {
    const { database, logger } = this.#dependencies
    try {
      await releaseEndpoints(database, this.#holder, [id])
    } catch (error) {
      logger.warn({ err: error, endpointId: id }, 'the lease of a webhook endpoint is not given back')
    }
  }

  async #deliverTo(endpoint: LeasedEndpoint, lease: Held): Promise<void> {
    const { secrets, walletAddressesOf, onAttempt, now } = this.#dependencies
    const opened = await Promise.all(
      endpoint.sealedSecrets.map(async ({ sealed, untilMs = Infinity }) => ({
        secret: await secrets.open(endpoint.id, sealed),
        untilMs
      }))
    )
    const attempt = async (event: ToldEvent): Promise<AttemptResult | undefined> => {
      const { signal } = this.#impatience
      const signing = opened.filter(({ untilMs }) => now() < untilMs)
      const target = { url: endpoint.url, secrets: signing.map(({ secret }) => secret) }
      try {
        const result = await attemptDelivery(event, target, { ...this.#dependencies, signal })
        onAttempt(result)
        return result
      } catch (error) {
        if (signal.aborted) return undefined
        throw error
      }
    }
    const delivery = new EndpointDelivery(endpoint, {
      source: this.#source,
      attempt,
      wants: (event) => wants(endpoint, event, walletAddressesOf),
      record: this.#record,
      newestNumber: () => this.#newestNumber,
      isHeld: () => !lease.isEnded && performance.now() < lease.untilMs,
      now,
      random: Math.random
    })
    while (!lease.isEnded) {
      lease.wakeUp.expect()
      const nextAtMs = await delivery.deliver()
      if (nextAtMs === 'ended') return this.#giveUp(endpoint.id)
      await lease.wakeUp.within(nextAtMs === undefined ? undefined : nextAtMs - now())
    }
  }
}

function end(lease: Held): void {
  lease.isEnded = true
  lease.wakeUp.wake()
}

function wants(
  { types, walletAddress }: Pick<LeasedEndpoint, 'types' | 'walletAddress'>,
  event: ToldEvent,
  walletAddressesOf: WebhookDeliveryDependencies['walletAddressesOf']
): boolean {
  if (types.length > 0 && !types.includes(event.type)) return false
  return walletAddress === undefined || walletAddressesOf(event).includes(walletAddress)
}
