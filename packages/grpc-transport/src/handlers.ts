import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Metadata,
  type ServerErrorResponse,
  type ServerWritableStream,
  status
} from '@grpc/grpc-js'
import type { Logger } from '@open-payments-server/runtime'
import { type CallObserver, methodLabel } from './call-observer.js'
import { startServerSpan } from './call-span.js'
import { RpcError, statusOf } from './rpc-error.js'

/** What a handler knows about the call besides its request. */
export interface CallContext {
  /** Aborted when the caller cancelled or hung up, the deadline passed, or the server stops. */
  readonly signal: AbortSignal
  /** What the caller sent along. */
  readonly metadata: Metadata
  /** Address and port of the caller. */
  readonly peer: string
  /** Full name of the method, for example `/openpayments.auth.v1.GrantLimitsService/Reserve`. */
  readonly method: string
}

/** What the handler of a unary call knows about it besides its request. */
export interface UnaryContext extends CallContext {
  /** When the caller stops waiting. */
  readonly deadline: Date
}

/** Answers a unary call, or throws an {@link RpcError} to refuse it. */
export type UnaryHandler<Request, Response> = (request: Request, context: UnaryContext) => Promise<Response>

/** Where a stream's handler writes. */
export interface ResponseStream<Response> {
  /**
   * Sends one message; resolves when the connection has taken it, so that a slow reader slows the writer.
   *
   * @throws RpcError when the stream is over
   */
  write(response: Response): Promise<void>
  /** Aborted when the stream is over. */
  readonly signal: AbortSignal
}

/** Answers a call with a stream, which ends when the promise resolves, or with an error when it rejects. */
export type StreamHandler<Request, Response> = (
  request: Request,
  stream: ResponseStream<Response>,
  context: CallContext
) => Promise<void>

/** Turns plain functions into gRPC handlers. */
export interface Handlers {
  /**
   * A handler of unary calls. A call without a deadline is refused with INVALID_ARGUMENT, one whose deadline has passed
   * ends with DEADLINE_EXCEEDED, an {@link RpcError} with its code, message and field, any other error with INTERNAL and
   * an opaque text.
   */
  unary<Request, Response>(handler: UnaryHandler<Request, Response>): handleUnaryCall<Request, Response>
  /** A handler of server streams, which need no deadline. Errors end the stream as they end a unary call. */
  serverStreaming<Request, Response>(
    handler: StreamHandler<Request, Response>
  ): handleServerStreamingCall<Request, Response>
}

/** The part of a grpc-js call that both kinds of call share. */
interface Call {
  readonly metadata: Metadata
  getPeer(): string
  getPath(): string
  getDeadline(): Date | number
  on(event: 'cancelled', listener: () => void): unknown
}

/**
 * Makes handlers that write one line a call to `logger`: method, code, duration and, privately, what went wrong. Unary calls
 * are spans, and `observer` is told of them; streams last as long as connections do, and would say nothing as either.
 */
export function createHandlers(logger: Logger, observer?: CallObserver): Handlers {
  return {
    unary: (handler) => (call, callback) => {
      const path = call.getPath()
      const deadline = deadlineOf(call)
      const abort = abortOnCancel(call, deadline)
      const log = startLogging(logger, path)
      const span = startServerSpan(path, call.metadata)
      const finish = (error?: RpcError): void => {
        const durationMs = log(error)
        const code = error?.code ?? status.OK
        span.end(code)
        observer?.(methodLabel(path), status[code], durationMs / 1_000)
      }
      span.within(() => {
        answer(call.request, handler, deadline, { ...describe(call), signal: abort.signal }).then(
          (response) => {
            finish(endOf(abort.signal))
            callback(null, response)
          },
          (error: unknown) => {
            const refusal = refusalOf(error, abort.signal)
            finish(refusal)
            callback(statusOf(refusal))
          }
        )
      })
    },

    serverStreaming: (handler) => (call) => {
      const abort = abortOnCancel(call, deadlineOf(call))
      const finish = startLogging(logger, call.getPath())
      // A stopping server ends its streams by reporting an error on them.
      call.on('error', (error) => {
        abort.abort(error)
      })
      const stream = { write: writerOf(call, abort.signal), signal: abort.signal }
      const run = async (): Promise<void> =>
        handler(call.request, stream, { ...describe(call), signal: abort.signal })
      run().then(
        () => {
          finish(endOf(abort.signal))
          call.end()
        },
        (error: unknown) => {
          const refusal = refusalOf(error, abort.signal)
          finish(refusal)
          call.emit('error', statusOf(refusal) as ServerErrorResponse)
        }
      )
    }
  }
}

