import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import type { HttpErrorStatus } from './http-errors.js'
import { PublicError } from './public-error.js'

/** A request has a body where its headers say so (RFC 9112 §6). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
}

/** The body of a request as it was received; undefined when there was none. */
export function rawBody(request: { readonly body?: unknown }): Uint8Array | undefined {
  const { body } = request
  return Buffer.isBuffer(body) && body.length > 0 ? body : undefined
}

/**
 * Reads the body of a request as raw bytes. One that is too long, or compressed, is refused as early as possible.
 *
 * @param bytesMax maximum size of a body, in bytes
 * @param codeOfStatus code of a refusal
 * @throws PublicError 400, 413 or 415
 */
export async function readBody(
  message: IncomingMessage,
  bytesMax: number,
  codeOfStatus: (status: HttpErrorStatus) => string
): Promise<Buffer> {
  const refuse = (status: HttpErrorStatus, description: string, cause?: unknown): PublicError =>
    new PublicError({ status, code: codeOfStatus(status), description, cause })
  if ((message.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw refuse(415, 'compressed bodies are not accepted')
  }
  try {
    return await getRawBody(message, { limit: bytesMax, length: message.headers['content-length'] ?? null })
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 413) {
      throw refuse(413, 'the body is too large', error)
    }
    throw refuse(400, 'the request cannot be read', error)
  }
}
