import { measuredText, readOptionalBody, requestParts } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import type { HolderAuthorizer } from '../../domain/authentication.js'
import type { ContinueGrantService } from './service.js'

/** Longest `interact_ref`, in characters: several times as long as those that are made. */
const REFERENCE_LENGTH_MAX = 256

const bodySchema = z.object({ interact_ref: measuredText(z.string().max(REFERENCE_LENGTH_MAX)).optional() })

/** `POST /continue/{id}` (interface 4.1, RFC 9635 §5). The body may be empty: then the client polls. */
export function continueGrantRoute(
  service: ContinueGrantService,
  holders: Pick<HolderAuthorizer, 'authorizeContinuation'>,
  publicUrl: string
): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const grant = await holders.authorizeContinuation(request.params.id, requestParts(request, publicUrl))
    const body = readOptionalBody(request, bodySchema, 'invalid_request')
    response.json(await service.continueGrant(grant, body?.interact_ref))
  }
}
