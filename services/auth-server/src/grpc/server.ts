import {
  type GrpcService,
  type RunningGrpcServer,
  startGrpcServer,
  type WatchedTlsFiles
} from '@open-payments-server/grpc-transport'
import { fileDescriptors } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { AuthServerConfig } from '../config.js'

/** Maximum size of a message: a full page of grants or reservations, with room to spare. */
export const GRPC_MESSAGE_BYTES_MAX = 4 * 1024 * 1024

/** What the gRPC server needs. */
export interface AuthGrpcServerOptions {
  readonly config: Pick<
    AuthServerConfig,
    'GRPC_HOST' | 'GRPC_PORT' | 'GRPC_REFLECTION' | 'GRPC_CONNECTION_AGE_SECONDS'
  >
  /** From `createGrpcServices`. */
  readonly services: readonly GrpcService[]
  readonly logger: Logger
  /** Its certificate, and the authorities of its clients; plain text without. */
  readonly tls?: WatchedTlsFiles | undefined
}

/**
 * Starts the gRPC server: the services, health, and reflection if enabled.
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
    connectionAgeMaxMs: config.GRPC_CONNECTION_AGE_SECONDS * 1_000,
    messageBytesMax: GRPC_MESSAGE_BYTES_MAX
  })
}
