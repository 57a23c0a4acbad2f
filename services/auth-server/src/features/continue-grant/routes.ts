import { readOptionalBody, requestParts, type RouteHandler } from '@open-payments-server/http-server'
import { measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'
import type { HolderAuthorizer } from '../authentication.js'
import type { ContinueGrantService } from './continue-grant.js'

/** Maximum length of `interact_ref`, in characters: several times the length of those that are issued. */
const REFERENCE_LENGTH_MAX = 256

/** What a client continues a grant with. */
export const continuationSchema = z.object({
  interact_ref: measuredText(z.string().max(REFERENCE_LENGTH_MAX)).optional()
})

/** `POST /continue/{id}` (interface 4.1, RFC 9635 §5). The body may be empty: then the client polls. */
export function continueGrantRoute(
  service: ContinueGrantService,
  holders: Pick<HolderAuthorizer, 'authorizeContinuation'>,
  publicUrl: string
): RouteHandler {
  return async (request, response) => {
    const grant = await holders.authorizeContinuation(request.param('id'), requestParts(request, publicUrl))
    const body = readOptionalBody(request, continuationSchema)
    response.sendJson(200, await service.continueGrant(grant, body?.interact_ref))
  }
}
