import type { IncomingMessage } from 'node:http'
import type { ParsedUrlQuery } from 'node:querystring'
import { parse } from 'node:querystring'
import accepts from 'accepts'
import type { IncomingRequest } from './request-parts.js'

/** A request, as routes get it. */
export class HttpRequest implements IncomingRequest {
  /** As Node received it. */
  readonly message: IncomingMessage
  readonly method: string
  /** Path and query as sent. */
  readonly originalUrl: string
  /** Path as sent: nothing of it is decoded. */
  readonly path: string
  /** Bytes of the body, once they were read; undefined where there is none. */
  body: Buffer | undefined
  /** Name of the route that took it; undefined before that. */
  route: string | undefined
  /** The answer to it, where something may be told with it before it is given. */
  answer: IncomingRequest['answer']
  /** The network it comes from, where that is counted. */
  network: string | undefined
  readonly #addressOf: AddressReader
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

  /** Address of whoever is connected: the client, or the last proxy. */
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

  /** Tells the request which route takes it. */
  take(route: string, params: RouteParams): void {
    this.route = route
    this.#params = params
  }

  /**
   * A part of the path, decoded.
   *
   * @param name as the path of the route has it
   * @throws Error when the route has none of that name
   */
  param(name: string): string {
    const value = this.#params[name]
    if (value === undefined) throw new Error(`the route has no :${name}`)
    return value
  }

  /** Which of some media types the client prefers (RFC 9110 §12.5.1); undefined when it accepts none of them. */
  accepts(types: readonly string[]): string | undefined {
    const accepted = accepts(this.message).type([...types])
    return typeof accepted === 'string' ? accepted : undefined
  }
}

/** Tells the address of a client; undefined when it is gone. */
export type AddressReader = (message: IncomingMessage) => string | undefined

/** What the path of a route names, decoded. */
export type RouteParams = Readonly<Record<string, string | undefined>>
