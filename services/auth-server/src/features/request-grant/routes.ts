import {
  parseJsonObject,
  rawBody,
  requestParts,
  validate,
  type RouteHandler
} from '@open-payments-server/http-server'
import type { ClientAuthenticator } from '../authentication.js'
import { grantRequestSchema } from './request.js'
import type { RequestGrantService } from './request-grant.js'

/** `POST /`: a grant request (RFC 9635 §2). */
export function requestGrantRoute(
  service: RequestGrantService,
  authenticator: Pick<ClientAuthenticator, 'receive'>,
  publicUrl: string
): RouteHandler {
  return async (request, response) => {
    const signature = authenticator.receive(requestParts(request, publicUrl))
    const body = parseJsonObject(rawBody(request), request.get('content-type'))
    const grantRequest = validate(grantRequestSchema, body)
    response.sendJson(200, await service.requestGrant(grantRequest, signature))
  }
}
