import type { Fields } from '@open-payments-server/http-server'
import { PAGE_STYLE_SOURCE } from './pages.js'

/**
 * Headers of every answer: it contains a secret or redirects a browser (RFC 9635 §3), so it is not cached, framed or
 * embedded, and the browser's next destination does not learn its URL. Pages run nothing and load nothing.
 */
export const SECURITY_FIELDS: Fields = Object.entries({
  'Cache-Control': 'no-store',
  'Content-Security-Policy': `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY'
}).flat()
