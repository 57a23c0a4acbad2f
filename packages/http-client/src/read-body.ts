import type { Dispatcher } from 'undici'
import { OutgoingRequestError } from './errors.js'

/** The headers of an answer: names in lower case, the values of a repeated header joined with commas. */
export type AnswerHeaders = Readonly<Record<string, string>>

/** The headers of an answer in one form, as undici has them in several. */
export function flattenHeaders(headers: Dispatcher.ResponseData['headers']): AnswerHeaders {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

/**
 * Reads the body of an answer, and closes the connection if it is compressed or too large.
 *
 * @param bodyBytesMax its maximum size, in bytes
 * @throws OutgoingRequestError with reason `content-type` or `too-large`
 */
export async function readBody(
  { body, statusCode }: Dispatcher.ResponseData,
  headers: AnswerHeaders,
  bodyBytesMax: number
): Promise<Buffer> {
  const refusal = refusalOf(statusCode, headers, bodyBytesMax)
  if (refusal !== undefined) {
    dropBody(body)
    throw refusal
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw tooLarge(statusCode)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Closes the connection of an answer whose body is not wanted. */
export function dropBody(body: Dispatcher.ResponseData['body']): void {
  // Destroying without a reader would surface as an unhandled error of the stream.
  body.on('error', () => undefined).destroy()
}

function refusalOf(
  status: number,
  headers: AnswerHeaders,
  bodyBytesMax: number
): OutgoingRequestError | undefined {
  if (!['', 'identity'].includes(headers['content-encoding']?.trim().toLowerCase() ?? '')) {
    return new OutgoingRequestError({ reason: 'content-type', message: 'The answer is compressed', status })
  }
  return Number(headers['content-length'] ?? 0) > bodyBytesMax ? tooLarge(status) : undefined
}

function tooLarge(status: number): OutgoingRequestError {
  return new OutgoingRequestError({ reason: 'too-large', message: 'The answer is too large', status })
}
