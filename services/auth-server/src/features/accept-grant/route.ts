import type { RequestHandler } from 'express'
import type { AcceptGrantService } from './service.js'

/** `POST /grant/{id}/{nonce}/accept` for identity providers: the account holder agrees. */
export function acceptGrantRoute(service: AcceptGrantService): RequestHandler<{ id: string; nonce: string }> {
  return async (request, response) => {
    await service.acceptGrant(request.params.id, request.params.nonce)
    response.status(202).end()
  }
}
