import { hash } from 'node:crypto'
import type { HttpRequest } from './http-request.js'
import type { HttpResponse } from './http-response.js'

/** Characters of a base64url hash in an entity tag: 15 bytes, enough that no two bodies share one by chance. */
const ENTITY_TAG_LENGTH = 20

/** An entity tag in a list, weak or strong (RFC 9110 §8.8.3). */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/** Options of answering with a resource. */
export interface ResourceOptions {
  /** 200 unless given. */
  readonly status?: number
  /** When the resource last changed, in milliseconds since the Unix epoch. */
  readonly updatedAtMs?: number
  /** Request headers that the answer depends on, for `Vary`. */
  readonly vary?: string
  /** Default `private, no-cache`: cached by the client only, and revalidated before each use. */
  readonly cacheControl?: string
  /** URL of the created resource. */
  readonly location?: string
}

/** A resource on the wire: its JSON, and its metadata. */
export interface RenderedResource {
  readonly text: string
  readonly lengthBytes: number
  readonly tag: string
  /** When it last changed, for `Last-Modified`; undefined if unknown or not to be sent. */
  readonly lastModified?: string | undefined
}

/** A resource whose JSON is already written. */
export function tagJson(text: string): RenderedResource {
  return { text, lengthBytes: Buffer.byteLength(text), tag: entityTag(text) }
}

/** Writes a resource as JSON. */
export function renderResource(resource: unknown): RenderedResource {
  return tagJson(JSON.stringify(resource))
}

/**
 * Creates a renderer of resources in memory: each is rendered once, for as long as it is kept.
 *
 * @param updatedAtMs when a resource last changed, in milliseconds since the Unix epoch; unknown unless given, or undefined
 */
export function createRenderer<Kept extends object>(
  toResource: (kept: Kept) => unknown,
  updatedAtMs?: (kept: Kept) => number | undefined
): (kept: Kept) => RenderedResource {
  const rendered = new WeakMap<Kept, RenderedResource>()
  return (kept) => {
    const known = rendered.get(kept)
    if (known !== undefined) return known
    const updated = updatedAtMs?.(kept)
    const lastModified = updated === undefined ? undefined : httpDate(updated)
    const made = { ...renderResource(toResource(kept)), lastModified }
    rendered.set(kept, made)
    return made
  }
}

/**
 * Answers with a resource as JSON: `ETag` over the body, `Last-Modified`, `Vary`, `Cache-Control`, and 304 without a
 * body for a GET whose `If-None-Match` names what would be sent (RFC 9110 §13.1.2).
 */
export function sendResource(
  request: HttpRequest,
  response: HttpResponse,
  resource: unknown,
  options: ResourceOptions = {}
): void {
  sendRendered(request, response, renderResource(resource), options)
}

/** The same for what was rendered before. */
export function sendRendered(
  request: HttpRequest,
  response: HttpResponse,
  { text, lengthBytes, tag, lastModified }: RenderedResource,
  options: ResourceOptions = {}
): void {
  response.addField('ETag', tag)
  response.addField('Cache-Control', options.cacheControl ?? 'private, no-cache')
  const modified = options.updatedAtMs === undefined ? lastModified : httpDate(options.updatedAtMs)
  if (modified !== undefined) response.addField('Last-Modified', modified)
  if (options.vary !== undefined) response.addField('Vary', options.vary)
  if (options.location !== undefined) response.addField('Location', options.location)
  if (isReading(request) && namesTag(request.get('if-none-match'), tag)) response.sendEmpty(304)
  else response.sendText(options.status ?? 200, 'application/json; charset=utf-8', text, lengthBytes)
}

/** A time as HTTP writes it (RFC 9110 §5.6.7). */
function httpDate(ms: number): string {
  return new Date(ms).toUTCString()
}

/** A strong entity tag: the same for the same bytes. */
function entityTag(body: string): string {
  return `"${hash('sha256', body, 'base64url').slice(0, ENTITY_TAG_LENGTH)}"`
}

function isReading(request: HttpRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD'
}

/**
 * Whether a request's `If-None-Match` names an entity tag, compared weakly (RFC 9110 §13.1.2).
 *
 * @param ifNoneMatch undefined when there is none
 */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return [...ifNoneMatch.matchAll(ENTITY_TAG)].some(([, opaque]) => opaque === tag)
}
