import { parseJsonObject, sendResource, type Route } from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderCreatedOutgoingPayment } from '../../domain/outgoing-payment.js'
import { identifyPayment, readIdempotencyKey } from '../../domain/payment-identity.js'
import type { RememberedReceivers } from '../../domain/receiver.js'
import { requireReach } from '../../domain/visibility.js'
import { createPayableQuotes } from '../../modules/quotes/index.js'
import { createOutgoingPayment, type CreateOutgoingPaymentDeps } from './create-outgoing-payment.js'
import { createPersist } from './persist.js'
import { readOrder } from './request.js'

/** What the route needs. */
export interface CreateOutgoingPaymentRouteDeps extends Omit<
  CreateOutgoingPaymentDeps,
  'persist' | 'quotes' | 'receivers'
> {
  readonly rememberedReceivers: RememberedReceivers
  readonly authorizer: RequestAuthorizer
}

/** `POST /outgoing-payments` (interface 4.3). */
export function createOutgoingPaymentRoute(deps: CreateOutgoingPaymentRouteDeps): Route {
  const service: CreateOutgoingPaymentDeps = {
    ...deps,
    persist: createPersist(deps),
    quotes: createPayableQuotes(deps),
    receivers: deps.rememberedReceivers
  }
  return {
    method: 'POST',
    path: '/outgoing-payments',
    handle: async (request, response) => {
      const authorized = await deps.authorizer.authorize(request)
      requireReach(authorized, 'outgoing-payment', 'create', undefined)
      const idempotencyKey = readIdempotencyKey(request.get('idempotency-key'))
      const order = readOrder(parseJsonObject(authorized.body, request.get('content-type'), '400'))
      const identity = identifyPayment(authorized, idempotencyKey, {
        method: request.method,
        path: request.path
      })
      const payment = await createOutgoingPayment({ authorized, order, identity }, service)
      sendResource(request, response, renderCreatedOutgoingPayment(payment, deps.urls), {
        status: 201,
        updatedAtMs: payment.createdAtMs,
        location: deps.urls.of('outgoing-payments', payment.id)
      })
    }
  }
}
