import {
  type CallOptions,
  type Client,
  type ClientReadableStream,
  Metadata,
  type ServiceError
} from '@grpc/grpc-js'
import { errorOf } from './rpc-error.js'

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

/**
 * Opens a server stream and yields its messages, no faster than they are taken. It ends when the server ends it, and is
 * cancelled when the loop over it is left, or by `signal`. It is not opened again when it breaks.
 *
 * @param method name of the method, for example `'watchRevocations'`
 * @throws RpcError when the stream failed or broke, or was cancelled by `signal`
 */
export async function* readStream<C extends Client, Name extends StreamingMethodName<C>>(
  client: C,
  method: Name,
  request: MethodOf<C[Name]>['request'],
  options: { readonly signal: AbortSignal }
): AsyncGenerator<MethodOf<C[Name]>['response'], void, undefined> {
  type Message = MethodOf<C[Name]>['response']
  // StreamingMethodName admits only names of methods of this shape.
  const open = (client[method] as StreamingMethod<typeof request, Message>).bind(client)
  const stream = open(request, new Metadata())
  const cancel = (): void => {
    stream.cancel()
  }
  // A failure is thrown by the loop below; one that follows leaving the loop concerns nobody.
  stream.on('error', () => undefined)
  if (options.signal.aborted) cancel()
  options.signal.addEventListener('abort', cancel, { once: true })
  try {
    yield* stream as AsyncIterable<Message>
  } catch (error) {
    throw errorOf(error as ServiceError)
  } finally {
    options.signal.removeEventListener('abort', cancel)
    cancel()
  }
}
