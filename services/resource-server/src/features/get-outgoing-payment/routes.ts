import type { HttpRequest, Route } from '@open-payments-server/http-server'
import {
  lastOutgoingPaymentEvent,
  type OutgoingPayment,
  outgoingPaymentEndsAtMs,
  renderOutgoingPayment
} from '../../domain/outgoing-payment.js'
import type { ChooseRepresentation } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import {
  createOutgoingPaymentReader,
  readToldOutgoingPayments
} from '../../modules/outgoing-payments/index.js'
import { type ServePayment, showPayment, type ShownPayment } from '../waitable-payments.js'

/** What the route needs. */
export interface GetOutgoingPaymentDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
  readonly chooseRepresentation: ChooseRepresentation<HttpRequest>
  readonly servePayment: ServePayment
}

/** `GET /outgoing-payments/{id}` (interface 4.5). */
export function getOutgoingPaymentRoute(dependencies: GetOutgoingPaymentDependencies): Route {
  const { database, urls, chooseRepresentation, servePayment } = dependencies
  const reader = createOutgoingPaymentReader(dependencies)
  const show = (payment: OutgoingPayment | undefined): ShownPayment | undefined =>
    payment &&
    showPayment(
      {
        ...payment,
        endsAtMs: outgoingPaymentEndsAtMs(payment),
        lastEventType: lastOutgoingPaymentEvent(payment)
      },
      (representation) => renderOutgoingPayment(payment, urls, representation)
    )
  return {
    method: 'GET',
    path: '/outgoing-payments/:id',
    handle: servePayment({
      type: 'outgoing-payment',
      reader: { find: async (id) => show(await reader.find(id)) },
      readTold: async (events) => (await readToldOutgoingPayments(database, events, urls)).map(show),
      representationOf: chooseRepresentation,
      vary: 'Accept'
    })
  }
}
