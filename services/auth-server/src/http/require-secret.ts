import { PublicError } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import { isSameSecret } from '../domain/secrets.js'

/**
 * Lets only the identity provider through, which sends the secret in `x-idp-secret`. Takes the same time whatever is sent, and
 * whichever secret it is.
 *
 * @param secrets every one that is accepted: more than one while the secret is being changed
 */
export function requireSecret(secrets: readonly string[]): RequestHandler {
  return (request, _response, next) => {
    const given = request.get('x-idp-secret') ?? ''
    const matching = secrets.filter((secret) => isSameSecret(given, secret))
    if (matching.length > 0) {
      next()
      return
    }
    // Codes as the reference implementation answers them, which consent applications know.
    const code = request.method === 'GET' ? 'invalid_request' : 'invalid_interaction'
    throw new PublicError({ status: 401, code, description: 'invalid x-idp-secret' })
  }
}
