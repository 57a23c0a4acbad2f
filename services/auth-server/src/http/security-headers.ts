import type { RequestHandler } from 'express'

/**
 * Headers of every answer: it holds a secret or sends a browser on (RFC 9635 §3, §13.3), so it is not kept, not framed,
 * and not told to where the browser goes next.
 */
export const securityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy':
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff'
  })
  next()
}
