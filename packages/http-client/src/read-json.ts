import type { Dispatcher } from 'undici'
import { OutgoingRequestError } from './errors.js'

/** `application/json`, or any type whose syntax is JSON (RFC 6839 §3.1); parameters may follow. */
const JSON_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.-]+\+json)\s*(?:;|$)/i

/**
 * Reads the body of a successful answer as JSON, and closes the connection if the answer is not the expected one.
 *
 * @param headers the answer's headers, names in lower case
 * @throws OutgoingRequestError with reason `status`, `content-type`, `too-large` or `malformed`
 */
export async function readJson(
  response: Dispatcher.ResponseData,
  headers: Readonly<Record<string, string>>,
  bodyBytesMax: number
): Promise<unknown> {
  const { body, statusCode } = response
  const refusal = refusalOf(statusCode, headers, bodyBytesMax)
  if (refusal !== undefined) {
    // Destroying without a reader would surface as an unhandled error of the stream.
    body.on('error', () => undefined).destroy()
    throw refusal
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw tooLarge(statusCode)
    chunks.push(chunk)
  }
  return parseJson(Buffer.concat(chunks), statusCode)
}

function refusalOf(
  status: number,
  headers: Readonly<Record<string, string>>,
  bodyBytesMax: number
): OutgoingRequestError | undefined {
  if (status < 200 || status > 299) {
    return new OutgoingRequestError({
      reason: 'status',
      message: `Answered with status ${String(status)}`,
      status
    })
  }
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    return new OutgoingRequestError({ reason: 'content-type', message: 'The answer is not JSON', status })
  }
  if (!['', 'identity'].includes(headers['content-encoding']?.trim().toLowerCase() ?? '')) {
    return new OutgoingRequestError({ reason: 'content-type', message: 'The answer is compressed', status })
  }
  return Number(headers['content-length'] ?? 0) > bodyBytesMax ? tooLarge(status) : undefined
}

function tooLarge(status: number): OutgoingRequestError {
  return new OutgoingRequestError({ reason: 'too-large', message: 'The answer is too large', status })
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
