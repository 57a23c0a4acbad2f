import { setTimeout as delay } from 'node:timers/promises'
import {
  type CallOptions,
  type Client,
  type ClientUnaryCall,
  type Metadata,
  type ServiceError,
  status
} from '@grpc/grpc-js'
import { methodLabel, observerOf } from './call-observer.js'
import { startClientSpan } from './call-span.js'
import { settingsOf } from './client.js'
import { errorOf, isRpcError, RpcError } from './rpc-error.js'

/** Maximum pause before the first retry; it doubles with each one. */
const RETRY_BACKOFF_MS = 100

/** A unary method of a generated client: the widest of its overloads. */
type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void
) => ClientUnaryCall

// The overload that inference sees is the last one, which is the widest.
type MethodOf<Method> = Method extends (
  request: infer Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: infer Response) => void
) => ClientUnaryCall
  ? { request: Request; response: Response }
  : never

/** Names of the unary methods of a generated client. */
export type UnaryMethodName<C extends Client> = {
  [Name in Exclude<keyof C, keyof Client>]: [MethodOf<C[Name]>] extends [never] ? never : Name
}[Exclude<keyof C, keyof Client>]

/** Request type of a method of a generated client. */
export type RequestOf<C extends Client, Name extends UnaryMethodName<C>> = MethodOf<C[Name]>['request']

/** Response type of a method of a generated client. */
export type ResponseOf<C extends Client, Name extends UnaryMethodName<C>> = MethodOf<C[Name]>['response']

/** Options of one call. */
export interface UnaryCallOptions {
  /** How long the call may take, retries included; the channel's `deadlineMs` unless given. */
  readonly deadlineMs?: number | undefined
  /** When the call must have ended, retries included. With `deadlineMs` too, the earlier of the two counts. */
  readonly deadline?: Date | undefined
  /** Whether the call may be repeated: twice must have the same effect as once. */
  readonly idempotent: boolean
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined
  /** Sent along. */
  readonly metadata?: Metadata | undefined
}

/**
 * Calls a unary method of a generated client, always with a deadline. Only a call that may be repeated is retried, and only
 * on UNAVAILABLE: at most the channel's `retriesMax` times, with growing, random pauses, and never past the deadline.
 *
 * @param client a client from `createClient`
 * @param method name of the method, for example `'reserve'`
 * @throws RpcError with the code, message and field the server refused with, or with a code of the transport: UNAVAILABLE,
 *   DEADLINE_EXCEEDED, CANCELLED, INTERNAL
 */
export async function callUnary<C extends Client, Name extends UnaryMethodName<C>>(
  client: C,
  method: Name,
  request: RequestOf<C, Name>,
  options: UnaryCallOptions
): Promise<ResponseOf<C, Name>> {
  const settings = settingsOf(client)
  const observer = observerOf(client)
  // UnaryMethodName allows only names of methods of this shape, and generated ones have their path.
  const unary = client[method] as UnaryMethod<RequestOf<C, Name>, ResponseOf<C, Name>> & { path: string }
  const label = methodLabel(unary.path)
  const span = startClientSpan(unary.path, options.metadata)
  const startedAt = performance.now()
  let retries = 0
  const end = (code: status): void => {
    span.end(code, retries)
    observer?.ended(label, status[code], (performance.now() - startedAt) / 1_000)
  }
  const deadline = deadlineOf(options, settings.deadlineMs)
  const sent = { ...options, metadata: span.metadata }
  try {
    const response = await retrying(() => attempt(unary.bind(client), request, deadline, sent), {
      deadline,
      signal: options.signal,
      retriesMax: options.idempotent ? settings.retriesMax : 0,
      onRetry: () => {
        retries += 1
        observer?.retried(label)
      }
    })
    end(status.OK)
    return response
  } catch (error) {
    end(error instanceof RpcError ? error.code : status.UNKNOWN)
    throw error
  }
}

interface Retries {
  readonly deadline: Date
  readonly retriesMax: number
  readonly signal: AbortSignal | undefined
  readonly onRetry: () => void
}

async function retrying<Response>(
  attempting: () => Promise<Response>,
  { deadline, retriesMax, signal, onRetry }: Retries
): Promise<Response> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await attempting()
    } catch (error) {
      if (!isRpcError(error, status.UNAVAILABLE) || retries >= retriesMax) throw error
      const pauseMs = backoffMs(retries)
      if (Date.now() + pauseMs >= deadline.getTime()) throw error
      await pause(pauseMs, signal)
      onRetry()
    }
  }
}

function deadlineOf(options: UnaryCallOptions, defaultMs: number): Date {
  const { deadline, deadlineMs } = options
  if (deadline !== undefined && deadlineMs === undefined) return deadline
  const own = Date.now() + (deadlineMs ?? defaultMs)
  return new Date(Math.min(own, deadline?.getTime() ?? own))
}

/** Between half and the whole of a doubling pause, so that clients that failed together do not return together. */
function backoffMs(retries: number): number {
  const longestMs = RETRY_BACKOFF_MS * 2 ** retries
  return (longestMs / 2) * (1 + Math.random())
}

async function pause(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(pauseMs, undefined, { signal })
  } catch (error) {
    throw cancelled(error)
  }
}

function cancelled(cause: unknown): RpcError {
  return new RpcError({ code: status.CANCELLED, message: 'Call cancelled', cause })
}

function attempt<Request, Response>(
  invoke: UnaryMethod<Request, Response>,
  request: Request,
  deadline: Date,
  { metadata, signal }: { readonly metadata: Metadata; readonly signal?: AbortSignal | undefined }
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(cancelled(signal.reason))
      return
    }
    const call = invoke(request, metadata, { deadline }, (error, response) => {
      signal?.removeEventListener('abort', onAbort)
      if (error === null) resolve(response)
      else reject(errorOf(error))
    })
    const onAbort = (): void => {
      call.cancel()
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
