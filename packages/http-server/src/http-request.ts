import type { IncomingMessage } from 'node:http'
import type { ParsedUrlQuery } from 'node:querystring'
import { parse } from 'node:querystring'
import accepts from 'accepts'
import type { IncomingRequest } from './request-parts.js'

/** A request, as routes receive it. */
export class HttpRequest implements IncomingRequest {
  /** As Node received it. */
  readonly message: IncomingMessage
  readonly method: string
  /** Path and query as sent. */
  readonly originalUrl: string
  /** Path as sent, not decoded. */
  readonly path: string
  /** Bytes of the body, once read; undefined if there is none. */
  body: Buffer | undefined
  /** Name of the route that took it; undefined before that. */
  route: string | undefined
  /** The answer, to which fields can be added before it is sent. */
  answer: IncomingRequest['answer']
  /** The network it comes from, if that is counted. */
  network: string | undefined
  /** Whether it may store new rows, as its route says; undefined before a route took it. */
  storesRows: boolean | undefined
  readonly #addressOf: AddressReader
  #waitedMs = 0
  #waitingSinceMs: number | undefined
  #params: RouteParams = {}

  constructor(message: IncomingMessage, addressOf: AddressReader) {
    const { method = '', url = '/' } = message
    const queryStart = url.indexOf('?')
    this.message = message
    this.method = method
    this.originalUrl = url
    this.path = queryStart < 0 ? url : url.slice(0, queryStart)
    this.#addressOf = addressOf
  }

  /** Names in lower case; the values of a repeated header in order. */
  get headersDistinct(): IncomingMessage['headersDistinct'] {
    return this.message.headersDistinct
  }

  /** Address of the client; undefined when it is gone. */
  get ip(): string | undefined {
    return this.#addressOf(this.message)
  }

  /** Address of the peer: the client, or the last proxy. */
  get remoteAddress(): string | undefined {
    return this.message.socket.remoteAddress
  }

  /** The query, by name. */
  get query(): ParsedUrlQuery {
    return parse(this.originalUrl.slice(this.path.length + 1))
  }

  /**
   * The value of a header.
   *
   * @param name in lower case
   */
  get(name: string): string | undefined {
    const value = this.message.headers[name]
    return typeof value === 'string' ? value : value?.join(', ')
  }

  /** How long its client has waited as it asked to, in milliseconds: that is not how long its answer took. */
  get waitedMs(): number {
    const sinceMs = this.#waitingSinceMs
    return this.#waitedMs + (sinceMs === undefined ? 0 : performance.now() - sinceMs)
  }

  /** From now on it waits because its client asked to. */
  beginWait(): void {
    this.#waitingSinceMs = performance.now()
  }

  /** Its client waits no longer for anything but the answer. */
  endWait(): void {
    this.#waitedMs = this.waitedMs
    this.#waitingSinceMs = undefined
  }

  /** Sets the route that takes the request. */
  take({ route, params }: TakingRoute): void {
    this.route = route.name ?? String(route.path)
    this.storesRows = route.storesRows ?? route.method === 'POST'
    this.#params = params
  }

  /**
   * A parameter of the path, decoded.
   *
   * @param name as in the path of the route
   * @throws Error when the route has no such parameter
   */
  param(name: string): string {
    const value = this.#params[name]
    if (value === undefined) throw new Error(`the route has no :${name}`)
    return value
  }

  /** The media type that the client prefers among some (RFC 9110 §12.5.1); undefined when it accepts none of them. */
  accepts(types: readonly string[]): string | undefined {
    const accepted = accepts(this.message).type([...types])
    return typeof accepted === 'string' ? accepted : undefined
  }
}

/** Returns a client's address; undefined when it is gone. */
export type AddressReader = (message: IncomingMessage) => string | undefined

/** The route that takes a request, as the request needs it. */
interface TakingRoute {
  readonly route: {
    readonly method: string
    readonly path: string | RegExp
    readonly name?: string
    readonly storesRows?: boolean
  }
  readonly params: RouteParams
}

/** The parameters of a route's path, decoded. */
export type RouteParams = Readonly<Record<string, string | undefined>>
