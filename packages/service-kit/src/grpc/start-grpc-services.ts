import {
  type GrpcService,
  type RunningGrpcServer,
  startGrpcServer,
  type WatchedTlsFiles
} from '@open-payments-server/grpc-transport'
import { fileDescriptors } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'

/** Maximum size of a message between the services, in bytes: a full page of a list, with room to spare. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024

/** What the gRPC server of a service needs. */
export interface GrpcServicesOptions {
  readonly config: {
    readonly GRPC_HOST: string
    readonly GRPC_PORT: number
    readonly GRPC_REFLECTION: boolean
    readonly GRPC_CONNECTION_AGE_SECONDS: number
  }
  readonly services: readonly GrpcService[]
  readonly logger: Logger
  /** Its certificate, and the authorities of its clients; plain text without. */
  readonly tls?: WatchedTlsFiles | undefined
}

/**
 * Starts the gRPC server of a service: what it serves of the contract, health, and reflection if enabled.
 *
 * @throws Error when it cannot listen
 */
export function startGrpcServices(options: GrpcServicesOptions): Promise<RunningGrpcServer> {
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
    messageBytesMax: MESSAGE_BYTES_MAX
  })
}
