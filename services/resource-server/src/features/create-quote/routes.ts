import { parseJsonObject, sendResource } from '@open-payments-server/http-server'
import { Router } from 'express'
import type { Pool } from 'pg'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { readIdempotencyKey } from '../../domain/payment-identity.js'
import { renderQuote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import { createQuote, type CreateQuoteDeps } from './create-quote.js'
import { createQuoteRepository } from './repository.js'
import { readOrder } from './request.js'

/** What the route needs. */
export interface CreateQuoteRouteDeps extends Omit<CreateQuoteDeps, 'repository'> {
  readonly pool: Pool
  readonly authorizer: RequestAuthorizer
  readonly urls: ResourceUrls
}

/** `POST /quotes`. */
export function createQuoteRoutes(deps: CreateQuoteRouteDeps): Router {
  const router = Router({ caseSensitive: true })
  const service = { ...deps, repository: createQuoteRepository(deps) }
  router.post('/quotes', async (request, response) => {
    const authorized = await deps.authorizer.authorize(request)
    requireReach(authorized, 'quote', 'create', undefined)
    const idempotencyKey = readIdempotencyKey(request.get('idempotency-key'))
    const order = readOrder(parseJsonObject(authorized.body, request.get('content-type'), '400'))
    const quote = await createQuote({ authorized, order, idempotencyKey }, service)
    sendResource(request, response, renderQuote(quote, deps.urls), {
      status: 201,
      updatedAtMs: quote.createdAtMs,
      location: deps.urls.of('quotes', quote.id)
    })
  })
  return router
}
