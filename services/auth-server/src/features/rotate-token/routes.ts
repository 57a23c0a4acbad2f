import { requestParts, type Route } from '@open-payments-server/http-server'
import type { HolderAuthorizer } from '../authentication.js'
import type { Queries } from '../../modules/database.js'
import { createRotateToken } from '../../modules/tokens/index.js'
import { rotateToken, type RotateTokenDependencies } from './rotate-token.js'

/** What the route needs. */
export interface RotateTokenRouteDependencies extends Omit<RotateTokenDependencies, 'rotate'> {
  readonly database: Queries
  readonly holders: Pick<HolderAuthorizer, 'authorizeManagement'>
  readonly publicUrl: string
}

/** `POST /token/{id}` (interface 4.2, RFC 9635 §6.1). */
export function rotateTokenRoute(dependencies: RotateTokenRouteDependencies): Route {
  const { holders, publicUrl } = dependencies
  const service = { ...dependencies, rotate: createRotateToken(dependencies) }
  return {
    method: 'POST',
    path: '/token/:id',
    handle: async (request, response) => {
      const token = await holders.authorizeManagement(request.param('id'), requestParts(request, publicUrl))
      response.sendJson(200, await rotateToken(token, service))
    }
  }
}
