import {
  type IncomingRequest,
  parseJsonObject,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderCreatedOutgoingPayment } from '../../domain/outgoing-payment.js'
import { identifyPayment, readIdempotencyKey } from '../../domain/payment-identity.js'
import type { RememberedReceivers } from '../../domain/receiver.js'
import { requireReach } from '../../domain/visibility.js'
import type { AnsweredPayments } from '../../domain/answered-payments.js'
import { createPayableQuotes } from '../../modules/quotes/index.js'
import { createOutgoingPayment, type CreateOutgoingPaymentDependencies } from './create-outgoing-payment.js'
import { createPersist } from './persist.js'
import { readOrder } from './request.js'

/** What the route needs. */
export interface CreateOutgoingPaymentRouteDependencies extends Omit<
  CreateOutgoingPaymentDependencies,
  'persist' | 'quotes' | 'receivers'
> {
  /** Remembers what clients were told of. */
  readonly answeredPayments: Pick<AnsweredPayments, 'remember'>
  /** How long a payment awaits approval. */
  readonly approvalTimeoutSeconds: number
  readonly rememberedReceivers: RememberedReceivers
  readonly authorizer: RequestAuthorizer<IncomingRequest>
}

/** `POST /outgoing-payments` (interface 4.3). */
export function createOutgoingPaymentRoute(dependencies: CreateOutgoingPaymentRouteDependencies): Route {
  const service: CreateOutgoingPaymentDependencies = {
    ...dependencies,
    persist: createPersist(dependencies),
    quotes: createPayableQuotes(dependencies),
    receivers: dependencies.rememberedReceivers
  }
  return {
    method: 'POST',
    path: '/outgoing-payments',
    handle: async (request, response) => {
      const authorized = await dependencies.authorizer.authorize(request)
      requireReach(authorized, 'outgoing-payment', 'create', undefined)
      const idempotencyKey = readIdempotencyKey(request.get('idempotency-key'))
      const order = readOrder(parseJsonObject(authorized.body, request.get('content-type')))
      const identity = identifyPayment(authorized, idempotencyKey, {
        method: request.method,
        path: request.path
      })
      const payment = await createOutgoingPayment({ authorized, order, identity }, service)
      dependencies.answeredPayments.remember(payment.id)
      sendResource(request, response, renderCreatedOutgoingPayment(payment, dependencies.urls), {
        status: 201,
        updatedAtMs: payment.createdAtMs,
        location: dependencies.urls.of('outgoing-payments', payment.id)
      })
    }
  }
}
