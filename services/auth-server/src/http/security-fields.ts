import type { Fields } from '@open-payments-server/http-server'
import { PAGE_STYLE_SOURCE } from './pages.js'

/**
 * Headers of every answer: it holds a secret or sends a browser on (RFC 9635 §3), so it is not kept, not framed,
 * not embedded, and not told to where the browser goes next. What pages there are run nothing and load nothing.
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
