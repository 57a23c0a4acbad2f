import type { ErrorBody } from '@open-payments-server/http-server'
import { mustHold } from '../target.js'

/** What of an answer must hold whatever was asked. Header names are in lower case. */
export interface CheckedAnswer {
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly body: string
}

/** Refusals that are no defect of the service: of a transfer coding, and of a version of HTTP, that it does not speak. */
const UNSPOKEN = [501, 505]

/**
 * Checks an answer: the service is well, and whatever it refuses is told as documented.
 *
 * @param asked.method of the request; the answer to `HEAD` has no body
 * @returns its status, in words
 * @throws Error saying what does not hold
 */
export function checkAnswer(
  { status, header, body }: CheckedAnswer,
  asked: { readonly method: string }
): string {
  mustHold(
    status < 500 || UNSPOKEN.includes(status),
    `${String(status)} is no answer to what a client does: ${body}`
  )
  const contentType = header('content-type') ?? ''
  if (asked.method !== 'HEAD' && status >= 400) {
    // A browser of an account holder is told in a page.
    if (!contentType.startsWith('text/html')) mustBeErrorBody(body, contentType)
  } else if (asked.method !== 'HEAD' && contentType.startsWith('application/json') && body !== '') {
    JSON.parse(body)
  }
  mustHold(
    !/node_modules|\.(?:ts|js):\d+|prisma|postgres|ECONN/i.test(body),
    'nothing is told of what the service is made of'
  )
  return String(status)
}

function mustBeErrorBody(body: string, contentType: string): void {
  mustHold(contentType.startsWith('application/json'), `an error is JSON, not "${contentType}" ${body}`)
  const { error } = JSON.parse(body) as Partial<ErrorBody>
  mustHold(
    typeof error?.code === 'string' && typeof error.description === 'string',
    'an error has a code and a description'
  )
}
