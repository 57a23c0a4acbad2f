import { readOptionalBody } from '@open-payments-server/http-server'
import { z } from 'zod'
import type { IdentityProviderRoute } from '../identity-provider-route.js'
import { acceptGrant, type AcceptGrantDependencies } from './accept-grant.js'

const bodySchema = z.object({ finishCode: z.boolean().optional() })

/**
 * `POST /grant/{id}/{nonce}/accept` for identity providers: the account holder consents. With the JSON body `{
 * "finishCode": true }`, the answer has a `finishCode`, which the browser in which the consent was given must bring to
 * `finish`.
 */
export function acceptGrantRoute(dependencies: AcceptGrantDependencies): IdentityProviderRoute {
  return {
    method: 'POST',
    path: '/grant/:id/:nonce/accept',
    handle: async (request, response) => {
      const { id, nonce } = request.params
      const body = readOptionalBody(request, bodySchema)
      const wantsFinishCode = body?.finishCode ?? false
      const finishCode = await acceptGrant({ id, nonce, wantsFinishCode }, dependencies)
      if (finishCode === undefined) response.status(202).end()
      else response.status(202).json({ finishCode })
    }
  }
}
