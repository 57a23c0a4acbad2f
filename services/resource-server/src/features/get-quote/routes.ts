import { sendResource } from '@open-payments-server/http-server'
import { isUuid } from '@open-payments-server/runtime'
import { Router } from 'express'
import type { Pool } from 'pg'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderQuote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach, requireVisible } from '../../domain/visibility.js'
import { createQuoteReader } from './repository.js'

/** What the route needs. */
export interface GetQuoteDeps {
  readonly pool: Pool
  readonly authorizer: RequestAuthorizer
  readonly urls: ResourceUrls
}

/** `GET /quotes/{id}`: `read` what the client created itself, `read-all` any. */
export function createGetQuoteRoutes(deps: GetQuoteDeps): Router {
  const router = Router({ caseSensitive: true })
  const reader = createQuoteReader(deps)
  router.get('/quotes/:id', async (request, response) => {
    const authorized = await deps.authorizer.authorize(request)
    requireReach(authorized, 'quote', 'read', undefined)
    const { id } = request.params
    const found = isUuid(id) ? await reader.find(id) : undefined
    const quote = requireVisible(authorized, 'quote', 'read', found)
    sendResource(request, response, renderQuote(quote, deps.urls), { updatedAtMs: quote.createdAtMs })
  })
  return router
}
