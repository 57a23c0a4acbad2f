import { PublicError } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import { isSameSecret } from '../domain/secrets.js'

/**
 * Admits only the identity provider, which sends the secret in `x-idp-secret`. Constant time, whatever is sent, and
 * whichever secret it is.
 *
 * @param secrets all accepted secrets: more than one while the secret is being replaced
 */
export function requireSecret(secrets: readonly string[]): RequestHandler {
  return (request, _response, next) => {
    const given = request.get('x-idp-secret') ?? ''
    const matching = secrets.filter((secret) => isSameSecret(given, secret))
    if (matching.length > 0) {
      next()
      return
    }
    // Codes of the reference implementation, which consent applications know.
    const code = request.method === 'GET' ? 'invalid_request' : 'invalid_interaction'
    throw new PublicError({ status: 401, code, description: 'invalid x-idp-secret' })
  }
}
