import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Logger } from '@open-payments-server/runtime'
import express, { type Router } from 'express'
import { createAddressReader, type TrustedProxies } from './client-address.js'
import { type HttpErrorStatus, isHttpErrorStatus } from './http-errors.js'
import { type AddressReader, HttpRequest } from './http-request.js'
import type { Fields } from './fields.js'
import { HttpResponse } from './http-response.js'
import { codeOf, type ErrorBody, methodNotAllowed, NoAnswer, PublicError } from './public-error.js'
import { hasBody, readBody } from './read-body.js'
import { RequestLog } from './request-log.js'
import { endOf, type RequestEnd, startRequestSpan } from './request-span.js'
import { type Route, RouteTable } from './routes.js'

/** Statuses from here on say that the service is at fault. */
const SERVER_ERROR_MIN = 500

/** Observes every request, for metrics. */
export interface RequestObserver {
  /** A request arrived. */
  started(): void
  /** The request ended: it was answered, or given up. The duration is without the time that its client asked to wait. */
  ended(request: RequestEnd, durationSeconds: number): void
}

/** The options of an app. */
export interface HttpAppOptions {
  readonly logger: Logger
  /** Observes every request; none unless given. */
  readonly requestObserver?: RequestObserver | undefined
  /** Maximum size of a body, in bytes. */
  readonly bodyBytesMax: number
  readonly routes: readonly Route[]
  /** Handles requests that no route takes, except OPTIONS; none unless given. */
  readonly fallback?: Router
  /** Header fields of every answer; none unless given. */
  readonly fields?: Fields
  /** A check of every request before its body is read, such as a rate limit. It throws to refuse the request. */
  readonly admit?: ((request: HttpRequest, response: HttpResponse) => void) | undefined
  /** Proxies in front that are trusted to state a client's address. None unless given. */
  readonly trustedProxies?: TrustedProxies | undefined
  /** Code of the opaque 500: `request_denied` on the auth server, `500` on the resource server. */
  readonly unexpectedCode: string
  /** Code of requests that no route takes, or that cannot be read. */
  readonly badRequestCode: string
  /** Maps the service's own errors, such as refusals; undefined for a defect, which is answered with an opaque 500. */
  readonly answerOf?: (error: unknown) => PublicError | NoAnswer | undefined
  /** Headers for every error of a status, such as `WWW-Authenticate` for 401. */
  readonly errorHeaders?: (status: number) => Readonly<Record<string, string>>
  /** An error as HTML, for people; undefined for callers that prefer JSON. */
  readonly errorPage?: (request: HttpRequest, status: number, body: ErrorBody) => string | undefined
}

/**
 * An app for both services: bodies stay raw bytes, errors are rendered in one place, every request is one log line and one
 * span, and nothing reveals what the server is built with.
 *
 * Requests go straight from Node to their route, and what can be answered synchronously is: what express does for each
 * request costs more than verifying its signature. A listener that clients do not use may have a
 * router of express instead.
 */
export function createHttpApp(options: HttpAppOptions): RequestListener {
  const app = new HttpApp(options)
  return (message, response) => {
    app.receive(message, response)
  }
}

class HttpApp {
  readonly #options: HttpAppOptions
  readonly #routes: RouteTable
  readonly #fallback: express.Express | undefined
  readonly #addressOf: AddressReader
  readonly #requestLog: RequestLog

  constructor(options: HttpAppOptions) {
    this.#options = options
    this.#routes = new RouteTable(options.routes)
    this.#fallback = options.fallback && createExpressApp(options.fallback)
    this.#addressOf = createAddressReader(options.trustedProxies)
    this.#requestLog = new RequestLog(options.logger)
  }

  receive(message: IncomingMessage, serverResponse: ServerResponse): void {
    const request = new HttpRequest(message, this.#addressOf)
    const response = new HttpResponse(serverResponse, this.#options.fields ?? [])
    this.#observe(request, serverResponse, () => {
      this.#attempt(request, response, () => this.#answer(request, response))
    })
  }

