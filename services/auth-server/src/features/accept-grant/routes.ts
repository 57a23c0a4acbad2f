import { readOptionalBody } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import type { AcceptGrantService } from './accept-grant.js'

const bodySchema = z.object({ finishCode: z.boolean().optional() })

/**
 * `POST /grant/{id}/{nonce}/accept` for identity providers: the account holder consents. With the JSON body `{
 * "finishCode": true }`, the answer has a `finishCode`, which the browser in which the consent was given must bring to
 * `finish`.
 */
export function acceptGrantRoute(service: AcceptGrantService): RequestHandler<{ id: string; nonce: string }> {
  return async (request, response) => {
    const { id, nonce } = request.params
    const body = readOptionalBody(request, bodySchema)
    const finishCode = await service.acceptGrant(id, nonce, body?.finishCode ?? false)
    if (finishCode === undefined) response.status(202).end()
    else response.status(202).json({ finishCode })
  }
}
