import { parseJsonObject, sendResource, type Route } from '@open-payments-server/http-server'
import type { Pool } from 'pg'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderCreatedOutgoingPayment } from '../../domain/outgoing-payment.js'
import { identifyPayment, readIdempotencyKey } from '../../domain/payment-identity.js'
import type { RememberedReceivers } from '../../domain/receiver.js'
import { requireReach } from '../../domain/visibility.js'
import { createOutgoingPayment, type CreateOutgoingPaymentDeps } from './create-outgoing-payment.js'
import { createOutgoingPaymentRepository } from './repository.js'
import { readOrder } from './request.js'

/** What the route needs. */
export interface CreateOutgoingPaymentRouteDeps extends Omit<
  CreateOutgoingPaymentDeps,
  'repository' | 'receivers'
> {
  readonly rememberedReceivers: RememberedReceivers
  readonly pool: Pool
  readonly authorizer: RequestAuthorizer
}

/** `POST /outgoing-payments` (interface 4.3). */
export function createOutgoingPaymentRoute(deps: CreateOutgoingPaymentRouteDeps): Route {
  const service: CreateOutgoingPaymentDeps = {
    ...deps,
    repository: createOutgoingPaymentRepository(deps),
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
