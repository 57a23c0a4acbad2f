import { sendResource } from '@open-payments-server/http-server'
import { Router } from 'express'
import type { Pool } from 'pg'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import { chooseRepresentation, type RepresentationSetting } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { readVisible } from '../../domain/visibility.js'
import { createOutgoingPaymentReader } from './repository.js'

/** What the route needs. */
export interface GetOutgoingPaymentDeps {
  readonly pool: Pool
  readonly authorizer: RequestAuthorizer
  readonly urls: ResourceUrls
  readonly representation: RepresentationSetting
}

/** `GET /outgoing-payments/{id}` (interface 4.5). */
export function createGetOutgoingPaymentRoutes(deps: GetOutgoingPaymentDeps): Router {
  const router = Router({ caseSensitive: true })
  const read = {
    authorizer: deps.authorizer,
    type: 'outgoing-payment',
    reader: createOutgoingPaymentReader(deps)
  } as const
  router.get('/outgoing-payments/:id', async (request, response) => {
    const payment = await readVisible(request, request.params.id, read)
    const representation = chooseRepresentation(request.get('accept'), deps.representation)
    sendResource(request, response, renderOutgoingPayment(payment, deps.urls, representation), {
      updatedAtMs: payment.updatedAtMs,
      vary: ['Accept']
    })
  })
  return router
}
