import { sendResource, type Route } from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import { chooseRepresentation, type RepresentationSetting } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { readVisible } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import { createOutgoingPaymentReader } from '../../modules/outgoing-payments/index.js'

/** What the route needs. */
export interface GetOutgoingPaymentDeps {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer
  readonly urls: ResourceUrls
  readonly representation: RepresentationSetting
}

/** `GET /outgoing-payments/{id}` (interface 4.5). */
export function createGetOutgoingPaymentRoute(deps: GetOutgoingPaymentDeps): Route {
  const read = {
    authorizer: deps.authorizer,
    type: 'outgoing-payment',
    reader: createOutgoingPaymentReader(deps)
  } as const
  return {
    method: 'GET',
    path: '/outgoing-payments/:id',
    handle: async (request, response) => {
      const payment = await readVisible(request, request.param('id'), read)
      const representation = chooseRepresentation(request.get('accept'), deps.representation)
      sendResource(request, response, renderOutgoingPayment(payment, deps.urls, representation), {
        updatedAtMs: payment.updatedAtMs,
        vary: 'Accept'
      })
    }
  }
}
