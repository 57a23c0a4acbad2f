import {
  type IncomingRequest,
  parseJsonObject,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { readIdempotencyKey } from '../../domain/payment-identity.js'
import { renderQuote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import { createQuoteStore } from '../../modules/quotes/index.js'
import { isFrozen } from '../../modules/wallet-addresses/index.js'
import { createQuote, type CreateQuoteDependencies } from './create-quote.js'
import { readOrder } from './request.js'

/** What the route needs. */
export interface CreateQuoteRouteDependencies extends Omit<CreateQuoteDependencies, 'store' | 'isFrozen'> {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly urls: ResourceUrls
}

/** `POST /quotes`. */
export function createQuoteRoute(dependencies: CreateQuoteRouteDependencies): Route {
  const service = {
    ...dependencies,
    store: createQuoteStore(dependencies),
    isFrozen: (id: string) => isFrozen(dependencies.database, id)
  }
  return {
    method: 'POST',
    path: '/quotes',
    handle: async (request, response) => {
      const authorized = await dependencies.authorizer.authorize(request)
      requireReach(authorized, 'quote', 'create', undefined)
      const idempotencyKey = readIdempotencyKey(request.get('idempotency-key'))
      const order = readOrder(parseJsonObject(authorized.body, request.get('content-type')))
      const quote = await createQuote({ authorized, order, idempotencyKey }, service)
      sendResource(request, response, renderQuote(quote, dependencies.urls), {
        status: 201,
        updatedAtMs: quote.createdAtMs,
        location: dependencies.urls.of('quotes', quote.id)
      })
    }
  }
}
