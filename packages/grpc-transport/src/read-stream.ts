import {
  type CallOptions,
  type Client,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
  status
} from '@grpc/grpc-js'
import { errorOf, RpcError } from './rpc-error.js'

/** A server-streaming method of a generated client: the widest of its overloads. */
type StreamingMethod<Request, Response> = (
  request: Request,
  metadata?: Metadata,
  options?: Partial<CallOptions>
) => ClientReadableStream<Response>

// The overload that inference sees is the last one, which is the widest.
type MethodOf<Method> = Method extends (
  request: infer Request,
  metadata?: Metadata,
  options?: Partial<CallOptions>
) => ClientReadableStream<infer Response>
  ? { request: Request; response: Response }
  : never

/** Names of the server-streaming methods of a generated client. */
export type StreamingMethodName<C extends Client> = {
  [Name in Exclude<keyof C, keyof Client>]: [MethodOf<C[Name]>] extends [never] ? never : Name
}[Exclude<keyof C, keyof Client>]

/** Options of reading a stream. */
export interface ReadStreamOptions {
  /** Cancels the stream. */
  readonly signal: AbortSignal
  /**
   * Maximum silence, from the opening on, in milliseconds: for streams with heartbeats. Unlike keepalives, which the next
   * proxy answers, heartbeats show that the writer of the stream is alive. No limit unless given.
   */
  readonly silenceMaxMs?: number | undefined
}

/**
 * Opens a server stream and yields its messages, no faster than they are consumed. It ends when the server ends it, and is
 * cancelled when the loop over it is left, or by `signal`. It is not reopened when it breaks.
 *
 * @param method name of the method, for example `'watchRevocations'`
 * @throws RpcError when the stream failed or broke, was cancelled by `signal`, or fell silent (UNAVAILABLE)
 */
export async function* readStream<C extends Client, Name extends StreamingMethodName<C>>(
  client: C,
  method: Name,
  request: MethodOf<C[Name]>['request'],
  { signal, silenceMaxMs }: ReadStreamOptions
): AsyncGenerator<MethodOf<C[Name]>['response'], void, undefined> {
  type Message = MethodOf<C[Name]>['response']
  // StreamingMethodName admits only names of methods of this shape.
  const open = (client[method] as StreamingMethod<typeof request, Message>).bind(client)
  const stream = open(request, new Metadata())
  const cancel = (): void => {
    stream.cancel()
  }
  // A failure is thrown by the loop below; one after the loop was left does not matter.
  stream.on('error', () => undefined)
  if (signal.aborted) cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const silent = new AbortController()
  const silence =
    silenceMaxMs === undefined
      ? undefined
      : setTimeout(() => {
          silent.abort()
          cancel()
        }, silenceMaxMs)
  try {
    for await (const message of stream as AsyncIterable<Message>) {
      silence?.refresh()
      yield message
    }
  } catch (error) {
    if (silent.signal.aborted)
      throw new RpcError({ code: status.UNAVAILABLE, message: 'The stream fell silent', cause: error })
    throw errorOf(error as ServiceError)
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}
