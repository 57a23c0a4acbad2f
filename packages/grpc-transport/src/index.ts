export { type CallObserver, type ClientObserver, observeCalls } from './call-observer.js'
export {
  callUnary,
  type RequestOf,
  type ResponseOf,
  type UnaryCallOptions,
  type UnaryMethodName
} from './call-unary.js'
export type { AllowedClients } from './client-names.js'
export { type ChannelOptions, createClient, RETRIES_MAX, shareChannel } from './client.js'
export {
  type CallContext,
  createHandlers,
  type Handlers,
  type ResponseStream,
  type StreamHandler,
  type UnaryContext,
  type UnaryHandler,
  type UnaryMethod
} from './handlers.js'
export { readStream } from './read-stream.js'
export { whenReady } from './ready.js'
export { isRpcError, RpcError } from './rpc-error.js'
export {
  type GrpcServerOptions,
  type GrpcService,
  type RunningGrpcServer,
  startGrpcServer
} from './server.js'
export { isLoopbackTarget, isNamedTarget } from './targets.js'
export { type TlsFiles, tlsFilesOf } from './tls-files.js'
export { findUnsafeConnection } from './unsafe-connection.js'
export { openTls, type WatchedTlsFiles, watchTlsFiles } from './watched-tls-files.js'
// Exported here too, so that features can name a code without depending on grpc-js.
export { Metadata, type MethodDefinition, type ServiceDefinition, status } from '@grpc/grpc-js'
