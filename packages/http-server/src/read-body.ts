import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import getRawBody from 'raw-body'
import { PublicError } from './public-error.js'

/**
 * Reads the body as raw bytes into `request.body`; undefined where there is none. What is too long, or compressed, is
 * refused as soon as that is known: express' own reader would first read all of it.
 *
 * @param bytesMax longest body, in bytes
 * @param codeOfStatus code of a refusal
 */
export function readBody(bytesMax: number, codeOfStatus: (status: number) => string): RequestHandler {
  return async (request, _response, next) => {
    if (!hasBody(request)) {
      next()
      return
    }
    const refuse = (status: number, description: string, cause?: unknown): PublicError =>
      new PublicError({ status, code: codeOfStatus(status), description, cause })
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw refuse(415, 'compressed bodies are not accepted')
    }
    try {
      request.body = await getRawBody(request, {
        limit: bytesMax,
        length: request.headers['content-length'] ?? null
      })
    } catch (error) {
      if (error instanceof Error && 'status' in error && error.status === 413) {
        throw refuse(413, 'the body is too large', error)
      }
      throw refuse(400, 'the request cannot be read', error)
    }
    next()
  }
}

/** A request has a body where its headers say so (RFC 9112 §6). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
}
