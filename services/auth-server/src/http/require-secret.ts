import type { RequestHandler } from 'express'
import { unknownProvider } from '../domain/errors.js'
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
    throw unknownProvider(request.method === 'GET' ? 'read' : 'decide')
  }
}
