import {
  type HttpRequest,
  type IncomingRequest,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { ChooseRepresentation } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import { completeIncomingPayment } from './complete-incoming-payment.js'

/** What the route needs. */
export interface CompleteIncomingPaymentRouteDependencies {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly chooseRepresentation: ChooseRepresentation<HttpRequest>
  readonly counters: Pick<PaymentCounters, 'countIncomingCompleted'>
}

/** `POST /incoming-payments/{id}/complete` (interface 4.6). */
export function completeIncomingPaymentRoute(dependencies: CompleteIncomingPaymentRouteDependencies): Route {
  return {
    method: 'POST',
    path: '/incoming-payments/:id/complete',
    storesRows: false,
    handle: async (request, response) => {
      const authorized = await dependencies.authorizer.authorize(request)
      const payment = await completeIncomingPayment(authorized, request.param('id'), dependencies)
      const representation = dependencies.chooseRepresentation(request)
      sendResource(request, response, renderIncomingPayment(payment, dependencies.urls, representation), {
        updatedAtMs: payment.updatedAtMs,
        vary: 'Accept'
      })
    }
  }
}
