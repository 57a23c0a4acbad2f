import { readOptionalBody, requestParts, type RouteHandler } from '@open-payments-server/http-server'
import { measuredText } from '@open-payments-server/value-types/schemas'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import type { HolderAuthorizer } from '../authentication.js'
import type { CancelGrantService } from './cancel-grant.js'
import type { RejectGrantService } from './reject-grant.js'

/** `DELETE /continue/{id}`: the client cancels its grant (RFC 9635 §5.4). Idempotent. */
export function cancelGrantRoute(
  service: CancelGrantService,
  holders: Pick<HolderAuthorizer, 'authorizeContinuation'>,
  publicUrl: string
): RouteHandler {
  return async (request, response) => {
    const grant = await holders.authorizeContinuation(request.param('id'), requestParts(request, publicUrl))
    await service.cancelGrant(grant.id)
    response.sendEmpty(204)
  }
}

/** Maximum length of a reason, in characters. */
const REASON_LENGTH_MAX = 500

/** Characters that would change the surrounding text, or a log. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** What an identity provider may tell with a refusal. */
export const rejectionSchema = z.object({
  reason: measuredText(z.string().min(1).max(REASON_LENGTH_MAX))
    .refine((text) => !CONTROLS.test(text), { message: 'expected one line without control characters' })
    .optional()
})

/** `POST /grant/{id}/{nonce}/reject` for identity providers: the account holder declines. May carry JSON `{ reason }`. */
export function rejectGrantRoute(service: RejectGrantService): RequestHandler<{ id: string; nonce: string }> {
  return async (request, response) => {
    const body = readOptionalBody(request, rejectionSchema)
    await service.rejectGrant(request.params.id, request.params.nonce, body?.reason)
    response.status(202).end()
  }
}
