import {
  type GrpcService,
  type RunningGrpcServer,
  startGrpcServer,
  type WatchedTlsFiles
} from '@open-payments-server/grpc-transport'
import { fileDescriptors } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { AuthServerConfig } from '../config.js'

/** Largest message that is received or sent: a full page of grants or reservations, with room to spare. */
export const GRPC_MESSAGE_BYTES_MAX = 4 * 1024 * 1024

/** Age at which a connection is closed gently, so that clients find replicas that were added and show their certificates. */
export const GRPC_CONNECTION_AGE_MAX_MS = 30 * 60_000

/** What the gRPC server needs. */
export interface AuthGrpcServerOptions {
  readonly config: Pick<AuthServerConfig, 'GRPC_HOST' | 'GRPC_PORT' | 'GRPC_REFLECTION'>
  /** From `createGrpcServices`. */
  readonly services: readonly GrpcService[]
  readonly logger: Logger
  /** Its certificate, and whose clients it takes; plain text without. */
  readonly tls?: WatchedTlsFiles | undefined
}

/**
 * Starts the gRPC server: the services, health, and reflection where it is switched on.
 *
 * @throws Error when it cannot listen
 */
export function startAuthGrpcServer(options: AuthGrpcServerOptions): Promise<RunningGrpcServer> {
  const { config, services, logger, tls } = options
  return startGrpcServer({
    host: config.GRPC_HOST,
    port: config.GRPC_PORT,
    tls,
    services,
    reflection: config.GRPC_REFLECTION,
    fileDescriptors,
    logger,
    connectionAgeMaxMs: GRPC_CONNECTION_AGE_MAX_MS,
    messageBytesMax: GRPC_MESSAGE_BYTES_MAX
  })
}
