import {
  measuredText,
  readOptionalBody,
  requestParts,
  type RouteHandler
} from '@open-payments-server/http-server'
import { z } from 'zod'
import type { HolderAuthorizer } from '../../domain/authentication.js'
import type { ContinueGrantService } from './continue-grant.js'

/** Longest `interact_ref`, in characters: several times as long as those that are made. */
const REFERENCE_LENGTH_MAX = 256

const bodySchema = z.object({ interact_ref: measuredText(z.string().max(REFERENCE_LENGTH_MAX)).optional() })

/** `POST /continue/{id}` (interface 4.1, RFC 9635 §5). The body may be empty: then the client polls. */
export function continueGrantRoute(
  service: ContinueGrantService,
  holders: Pick<HolderAuthorizer, 'authorizeContinuation'>,
  publicUrl: string
): RouteHandler {
  return async (request, response) => {
    const grant = await holders.authorizeContinuation(request.param('id'), requestParts(request, publicUrl))
    const body = readOptionalBody(request, bodySchema, 'invalid_request')
    response.sendJson(200, await service.continueGrant(grant, body?.interact_ref))
  }
}
