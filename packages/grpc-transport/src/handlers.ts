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
import { readClientNames } from './client-names.js'
import { RpcError, statusOf } from './rpc-error.js'

/** Information about the call besides its request. */
export interface CallContext {
  /** Aborted when the caller cancelled or hung up, the deadline passed, or the server stops. */
  readonly signal: AbortSignal
  /** Metadata from the caller. */
  readonly metadata: Metadata
  /** Address and port of the caller. */
  readonly peer: string
  /** Names in the caller's certificate: URIs and DNS names. None without mutual TLS. Whoever wraps handlers may name the person instead for whom the caller acts. */
  readonly clientNames: readonly string[]
  /** Full name of the method, for example `/openpayments.auth.v1.GrantLimitsService/Reserve`. */
  readonly method: string
}

/** Information about a unary call besides its request. */
export interface UnaryContext extends CallContext {
  /** When the caller stops waiting. */
  readonly deadline: Date
}

/** Answers a unary call, or throws an {@link RpcError} to refuse it. */
export type UnaryHandler<Request, Response> = (request: Request, context: UnaryContext) => Promise<Response>

/** Writer of a stream's handler. */
export interface ResponseStream<Response> {
  /**
   * Sends one message; resolves when the connection has accepted it, so that a slow reader slows the writer.
   *
   * @throws RpcError when the stream has ended
   */
  write(response: Response): Promise<void>
  /** Aborted when the stream has ended. */
  readonly signal: AbortSignal
}

/** Answers a call with a stream, which ends when the promise resolves, or with an error when it rejects. */
export type StreamHandler<Request, Response> = (
  request: Request,
  stream: ResponseStream<Response>,
  context: CallContext
) => Promise<void>

/** A handler of unary calls, as grpc-js takes it. */
export type UnaryMethod<Request, Response> = handleUnaryCall<Request, Response>

/** Turns plain functions into gRPC handlers. */
export interface Handlers {
  /**
   * A handler of unary calls. A call without a deadline is refused with INVALID_ARGUMENT, one whose deadline has passed
   * ends with DEADLINE_EXCEEDED, an {@link RpcError} with its code, message and field, any other error with INTERNAL and
   * an opaque text.
   */
  unary<Request, Response>(handler: UnaryHandler<Request, Response>): UnaryMethod<Request, Response>
  /** A handler of server streams, which need no deadline. Errors end the stream as they end a unary call. */
  serverStreaming<Request, Response>(
    handler: StreamHandler<Request, Response>
  ): handleServerStreamingCall<Request, Response>
}

/** The part of a grpc-js call that both kinds of calls share. */
interface Call {
  readonly metadata: Metadata
  getPeer(): string
  getPath(): string
  getAuthContext(): { readonly sslPeerCertificate?: { readonly subjectaltname?: string | undefined } }
  getDeadline(): Date | number
  on(event: 'cancelled', listener: () => void): unknown
}

/**
 * Creates handlers that log one line per call to `logger`: method, code, duration and, privately, the error. Unary calls
 * are spans, and are observed by `observer`. Streams are neither: they last as long as connections do.
 */
