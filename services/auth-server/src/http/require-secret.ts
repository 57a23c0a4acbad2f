import { PublicError } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import { isSameSecret } from '../domain/secrets.js'

/** Lets only the identity provider through, which sends the secret in `x-idp-secret`. */
export function requireSecret(secret: string): RequestHandler {
  return (request, _response, next) => {
    if (isSameSecret(request.get('x-idp-secret') ?? '', secret)) {
      next()
      return
    }
    // Codes as the reference implementation answers them, which consent applications know.
    const code = request.method === 'GET' ? 'invalid_request' : 'invalid_interaction'
    throw new PublicError({ status: 401, code, description: 'invalid x-idp-secret' })
  }
}