async function answer<Request, Response>(
  request: Request,
  handler: UnaryHandler<Request, Response>,
  deadline: Date | undefined,
  context: CallContext
): Promise<Response> {
  if (deadline === undefined) {
    throw new RpcError({ code: status.INVALID_ARGUMENT, message: 'The call has no deadline: set one' })
  }
  if (deadline.getTime() <= Date.now()) throw deadlineExceeded()
  return handler(request, { ...context, deadline })
}

function describe(call: Call): Omit<CallContext, 'signal'> {
  return { metadata: call.metadata, peer: call.getPeer(), method: call.getPath() }
}

/** When the caller stops waiting; `undefined` for a call without a deadline, which grpc-js says with infinity. */
function deadlineOf(call: Call): Date | undefined {
  const deadline = Number(call.getDeadline())
  return Number.isFinite(deadline) ? new Date(deadline) : undefined
}

function deadlineExceeded(): RpcError {
  return new RpcError({ code: status.DEADLINE_EXCEEDED, message: 'Deadline exceeded' })
}

/** grpc-js says `cancelled` for every end it did not expect, a passed deadline included. */
function abortOnCancel(call: Call, deadline: Date | undefined): AbortController {
  const abort = new AbortController()
  call.on('cancelled', () => {
    const late = deadline !== undefined && deadline.getTime() <= Date.now()
    abort.abort(
      late ? deadlineExceeded() : new RpcError({ code: status.CANCELLED, message: 'Call cancelled' })
    )
  })
  return abort
}

/** How the call ended, if it did before its handler. */
function endOf(signal: AbortSignal): RpcError | undefined {
  return signal.aborted && signal.reason instanceof RpcError ? signal.reason : undefined
}

/** How a thrown error ends the call. What is thrown because the call is over is no failure of the handler. */
function refusalOf(error: unknown, signal: AbortSignal): RpcError {
  if (error instanceof RpcError) return error
  const end = endOf(signal)
  if (end !== undefined) return new RpcError({ code: end.code, message: end.message, cause: error })
  return new RpcError({ code: status.INTERNAL, message: 'Internal error', cause: error })
}

function writerOf<Request, Response>(
  call: ServerWritableStream<Request, Response>,
  signal: AbortSignal
): (response: Response) => Promise<void> {
  return (response) =>
    new Promise((resolve, reject) => {
      const onAbort = (): void => {
        reject(signal.reason as Error)
      }
      if (signal.aborted) {
        onAbort()
        return
      }
      // grpc-js never calls back for a message of a cancelled call.
      signal.addEventListener('abort', onAbort, { once: true })
      call.write(response, (error?: Error | null) => {
        signal.removeEventListener('abort', onAbort)
        if (error) reject(error)
        else resolve()
      })
    })
}

/** Starts the clock of a call; the answer writes its line, and tells how long it took, in milliseconds. */
function startLogging(logger: Logger, method: string): (error?: RpcError) => number {
  const startedAt = performance.now()
  return (error) => {
    const durationMs = Math.round((performance.now() - startedAt) * 1_000) / 1_000
    const fields = { method, code: status[error?.code ?? status.OK], durationMs }
    if (error?.code === status.INTERNAL) logger.error({ ...fields, err: error.cause ?? error }, 'call failed')
    else if (error?.cause !== undefined) logger.warn({ ...fields, err: error.cause }, 'call refused')
    else
      logger.info({ ...fields, field: error?.field }, error === undefined ? 'call answered' : 'call refused')
    return durationMs
  }
}
