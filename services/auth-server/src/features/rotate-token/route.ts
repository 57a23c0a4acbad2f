import { requestParts } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import type { HolderAuthorizer } from '../../domain/authentication.js'
import type { RotateTokenService } from './service.js'

/** `POST /token/{id}` (interface 4.2, RFC 9635 §6.1). */
export function rotateTokenRoute(
  service: RotateTokenService,
  holders: Pick<HolderAuthorizer, 'authorizeManagement'>,
  publicUrl: string
): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const token = await holders.authorizeManagement(request.params.id, requestParts(request, publicUrl))
    response.json(await service.rotateToken(token))
  }
}
