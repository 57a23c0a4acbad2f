import {
  type HttpRequest,
  type RenderedResource,
  renderResource,
  type RouteHandler
} from '@open-payments-server/http-server'
import type { EventType } from '../domain/event-types.js'
import type { Representation } from '../domain/representation.js'
import type { Owned, ReadableType } from '../domain/visibility.js'
import type { StoredEvent } from '../modules/events/index.js'

/** A payment as it is at one moment, ready to be shown to those who may see it. */
export interface ShownPayment extends Owned {
  /** Id (UUID). */
  readonly id: string
  readonly updatedAtMs: number
  /** From when nothing of it changes any more, in milliseconds since the Unix epoch; infinite while nobody knows. */
  readonly endsAtMs: number
  /** What happened to it last, as far as it can be told from the payment itself. */
  readonly lastEventType: EventType
  /** Its JSON: written once for all who look at it. */
  render(representation: Representation): RenderedResource
}

/** A kind of payment that clients can read, and wait for. */
export interface WaitableKind extends ReadableType<ShownPayment> {
  /** Reads payments as they were when something happened to them: undefined for one that is no longer kept. */
  readonly readTold: (events: readonly StoredEvent[]) => Promise<readonly (ShownPayment | undefined)[]>
  readonly representationOf: (request: HttpRequest) => Representation
  /** Request headers that its answers depend on, besides `Prefer`. */
  readonly vary: string
}

/**
 * Creates the handler of `GET` of one payment, for clients with a token: answers at once, after a change (`Prefer: wait`), or with
 * a stream of events (`Accept: text/event-stream`).
 */
export type ServePayment = (kind: WaitableKind) => RouteHandler

/** Makes a payment ready to be shown. */
export function showPayment(
  payment: Omit<ShownPayment, 'render'>,
  toResource: (representation: Representation) => object
): ShownPayment {
  const rendered: Partial<Record<Representation, RenderedResource>> = {}
  const { id, walletAddressUrl, client, updatedAtMs, endsAtMs, lastEventType } = payment
  return {
    id,
    walletAddressUrl,
    client,
    updatedAtMs,
    endsAtMs,
    lastEventType,
    render: (representation) => (rendered[representation] ??= renderResource(toResource(representation)))
  }
}
