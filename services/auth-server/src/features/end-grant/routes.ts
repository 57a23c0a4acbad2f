import { readOptionalBody, requestParts, type Route } from '@open-payments-server/http-server'
import { measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'
import type { HolderAuthorizer } from '../authentication.js'
import type { IdentityProviderRoute } from '../identity-provider-route.js'
import { cancelGrant } from './cancel-grant.js'
import type { RevokeGrantDependencies } from './end-grant.js'
import { rejectGrant, type RejectGrantDependencies } from './reject-grant.js'

/** What the client's route needs. */
export interface CancelGrantRouteDependencies extends RevokeGrantDependencies {
  readonly holders: Pick<HolderAuthorizer, 'authorizeContinuation'>
  readonly publicUrl: string
}

/** `DELETE /continue/{id}`: the client cancels its grant (RFC 9635 §5.4). Idempotent. */
export function cancelGrantRoute(dependencies: CancelGrantRouteDependencies): Route {
  const { holders, publicUrl } = dependencies
  return {
    method: 'DELETE',
    path: '/continue/:id',
    handle: async (request, response) => {
      const grant = await holders.authorizeContinuation(request.param('id'), requestParts(request, publicUrl))
      await cancelGrant(grant.id, dependencies)
      response.sendEmpty(204)
    }
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
export function rejectGrantRoute(dependencies: RejectGrantDependencies): IdentityProviderRoute {
  return {
    method: 'POST',
    path: '/grant/:id/:nonce/reject',
    handle: async (request, response) => {
      const { id, nonce } = request.params
      const body = readOptionalBody(request, rejectionSchema)
      await rejectGrant({ id, nonce, reason: body?.reason }, dependencies)
      response.status(202).end()
    }
  }
}
