import type { HttpResponse } from './http-response.js'
import { rawBody } from './read-body.js'

/** A request, whatever framework carries it. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query as sent. */
  readonly originalUrl: string
  /** Names in lower case; the values of a repeated header in order. */
  readonly headersDistinct: Readonly<Record<string, readonly string[] | undefined>>
  /** The bytes of the body, once read. */
  readonly body?: unknown
  /** The answer, to which fields can be added before it is sent. */
  readonly answer?: Pick<HttpResponse, 'isSent' | 'addField'> | undefined
  /** The network it comes from, if that is counted. */
  readonly network?: string | undefined
  /** Whether it may store new rows, as its route says; undefined before a route took it. */
  readonly storesRows?: boolean | undefined
}

/** The parts of a request that an HTTP message signature can cover, as `http-signatures` takes them. */
export interface RequestParts {
  readonly method: string
  /** Absolute, built from the public URL and the path and query as sent; never from `Host`. */
  readonly targetUri: string
  /** Names in lower case; the values of a repeated header in order. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>
  /** The body as received; undefined when there was none. */
  readonly body: Uint8Array | undefined
  /** The answer, to which fields can be added before it is sent. */
  readonly answer?: IncomingRequest['answer']
  /** The network the request comes from, if that is counted. */
  readonly network?: string | undefined
  /** Whether the request may store new rows; see {@link IncomingRequest.storesRows}. */
  readonly storesRows?: boolean | undefined
}

/**
 * Extracts the parts for checking a request's signature.
 *
 * @param publicUrl external URL of the service. The proxy in front removes its path
 */
export function requestParts(request: IncomingRequest, publicUrl: string): RequestParts {
  return {
    method: request.method,
    targetUri: targetUri(publicUrl, request.originalUrl),
    headers: request.headersDistinct,
    body: rawBody(request),
    answer: request.answer,
    network: request.network,
    storesRows: request.storesRows
  }
}

/**
 * The URL a client used, as HTTP clients spell it.
 *
 * @param pathAndQuery as sent, starting with a slash. The root is the public URL itself, with or without its final slash
 */
export function targetUri(publicUrl: string, pathAndQuery: string): string {
  if (publicUrl !== lastBase.publicUrl) lastBase = baseOf(publicUrl)
  const isRoot = pathAndQuery === '/' || pathAndQuery.startsWith('/?')
  return isRoot ? lastBase.root + pathAndQuery.slice(1) : lastBase.parent + pathAndQuery
}

/** Prefix of the URLs of requests. */
interface Base {
  readonly publicUrl: string
  /** The public URL itself. */
  readonly root: string
  /** The same without the final slash, for everything below it. */
  readonly parent: string
}

/** A service has one public URL, and parsing it takes longer than everything else. */
let lastBase: Base = { publicUrl: '', root: '', parent: '' }

function baseOf(publicUrl: string): Base {
  // Clients sign the URL as their HTTP library spells it: `https://host` is sent and signed as `https://host/`.
  const { href } = new URL(publicUrl)
  return { publicUrl, root: href, parent: href.replace(/\/$/, '') }
}