export function createHandlers(logger: Logger, observer?: CallObserver): Handlers {
  const startLogging = createCallLog(logger)
  return {
    unary: (handler) => (call, callback) => {
      const path = call.getPath()
      const running = new RunningCall(call, path)
      const log = startLogging(path)
      const span = startServerSpan(path, call.metadata)
      const finish = (error?: RpcError): void => {
        const durationMs = log(error)
        const code = error?.code ?? status.OK
        running.isAnswered = true
        span.end(code)
        observer?.(methodLabel(path), status[code], durationMs / 1_000)
      }
      span.within(() => {
        answer(call.request, handler, running).then(
          (response) => {
            finish(running.end)
            callback(null, response)
          },
          (error: unknown) => {
            const refusal = refusalOf(error, running.end)
            finish(refusal)
            callback(statusOf(refusal))
          }
        )
      })
    },

    serverStreaming: (handler) => (call) => {
      const running = new RunningCall(call, call.getPath())
      const finish = startLogging(call.getPath())
      // A stopping server ends its streams by reporting an error on them.
      call.on('error', (error) => {
        running.abort(error)
      })
      const stream = { write: writerOf(call, running.signal), signal: running.signal }
      const run = async (): Promise<void> => handler(call.request, stream, running)
      run().then(
        () => {
          finish(running.end)
          call.end()
        },
        (error: unknown) => {
          const refusal = refusalOf(error, running.end)
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
  running: RunningCall
): Promise<Response> {
  if (!running.hasDeadline()) {
    throw new RpcError({ code: status.INVALID_ARGUMENT, message: 'The call has no deadline: set one' })
  }
  if (running.deadline.getTime() <= Date.now()) throw deadlineExceeded()
  return handler(request, running)
}

/** A call that is being answered. Rarely needed information is created on demand. */
class RunningCall implements CallContext {
  readonly method: string
  readonly peer: string
  /** undefined for a call without one, which grpc-js reports as infinity. */
  readonly deadline: Date | undefined
  /** Whether its answer is being sent: anything that happens to the call after that does not matter. */
  isAnswered = false
  readonly #call: Call
  #abort: AbortController | undefined
  #reason: unknown

  constructor(call: Call, method: string) {
    const deadlineMs = Number(call.getDeadline())
    this.method = method
    // Unknown after the caller disconnected.
    this.peer = call.getPeer()
    this.deadline = Number.isFinite(deadlineMs) ? new Date(deadlineMs) : undefined
    this.#call = call
    // grpc-js reports this at every end, even of a call that was answered, and of one whose deadline passed.
    call.on('cancelled', () => {
      if (this.isAnswered) return
      const late = this.deadline !== undefined && this.deadline.getTime() <= Date.now()
      this.abort(
        late ? deadlineExceeded() : new RpcError({ code: status.CANCELLED, message: 'Call cancelled' })
      )
    })
  }

  get metadata(): Metadata {
    return this.#call.metadata
  }

  get clientNames(): readonly string[] {
    return readClientNames(this.#call.getAuthContext().sslPeerCertificate?.subjectaltname)
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#reason !== undefined) this.#abort.abort(this.#reason)
    }
    return this.#abort.signal
  }

  /** How the call ended, if before its handler. */
  get end(): RpcError | undefined {
    return this.#reason instanceof RpcError ? this.#reason : undefined
  }

  hasDeadline(): this is UnaryContext {
    return this.deadline !== undefined
  }

  /** Tells the handler that the call has ended; only the first reason counts. */
  abort(reason: unknown): void {
    this.#reason ??= reason
    this.#abort?.abort(this.#reason)
  }
}

function deadlineExceeded(): RpcError {
  return new RpcError({ code: status.DEADLINE_EXCEEDED, message: 'Deadline exceeded' })
}

/** How a thrown error ends the call. An error caused by the end of the call is not the handler's failure. */
function refusalOf(error: unknown, end: RpcError | undefined): RpcError {
  if (error instanceof RpcError) return error
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

/** Starts timing a call. The returned function logs the call and returns how long it took, in milliseconds. */
function createCallLog(logger: Logger): (method: string) => (error?: RpcError) => number {
  // What most lines tell is a number and words from closed sets: nothing that would have to be looked through for secrets.
  const answered = logger.child({}, { redact: [] })
  return (method) => {
    const startedAt = performance.now()
    return (error) => {
      const durationMs = Math.round((performance.now() - startedAt) * 1_000) / 1_000
      if (error === undefined) {
        answered.info({ method, code: status[status.OK], durationMs }, 'call answered')
        return durationMs
      }
      const fields = { method, code: status[error.code], durationMs }
      if (error.code === status.INTERNAL)
        logger.error({ ...fields, err: error.cause ?? error }, 'call failed')
      else if (error.cause !== undefined) logger.warn({ ...fields, err: error.cause }, 'call refused')
      else logger.info({ ...fields, field: error.field }, 'call refused')
      return durationMs
    }
  }
}
