import {
  type IncomingRequest,
  parseJsonObject,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderCreatedIncomingPayment } from '../../domain/incoming-payment.js'
import { readIdempotencyKey } from '../../domain/payment-identity.js'
import type { PaymentMethods } from '../../domain/payment-methods.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import { createIncomingPaymentStore } from '../../modules/incoming-payments/index.js'
import { isFrozen } from '../../modules/wallet-addresses/index.js'
import { createIncomingPayment, type CreateIncomingPaymentDependencies } from './create-incoming-payment.js'
import { readOrder } from './request.js'

/** What the route needs. */
export interface CreateIncomingPaymentRouteDependencies extends Omit<
  CreateIncomingPaymentDependencies,
  'store' | 'isFrozen'
> {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly urls: ResourceUrls
  readonly methods: PaymentMethods
}

/** `POST /incoming-payments` (interface 4.4). */
export function createIncomingPaymentRoute(dependencies: CreateIncomingPaymentRouteDependencies): Route {
  const service = {
    ...dependencies,
    store: createIncomingPaymentStore(dependencies),
    isFrozen: (id: string) => isFrozen(dependencies.database, id)
  }
  return {
    method: 'POST',
    path: '/incoming-payments',
    handle: async (request, response) => {
      const authorized = await dependencies.authorizer.authorize(request)
      requireReach(authorized, 'incoming-payment', 'create', undefined)
      const idempotencyKey = readIdempotencyKey(request.get('idempotency-key'))
      const body = parseJsonObject(authorized.body, request.get('content-type'))
      const order = readOrder(body, dependencies.clock.now())
      const payment = await createIncomingPayment({ authorized, order, idempotencyKey }, service)
      sendResource(request, response, renderCreatedIncomingPayment(payment, dependencies), {
        status: 201,
        updatedAtMs: payment.createdAtMs,
        location: dependencies.urls.of('incoming-payments', payment.id)
      })
    }
  }
}
