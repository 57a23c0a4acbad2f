import type { ErrorWords } from '@open-payments-server/value-types/refusals'

/**
 * Every error that a listener answers itself, by its HTTP status: for requests that never reach a route, and for defects. What
 * routes refuse is in the table of each service.
 */
export const HTTP_ERRORS = {
  400: {
    meaning: 'The request is malformed: its target, its headers, or its body as HTTP.',
    advice: 'Correct the request. Another HTTP library may help.'
  },
  404: { meaning: 'There is nothing at this path.', advice: 'Use the URLs of the API, unchanged.' },
  405: {
    meaning: 'The path does not have this method.',
    advice: 'Use one of the methods in `Allow`.'
  },
  408: { meaning: 'The request was not sent in time.', advice: 'Repeat it.' },
  413: { meaning: 'The body is too large.', advice: 'See [limits](limits.md).' },
  414: { meaning: 'The URL is too long.', advice: 'See [limits](limits.md).' },
  415: { meaning: 'The body is compressed.', advice: 'Send it as it is.' },
  417: {
    meaning: 'The header `Expect` asks for something else than `100-continue`.',
    advice: 'Leave it out.'
  },
  431: { meaning: 'There are too many headers, or they are too large.', advice: 'See [limits](limits.md).' },
  500: {
    meaning: 'A defect of the server. Nothing more is said.',
    advice:
      'Ask the provider. Whatever creates something is repeated with the same `Idempotency-Key`, or not at all.'
  },
  501: {
    meaning: 'The transfer coding is not `chunked`.',
    advice: 'Send the body with a length, or chunked.'
  },
  503: {
    meaning: 'Something that the server needs does not answer now.',
    advice: 'Repeat the request after the seconds in `Retry-After`.'
  },
  505: { meaning: 'The HTTP version is not 1.0 or 1.1.', advice: 'Use HTTP/1.1.' }
} as const satisfies Readonly<Record<number, ErrorWords>>

/** Status of an error that a listener answers itself. */
export type HttpErrorStatus = keyof typeof HTTP_ERRORS

/** Whether a listener answers errors with a status itself. */
export function isHttpErrorStatus(status: number): status is HttpErrorStatus {
  return Object.hasOwn(HTTP_ERRORS, status)
}
