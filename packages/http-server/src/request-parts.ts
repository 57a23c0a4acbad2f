import type { HttpResponse } from './http-response.js'
import { rawBody } from './read-body.js'

/** A request as it came, whatever framework carries it. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query as sent. */
  readonly originalUrl: string
  /** Names in lower case; the values of a repeated header in order. */
  readonly headersDistinct: Readonly<Record<string, readonly string[] | undefined>>
  /** The bytes of the body, once they were read. */
  readonly body?: unknown
  /** The answer to it, where something may be told with it before it is given. */
  readonly answer?: Pick<HttpResponse, 'isSent' | 'addField'> | undefined
  /** The network it comes from, where that is counted. */
  readonly network?: string | undefined
}

/** What of a request an HTTP message signature can cover; the shape that `http-signatures` takes. */
export interface RequestParts {
  readonly method: string
  /** Absolute, built from the public URL and the path and query as sent; never from `Host`. */
  readonly targetUri: string
  /** Names in lower case; the values of a repeated header in order. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>
  /** The body as received; undefined when there was none. */
  readonly body: Uint8Array | undefined
  /** The answer to the request, where something may be told with it before it is given. */
  readonly answer?: IncomingRequest['answer']
  /** The network the request comes from, where that is counted. */
  readonly network?: string | undefined
}

/**
 * Takes a request apart for checking its signature.
 *
 * @param publicUrl where the service is reached from outside. A path in it is what the proxy in front takes off
 */
export function requestParts(request: IncomingRequest, publicUrl: string): RequestParts {
  return {
    method: request.method,
    targetUri: targetUri(publicUrl, request.originalUrl),
    headers: request.headersDistinct,
    body: rawBody(request),
    answer: request.answer,
    network: request.network
  }
}

/**
 * The address a client used, as HTTP clients spell it.
 *
 * @param pathAndQuery as sent, beginning with a slash. The root is the public URL itself, with or without its final slash
 */
export function targetUri(publicUrl: string, pathAndQuery: string): string {
  if (publicUrl !== lastBase.publicUrl) lastBase = baseOf(publicUrl)
  const isRoot = pathAndQuery === '/' || pathAndQuery.startsWith('/?')
  return isRoot ? lastBase.root + pathAndQuery.slice(1) : lastBase.parent + pathAndQuery
}

/** What the address of a request begins with. */
interface Base {
  readonly publicUrl: string
  /** The public URL itself. */
  readonly root: string
  /** The same without the slash at its end, for what is under it. */
  readonly parent: string
}

/** A service has one public URL, and reading it takes longer than all the rest. */
let lastBase: Base = { publicUrl: '', root: '', parent: '' }

function baseOf(publicUrl: string): Base {
  // Clients sign the URL as their HTTP library spells it: `https://host` is sent and signed as `https://host/`.
  const { href } = new URL(publicUrl)
  return { publicUrl, root: href, parent: href.replace(/\/$/, '') }
}
