import type { Fields } from '@open-payments-server/http-server'

/**
 * Headers of every answer. Pages run nothing, load only the style and the logo from here, and are not cached or framed.
 *
 * @param allowHttp in development
 */
export function securityFields(allowHttp: boolean): Fields {
  // A decision redirects through the issuer and the auth server to the client's finish URL, and browsers check redirects of a form
  // against form-action, so it cannot name a host; it still excludes other schemes.
  const formAction = `'self' https:${allowHttp ? ' http:' : ''}`
  return Object.entries({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    // URLs have nonces of interactions, and codes of the issuer.
    'Referrer-Policy': 'no-referrer',
    ...(allowHttp ? {} : { 'Strict-Transport-Security': 'max-age=31536000' }),
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY'
  }).flat()
}
