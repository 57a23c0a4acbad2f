import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'

/** Bytes of a hash that an entity tag keeps: enough that no two bodies share one by chance. */
const ENTITY_TAG_BYTES = 15

/** An entity tag in a list, weak or strong (RFC 9110 §8.8.3). */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/** What a resource is answered with. */
export interface ResourceOptions {
  /** 200 unless given. */
  readonly status?: number
  /** When the resource last changed, in milliseconds since the Unix epoch. */
  readonly updatedAtMs?: number
  /** Request headers that the answer depends on. */
  readonly vary?: readonly string[]
  /** `private, no-cache` unless given: kept by the client alone, and asked about before each use. */
  readonly cacheControl?: string
  /** URL of what was created. */
  readonly location?: string
}

/**
 * Answers with a resource as JSON: `ETag` over the body, `Last-Modified`, `Vary`, `Cache-Control`, and 304 without a
 * body for a GET whose `If-None-Match` names what would be sent (RFC 9110 §13.1.2).
 */
export function sendResource(
  request: Request,
  response: Response,
  resource: unknown,
  options: ResourceOptions = {}
): void {
  const body = JSON.stringify(resource)
  const tag = entityTag(body)
  // Node's own functions: express' look at each value for what is never in these.
  response.setHeader('ETag', tag)
  response.setHeader('Cache-Control', options.cacheControl ?? 'private, no-cache')
  if (options.updatedAtMs !== undefined) {
    response.setHeader('Last-Modified', new Date(options.updatedAtMs).toUTCString())
  }
  if (options.vary !== undefined) response.vary(options.vary.join(', '))
  if (options.location !== undefined) response.setHeader('Location', options.location)
  if (isReading(request) && names(request.headers['if-none-match'], tag)) {
    response.status(304).end()
    return
  }
  response.statusCode = options.status ?? 200
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', Buffer.byteLength(body))
  // As text it goes out with the headers, in one write.
  response.end(body)
}

/** A strong entity tag: the same for the same bytes. */
function entityTag(body: string): string {
  const hash = createHash('sha256').update(body).digest()
  return `"${hash.toString('base64url', 0, ENTITY_TAG_BYTES)}"`
}

function isReading(request: Request): boolean {
  return request.method === 'GET' || request.method === 'HEAD'
}

/** `If-None-Match` compares weakly (RFC 9110 §13.1.2). */
function names(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return [...ifNoneMatch.matchAll(ENTITY_TAG)].some(([, opaque]) => opaque === tag)
}
