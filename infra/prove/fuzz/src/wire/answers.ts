import { ACCEPTED, mustBeErrorBody, mustHold } from '../target.js'

/** The parts of an answer that are checked for any request. Header names are in lower case. */
export interface CheckedAnswer {
  readonly status: number
  readonly header: (name: string) => string | null | undefined
  readonly body: string
}

/**
 * Checks an answer: no server error, and refusals as documented.
 *
 * @param method of the request; the answer to `HEAD` has no body
 * @returns that it was accepted, or its status in words
 * @throws Error saying what does not hold
 */
export function checkAnswer({ status, header, body }: CheckedAnswer, method: string): string {
  // Unsupported transfer codings and HTTP versions are correctly refused with 501 and 505.
  const isAnswer = status < 500 || status === 501 || status === 505
  mustHold({ [`${String(status)} is an answer to what a client does: ${body}`]: isAnswer })
  const madeOf = /node_modules|\.(?:ts|js):\d+|prisma|postgres|ECONN/i
  mustHold({ 'nothing is told of what the service is made of': !madeOf.test(body) })
  const contentType = header('content-type') ?? ''
  const isJson = contentType.startsWith('application/json')
  // Browsers get a page.
  const isError = status >= 400 && !contentType.startsWith('text/html')
  mustHold({ [`an error is JSON, not "${contentType}"`]: isJson || !isError || method === 'HEAD' })
  const value: unknown = isJson && body !== '' ? JSON.parse(body) : {}
  if (isError && method !== 'HEAD') mustBeErrorBody(value)
  return status < 400 ? ACCEPTED : String(status)
}
