import {
  parseJsonObject,
  rawBody,
  requestParts,
  type Route,
  validate
} from '@open-payments-server/http-server'
import type { ClientAuthenticator } from '../authentication.js'
import type { Queries } from '../../modules/database.js'
import { createBeginGrant } from './begin-grants.js'
import { requestGrant, type RequestGrantDependencies } from './request-grant.js'
import { grantRequestSchema } from './request.js'

/** What the route needs. */
export interface RequestGrantRouteDependencies extends Omit<RequestGrantDependencies, 'beginGrant'> {
  readonly database: Queries
  readonly authenticator: Pick<ClientAuthenticator, 'receive' | 'verify' | 'importKey'>
  readonly publicUrl: string
}

/** `POST /`: a grant request (RFC 9635 §2). */
export function requestGrantRoute(dependencies: RequestGrantRouteDependencies): Route {
  const { authenticator, publicUrl } = dependencies
  const service = { ...dependencies, beginGrant: createBeginGrant(dependencies) }
  return {
    method: 'POST',
    path: '/',
    handle: async (request, response) => {
      const signature = authenticator.receive(requestParts(request, publicUrl))
      const body = parseJsonObject(rawBody(request), request.get('content-type'))
      const grantRequest = validate(grantRequestSchema, body)
      response.sendJson(200, await requestGrant({ grantRequest, signature }, service))
    }
  }
}
