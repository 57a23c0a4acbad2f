import type { Fields } from '@open-payments-server/http-server'

/** Where programs on the browser's own machine wait for it (RFC 9635 §2.5.2), as far as a policy can name them: `[::1]` it cannot. */
const LOOPBACK_SOURCES = 'http://localhost:* http://127.0.0.1:*'

/**
 * Headers of every answer. Pages run nothing, load only the style and the logo from here, and are not cached or framed.
 *
 * @param allowHttp in development
 */
export function securityFields(allowHttp: boolean): Fields {
  // A decision redirects through the issuer and the auth server to the client's finish URL, and browsers check redirects of a form
  // against form-action, so it cannot name that host; it still excludes other schemes.
  const formAction = `'self' https: ${LOOPBACK_SOURCES}${allowHttp ? ' http:' : ''}`
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
