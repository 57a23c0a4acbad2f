import type { Dispatcher } from 'undici'
import { OutgoingRequestError } from './errors.js'
import { type AnswerHeaders, dropBody, readBody } from './read-body.js'

/** `application/json`, or any type whose syntax is JSON (RFC 6839 §3.1); parameters may follow. */
const JSON_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.-]+\+json)\s*(?:;|$)/i

/**
 * Reads the body of a successful answer as JSON, and closes the connection if the answer is not the expected one.
 *
 * @param bodyBytesMax its maximum size, in bytes
 * @throws OutgoingRequestError with reason `status`, `content-type`, `too-large` or `malformed`
 */
export async function readJson(
  response: Dispatcher.ResponseData,
  headers: AnswerHeaders,
  bodyBytesMax: number
): Promise<unknown> {
  const { body, statusCode } = response
  const refusal = refusalOf(statusCode, headers)
  if (refusal !== undefined) {
    dropBody(body)
    throw refusal
  }
  return parseJson(await readBody(response, headers, bodyBytesMax), statusCode)
}

function refusalOf(status: number, headers: AnswerHeaders): OutgoingRequestError | undefined {
  if (status < 200 || status > 299) {
    return new OutgoingRequestError({
      reason: 'status',
      message: `Answered with status ${String(status)}`,
      status
    })
  }
  return JSON_TYPE.test(headers['content-type'] ?? '')
    ? undefined
    : new OutgoingRequestError({ reason: 'content-type', message: 'The answer is not JSON', status })
}

function parseJson(bytes: Buffer, status: number): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new OutgoingRequestError({
      reason: 'malformed',
      message: 'The body is not a JSON text',
      status,
      cause: error
    })
  }
}
