import { readOptionalBody, requestParts, type Route } from '@open-payments-server/http-server'
import { measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'
import type { HolderAuthorizer } from '../authentication.js'
import { continueGrant, type ContinueGrantDependencies } from './continue-grant.js'

/** What the route needs. */
export interface ContinueGrantRouteDependencies extends ContinueGrantDependencies {
  readonly holders: Pick<HolderAuthorizer, 'authorizeContinuation'>
  readonly publicUrl: string
}

/** Maximum length of `interact_ref`, in characters: several times the length of those that are issued. */
const REFERENCE_LENGTH_MAX = 256

/** What a client continues a grant with. */
export const continuationSchema = z.object({
  interact_ref: measuredText(z.string().max(REFERENCE_LENGTH_MAX)).optional()
})

/** `POST /continue/{id}` (interface 4.1, RFC 9635 §5). The body may be empty: then the client polls. */
export function continueGrantRoute(dependencies: ContinueGrantRouteDependencies): Route {
  const { holders, publicUrl } = dependencies
  return {
    method: 'POST',
    path: '/continue/:id',
    // Adds at most one token to a grant.
    storesRows: false,
    handle: async (request, response) => {
      const grant = await holders.authorizeContinuation(request.param('id'), requestParts(request, publicUrl))
      const body = readOptionalBody(request, continuationSchema)
      const continuation = { grant, interactionReference: body?.interact_ref }
      response.sendJson(200, await continueGrant(continuation, dependencies))
    }
  }
}