  /** Reports a request to metrics, log and trace when it has ended. */
  #observe(request: HttpRequest, response: ServerResponse, answer: () => void): void {
    const { requestObserver } = this.#options
    const startedAt = performance.now()
    const span = startRequestSpan(request.message)
    requestObserver?.started()
    response.on('close', () => {
      const durationMs = performance.now() - startedAt
      const end = endOf(request, response)
      requestObserver?.ended(end, (durationMs - request.waitedMs) / 1_000)
      const aborted = !response.writableFinished
      // A connection reports its end outside of any request.
      this.#requestLog.tell({ method: request.method, end, durationMs, aborted, traced: span.traced })
      span.end(end)
    })
    span.within(answer)
  }

  /** Renders any error of an action, synchronous or not. */
  #attempt(request: HttpRequest, response: HttpResponse, action: () => void | Promise<void>): void {
    try {
      action()?.catch((error: unknown) => {
        this.#fail(error, request, response)
      })
    } catch (error) {
      this.#fail(error, request, response)
    }
  }

  #answer(request: HttpRequest, response: HttpResponse): void | Promise<void> {
    this.#options.admit?.(request, response)
    if (!hasBody(request.message)) return this.#dispatch(request, response)
    const { bodyBytesMax, badRequestCode } = this.#options
    return readBody(request.message, bodyBytesMax, (status) => codeOf(status, badRequestCode)).then(
      (body) => {
        request.body = body
        return this.#dispatch(request, response)
      }
    )
  }

  #dispatch(request: HttpRequest, response: HttpResponse): void | Promise<void> {
    const found = this.#routes.find(request.method, request.path)
    if (found === undefined) {
      this.#fallBack(request, response)
      return
    }
    if ('allow' in found) throw methodNotAllowed(found.allow, this.#options.badRequestCode)
    request.take(found)
    return found.route.handle(request, response)
  }

  #fallBack(request: HttpRequest, response: HttpResponse): void {
    if (this.#fallback === undefined) throw this.#notFound()
    const message = Object.assign(request.message, { body: request.body })
    this.#fallback(message as express.Request, response.release() as express.Response, (error: unknown) => {
      this.#fail(error ?? this.#notFound(), request, response)
    })
  }

  #notFound(): PublicError {
    return new PublicError({
      status: 404,
      code: codeOf(404, this.#options.badRequestCode),
      description: 'not found'
    })
  }

  #fail(error: unknown, request: HttpRequest, response: HttpResponse): void {
    const { logger } = this.#options
    const { method } = request
    const known = this.#answerOf(error)
    if (known instanceof NoAnswer) {
      logger.error({ ...known.fields, err: known, method }, 'ended without an answer')
      request.message.socket.destroy()
      return
    }
    if (known === undefined) logger.error({ err: error, method }, 'unexpected error')
    else if (known.cause !== undefined) this.#logCause(known, method)
    // A started answer cannot be taken back: the client sees that it is incomplete.
    if (response.isSent) request.message.socket.destroy()
    else this.#render(known ?? this.#unexpected(), request, response)
  }

  /** What clients do wrong is theirs to find out; what is needed and does not answer is for operators. */
  #logCause({ status, code, message, cause }: PublicError, method: string): void {
    const level = status >= SERVER_ERROR_MIN ? 'warn' : 'debug'
    this.#options.logger[level]({ err: cause, code, method }, message)
  }

  #unexpected(): PublicError {
    const { unexpectedCode: code } = this.#options
    const status: HttpErrorStatus = 500
    return new PublicError({ status, code, description: 'internal server error' })
  }

  #render(error: PublicError, request: HttpRequest, response: HttpResponse): void {
    const { errorHeaders, errorPage } = this.#options
    const { status } = error
    const body = error.body()
    for (const [name, value] of Object.entries({ ...errorHeaders?.(status), ...error.headers })) {
      response.addField(name, value)
    }
    const page = errorPage?.(request, status, body)
    if (page === undefined) response.sendJson(status, body)
    else response.sendText(status, 'text/html; charset=utf-8', page)
  }

  #answerOf(error: unknown): PublicError | NoAnswer | undefined {
    if (error instanceof PublicError || error instanceof NoAnswer) return error
    const { answerOf, badRequestCode } = this.#options
    return answerOf?.(error) ?? fromExpress(error, badRequestCode)
  }
}

function createExpressApp(router: Router): express.Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  app.enable('case sensitive routing')
  app.use(router)
  return app
}

/** Express throws errors with their own `status`: only that is used. */
function fromExpress(error: unknown, badRequestCode: string): PublicError | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined
  // A path that cannot be decoded names nothing here.
  const given = error instanceof URIError ? 404 : error.status
  if (given < 400 || given > 499) return undefined
  const status = isHttpErrorStatus(given) ? given : 400
  return new PublicError({
    status,
    code: codeOf(status, badRequestCode),
    description: status === 404 ? 'not found' : 'the request cannot be read',
    cause: error
  })
}
