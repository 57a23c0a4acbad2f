import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Router
} from 'express'
import type { Logger } from '@open-payments-server/runtime'
import {
  codeOf,
  type ErrorBody,
  errorBody,
  NoAnswer,
  PublicError,
  serviceUnavailable
} from './public-error.js'
import { readBody } from './read-body.js'
import { endOf, type RequestEnd, startRequestSpan } from './request-span.js'

/** Is told of every request, for metrics. */
export interface RequestObserver {
  /** A request came. */
  started(): void
  /** It is over: answered, or given up. */
  ended(request: RequestEnd, durationSeconds: number): void
}

/** How an app differs from the others. */
export interface HttpAppOptions {
  readonly logger: Logger
  /** Is told of every request; nobody unless given. */
  readonly requestObserver?: RequestObserver | undefined
  /** Longest body that is read, in bytes. */
  readonly bodyBytesMax: number
  /** Its routes. */
  readonly routes: Router
  /** Paths on which one of them takes OPTIONS. On all others that method is as unknown as any; none unless given. */
  readonly optionsPaths?: readonly string[]
  /** What every request passes before its body is read, such as a rate limit. */
  readonly beforeBody?: RequestHandler | undefined
  /**
   * Proxies in front that are believed when they tell a client's address: how many, or their networks, as express'
   * `trust proxy` has it. None unless given.
   */
  readonly trustedProxies?: number | string[] | undefined
  /** Code of the opaque 500: `request_denied` on the auth server, `500` on the resource server. */
  readonly unexpectedCode: string
  /** Code of requests that no route takes, or that cannot be read. */
  readonly badRequestCode: string
  /**
   * Errors that are no defect and pass by themselves, such as a database that cannot be reached: they are answered with 503
   * and this code, and clients may come again.
   */
  readonly unavailable?: { readonly code: string; readonly when: (error: unknown) => boolean }
  /** Headers for every error of a status, such as `WWW-Authenticate` for 401. */
  readonly errorHeaders?: (status: number) => Readonly<Record<string, string>>
  /** An error as HTML, for people; undefined for who is better served with JSON. */
  readonly errorPage?: (request: Request, status: number, body: ErrorBody) => string | undefined
}

/**
 * An express app with the manners of this project: bodies stay raw bytes, errors are rendered in one place, every
 * request is one line in the log and one span, and nothing tells what the server is made of.
 */
export function createHttpApp(options: HttpAppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  app.enable('case sensitive routing')
  app.set('trust proxy', options.trustedProxies ?? false)
  app.use(observeRequests(options))
  if (options.beforeBody !== undefined) app.use(options.beforeBody)
  app.use(readBody(options.bodyBytesMax, (status) => codeOf(status, options.badRequestCode)))
  // A router would answer by itself which methods it has routes for, in a form of its own.
  app.use((request, _response, next) => {
    const isUnknown = request.method === 'OPTIONS' && options.optionsPaths?.includes(request.path) !== true
    next(isUnknown ? notFound(options) : undefined)
  })
  app.use(options.routes)
  app.use((_request, _response, next) => {
    next(notFound(options))
  })
  app.use(renderErrors(options))
  return app
}

function notFound({ badRequestCode }: HttpAppOptions): PublicError {
  return new PublicError({ status: 404, code: codeOf(404, badRequestCode), description: 'not found' })
}

/** The body of a request as it was received; undefined when there was none. */
export function rawBody(request: { readonly body?: unknown }): Uint8Array | undefined {
  const { body } = request
  return Buffer.isBuffer(body) && body.length > 0 ? body : undefined
}

function observeRequests({ logger, requestObserver }: HttpAppOptions): RequestHandler {
  return (request, response, next) => {
    const startedAt = performance.now()
    const span = startRequestSpan(request)
    requestObserver?.started()
    response.on('close', () => {
      const durationMs = performance.now() - startedAt
      const end = endOf(request, response)
      requestObserver?.ended(end, durationMs / 1_000)
      // A connection tells its end outside of any request.
      span.within(() => {
        logger.info(
          {
            method: request.method,
            route: end.route,
            status: end.status,
            durationMs: Math.round(durationMs * 1_000) / 1_000,
            aborted: !response.writableFinished
          },
          'request'
        )
      })
      span.end(end)
    })
    span.within(next)
  }
}

function renderErrors(options: HttpAppOptions): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    if (error instanceof NoAnswer) {
      options.logger.error({ ...error.fields, err: error, method: request.method }, 'ended without an answer')
      request.socket.destroy()
      return
    }
    const send = (status: number, body: ErrorBody): void => {
      const page = options.errorPage?.(request, status, body)
      if (page === undefined) response.status(status).json(body)
      else response.status(status).type('html').send(page)
    }
    const known = publicErrorOf(error, options)
    if (known === undefined) {
      options.logger.error({ err: error, method: request.method }, 'unexpected error')
      response.set(options.errorHeaders?.(500) ?? {})
      send(500, errorBody(options.unexpectedCode, 'internal server error'))
      return
    }
    if (known.cause !== undefined) options.logger.debug({ err: known.cause, code: known.code }, known.message)
    response.set({ ...options.errorHeaders?.(known.status), ...known.headers })
    send(known.status, known.body())
  }
}

function publicErrorOf(error: unknown, options: HttpAppOptions): PublicError | undefined {
  if (error instanceof PublicError) return error
  const refused = fromExpress(error, options.badRequestCode)
  if (refused !== undefined) return refused
  const { unavailable } = options
  return unavailable?.when(error) === true ? serviceUnavailable(unavailable.code, error) : undefined
}

/** Express throws errors with a `status` of their own: only the status is taken over. */
function fromExpress(error: unknown, code: string): PublicError | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined
  // A path that cannot be decoded names nothing that is here.
  const status = error instanceof URIError ? 404 : error.status
  if (status < 400 || status > 499) return undefined
  return new PublicError({
    status,
    code: codeOf(status, code),
    description: status === 404 ? 'not found' : 'the request cannot be read',
    cause: error
  })
}
