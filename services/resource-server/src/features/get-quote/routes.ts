import { type IncomingRequest, type Route, sendResource } from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderQuote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { readVisible } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import { createQuoteReader } from '../../modules/quotes/index.js'

/** What the route needs. */
export interface GetQuoteDependencies {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly urls: ResourceUrls
}

/**
 * `GET /quotes/{id}`: with `read` what the client created itself, with `read-all` any quote of the account holder who
 * consented.
 */
export function getQuoteRoute(dependencies: GetQuoteDependencies): Route {
  const read = {
    authorizer: dependencies.authorizer,
    type: 'quote',
    reader: createQuoteReader(dependencies)
  } as const
  return {
    method: 'GET',
    path: '/quotes/:id',
    handle: async (request, response) => {
      const quote = await readVisible(request, request.param('id'), read)
      sendResource(request, response, renderQuote(quote, dependencies.urls), {
        updatedAtMs: quote.createdAtMs
      })
    }
  }
}
