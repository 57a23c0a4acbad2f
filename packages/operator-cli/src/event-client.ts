import { setTimeout as delay } from 'node:timers/promises'
import {
  callUnary,
  type ChannelOptions,
  createClient,
  readStream,
  RpcError,
  status
} from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import type { EventfulService } from './eventful-service.js'
import { type Listed, PAGE_SIZE_MAX } from './messages.js'

/** How long a service that was reached may be away, in milliseconds: longer than its only replica takes to be replaced. */
const PATIENCE_MS = 60_000
/** How soon a stream that was cut off is opened again, in milliseconds. */
const RETRY_AFTER_MS = 500

/** An event of a service. */
export interface OperatorEvent {
  readonly id: string
  readonly type: string
  readonly time: Date | undefined
  /** URL of the resource that it tells of. */
  readonly subject: string
  /** Increases from each event of its subject to the next. */
  readonly sequence: bigint
  /** The resource as its API showed it then. */
  readonly data: unknown
  /** Where a reader stands after it. */
  readonly cursor: string
  /** The trace of the statement that committed it (W3C Trace Context); undefined outside of any. */
  readonly traceparent: string | undefined
}

/** Why a reader must read the state of everything anew: undefined unless it must. */
export type OperatorResync = 'events_lost' | 'events_expired'

/** Reads the events of both services. */
export class EventClient {
  readonly #clients: Readonly<Record<EventfulService, events.EventServiceClient>>
  readonly #naming: (service: EventfulService) => (error: unknown) => never

  /** @param naming names the service in the error of a call that it could not be asked */
  constructor(
    optionsFor: (service: EventfulService) => ChannelOptions,
    naming: (service: EventfulService) => (error: unknown) => never
  ) {
    const connect = (service: EventfulService) => createClient(events.EventServiceClient, optionsFor(service))
    this.#clients = { 'auth-server': connect('auth-server'), 'resource-server': connect('resource-server') }
    this.#naming = naming
  }

  /** Closes the connections. */
  close(): void {
    for (const client of Object.values(this.#clients)) client.close()
  }

  /**
   * Lists events of a service, in the order of their commits.
   *
   * @param query.after a cursor; undefined for the oldest event that is kept
   */
  async list(
    service: EventfulService,
    { after, limit }: { readonly after: string | undefined; readonly limit: number }
  ): Promise<Listed<OperatorEvent> & { readonly resync: OperatorResync | undefined }> {
    const items: OperatorEvent[] = []
    let resync: OperatorResync | undefined
    let afterCursor = after ?? ''
    for (;;) {
      const pageSize = Math.min(limit - items.length, PAGE_SIZE_MAX)
      const request = { afterCursor, types: [], pageSize }
      const page = await callUnary(this.#clients[service], 'listEvents', request, { idempotent: true }).catch(
        this.#naming(service)
      )
      resync ??= resyncOf(page.resyncCause)
      items.push(...page.events.map(eventOf))
      afterCursor = page.cursor
      if (page.events.length < pageSize) return { items, more: false, resync }
      if (items.length >= limit) return { items, more: true, resync }
    }
  }

  /**
   * Tells of the events of a service from now on, until the signal ends it. No connection lasts for ever, and replicas are replaced:
   * where a stream is cut off, it reads on from its last cursor.
   *
   * @throws as every call, when the service cannot be reached at first, or for {@link PATIENCE_MS} later
   */
  async *watch(service: EventfulService, signal: AbortSignal): AsyncGenerator<OperatorEvent, void> {
    let afterCursor = ''
    let heardAtMs = -Infinity
    const isOver = (): boolean => signal.aborted
    while (!isOver()) {
      const request = { afterCursor, types: [], onlyNew: afterCursor === '' }
      try {
        for await (const { message } of readStream(this.#clients[service], 'watchEvents', request, {
          signal
        })) {
          if (message === undefined) continue
          heardAtMs = performance.now()
          afterCursor = message.value.cursor
          if (message.$case === 'event') yield eventOf(message.value)
        }
      } catch (error) {
        const isCutOff = error instanceof RpcError && error.code === status.UNAVAILABLE
        const isPatient = isCutOff && performance.now() - heardAtMs < PATIENCE_MS
        if (!isPatient && !isOver()) this.#naming(service)(error)
        await delay(RETRY_AFTER_MS, undefined, { signal }).catch(() => undefined) // it is over
      }
    }
  }
}

function eventOf({ traceparent, data, ...event }: events.Event): OperatorEvent {
  return {
    ...event,
    data: JSON.parse(data) as unknown,
    traceparent: traceparent === '' ? undefined : traceparent
  }
}

function resyncOf(cause: events.ResyncCause): OperatorResync | undefined {
  if (cause === events.ResyncCause.RESYNC_CAUSE_EVENTS_LOST) return 'events_lost'
  if (cause === events.ResyncCause.RESYNC_CAUSE_EVENTS_EXPIRED) return 'events_expired'
  return undefined
}
