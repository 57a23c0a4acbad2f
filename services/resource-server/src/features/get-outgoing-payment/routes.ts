import {
  type HttpRequest,
  type IncomingRequest,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ChooseRepresentation } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { readVisible } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import { createOutgoingPaymentReader } from '../../modules/outgoing-payments/index.js'

/** What the route needs. */
export interface GetOutgoingPaymentDependencies {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly urls: ResourceUrls
  readonly chooseRepresentation: ChooseRepresentation<HttpRequest>
}

/** `GET /outgoing-payments/{id}` (interface 4.5). */
export function getOutgoingPaymentRoute(dependencies: GetOutgoingPaymentDependencies): Route {
  const read = {
    authorizer: dependencies.authorizer,
    type: 'outgoing-payment',
    reader: createOutgoingPaymentReader(dependencies)
  } as const
  return {
    method: 'GET',
    path: '/outgoing-payments/:id',
    handle: async (request, response) => {
      const payment = await readVisible(request, request.param('id'), read)
      const representation = dependencies.chooseRepresentation(request)
      sendResource(request, response, renderOutgoingPayment(payment, dependencies.urls, representation), {
        updatedAtMs: payment.updatedAtMs,
        vary: 'Accept'
      })
    }
  }
}
