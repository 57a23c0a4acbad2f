import { sendResource, type Route } from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderQuote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { readVisible } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import { createQuoteReader } from '../../modules/quotes/index.js'

/** What the route needs. */
export interface GetQuoteDeps {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer
  readonly urls: ResourceUrls
}

/** `GET /quotes/{id}`: `read` what the client created itself, `read-all` any of the account holder who agreed to it. */
export function createGetQuoteRoute(deps: GetQuoteDeps): Route {
  const read = { authorizer: deps.authorizer, type: 'quote', reader: createQuoteReader(deps) } as const
  return {
    method: 'GET',
    path: '/quotes/:id',
    handle: async (request, response) => {
      const quote = await readVisible(request, request.param('id'), read)
      sendResource(request, response, renderQuote(quote, deps.urls), { updatedAtMs: quote.createdAtMs })
    }
  }
}
