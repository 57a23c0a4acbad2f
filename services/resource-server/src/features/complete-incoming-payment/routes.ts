import { sendResource, type Route } from '@open-payments-server/http-server'
import type { Clock } from '@open-payments-server/runtime'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { chooseRepresentation, type RepresentationSetting } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import { completeIncomingPayment } from './complete-incoming-payment.js'

/** What the route needs. */
export interface CompleteIncomingPaymentRouteDeps {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly representation: RepresentationSetting
  readonly counters: Pick<PaymentCounters, 'countIncomingCompleted'>
}

/** `POST /incoming-payments/{id}/complete` (interface 4.6). */
export function createCompleteIncomingPaymentRoute(deps: CompleteIncomingPaymentRouteDeps): Route {
  return {
    method: 'POST',
    path: '/incoming-payments/:id/complete',
    handle: async (request, response) => {
      const authorized = await deps.authorizer.authorize(request)
      const payment = await completeIncomingPayment(authorized, request.param('id'), deps)
      const representation = chooseRepresentation(request.get('accept'), deps.representation)
      sendResource(request, response, renderIncomingPayment(payment, deps.urls, representation), {
        updatedAtMs: payment.updatedAtMs,
        vary: 'Accept'
      })
    }
  }
}
