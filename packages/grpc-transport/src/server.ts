import {
  type handleServerStreamingCall,
  Server,
  ServerCredentials,
  type ServerOptions,
  type ServerWritableStream,
  type ServiceDefinition,
  status,
  type UntypedHandleCall,
  type UntypedServiceImplementation
} from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import type { Logger } from '@open-payments-server/runtime'
import { HealthImplementation, type ServingStatus } from 'grpc-health-check'
import { type AllowedClients, allowClients } from './client-names.js'
import { RpcError, statusOf } from './rpc-error.js'
import { createServerCredentials } from './tls-credentials.js'
import type { WatchedTlsFiles } from './watched-tls-files.js'

/** Maximum number of concurrent calls of one connection. */
const CONCURRENT_CALLS_PER_CONNECTION_MAX = 1_000

/** How long calls may continue on a connection that is being closed: longer than the longest, an audit. */
const CONNECTION_GRACE_MS = 10 * 60_000

/** Shares of that grace within which a stream is ended, at random so that not all end together. */
const STREAM_AGE = { min: 0.8, max: 0.9 }

/** The name of the whole server in the health service (gRPC health checking protocol). */
const WHOLE_SERVER = ''

/** A service and its handlers. */
export interface GrpcService {
  /** The generated definition. */
  readonly definition: ServiceDefinition
  /** Its handlers, made with `createHandlers`. */
  readonly implementation: UntypedServiceImplementation
  /** Certificate names that may call it: none unless given. Without TLS, anyone who reaches it may. */
  readonly clients?: AllowedClients | undefined
}

/** Settings of a gRPC server. */
export interface GrpcServerOptions {
  /** Address to listen on. */
  readonly host: string
  /** Port to listen on; 0 for any free one. */
  readonly port: number
  /** Its certificate, and the authorities of its clients; plain text without. */
  readonly tls?: WatchedTlsFiles | undefined
  /** What is served. */
  readonly services: readonly GrpcService[]
  /** Whether the server describes its services on request (gRPC server reflection). Off in production. */
  readonly reflection: boolean
  /** The contract for reflection: one encoded `google.protobuf.FileDescriptorProto` per file. */
  readonly fileDescriptors: readonly Uint8Array[]
  readonly logger: Logger
  /**
   * Age at which a connection is closed gracefully, so that clients present their certificates anew. It varies by a tenth, so that not all close at once.
   */
  readonly connectionAgeMaxMs: number
  /**
   * How long calls may continue after that; default {@link CONNECTION_GRACE_MS}. A stream does not get older than this,
   * whatever the age of its connection: it ends with UNAVAILABLE before it could be cut off without a status.
   */
  readonly connectionGraceMs?: number | undefined
  /** Maximum size of a message. */
  readonly messageBytesMax: number
}

/** A gRPC server that listens. */
export interface RunningGrpcServer {
  /** Port it listens on. */
  readonly port: number
  /** `host:port` it listens on, as a client's target. */
  readonly address: string
  /** Sets the answer of health checks. A server starts as serving. */
  setServing(serving: boolean): void
  /** Reports NOT_SERVING, but keeps serving. */
  announceStop(): void
  /**
   * Stops: reports NOT_SERVING, ends the streams with UNAVAILABLE, accepts no more calls, waits for the running ones, and
   * cuts off those that still run after `graceMs`. May be called again.
   */
  stop(graceMs: number): Promise<void>
}

/**
 * Starts a gRPC server with the health service and, if enabled, reflection.
 *
 * @throws Error when it cannot listen
 */
export async function startGrpcServer(options: GrpcServerOptions): Promise<RunningGrpcServer> {
  const { logger, connectionGraceMs = CONNECTION_GRACE_MS } = options
  const server = new Server(serverOptions(options, connectionGraceMs))
  const streams = new OpenStreams(connectionGraceMs)
  const add = (definition: ServiceDefinition, implementation: UntypedServiceImplementation): void => {
    server.addService(definition, trackStreams(definition, implementation, streams))
  }
  for (const service of options.services) add(service.definition, service.implementation)

  const names = options.services.map((service) => serviceName(service.definition))
  const health = new HealthImplementation()
  const setServing = (serving: boolean): void => {
    const servingStatus: ServingStatus = serving ? 'SERVING' : 'NOT_SERVING'
    for (const name of [WHOLE_SERVER, ...names]) health.setStatus(name, servingStatus)
  }
  health.addToServer({ addService: add })
  if (options.reflection) addReflection(server, options.fileDescriptors, names)

  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  const port = await bind(server, `${host}:${String(options.port)}`, options.tls)
  setServing(true)
  logger.info(
    { host: options.host, port, services: names, tls: options.tls !== undefined },
    'gRPC server listens'
  )

  let stopping: Promise<void> | undefined
  return {
    port,
    address: `${host}:${String(port)}`,
    setServing,
    announceStop() {
      setServing(false)
    },
    stop(graceMs) {
      stopping ??= (async () => {
        setServing(false)
        streams.end('The server is stopping')
        if (!(await shutDown(server, graceMs)))
          logger.warn({ graceMs }, 'gRPC calls cut off after the grace period')
      })()
      return stopping
    }
  }
}

/** There are no keepalives: Node answers none after GOAWAY, and grpc-js would cut off every call that still runs then. */
function serverOptions(options: GrpcServerOptions, connectionGraceMs: number): ServerOptions {
  return {
    interceptors: options.tls === undefined ? [] : [allowClients(options.services, options.logger)],
    'grpc.max_connection_age_ms': options.connectionAgeMaxMs,
    'grpc.max_connection_age_grace_ms': connectionGraceMs,
    'grpc.max_concurrent_streams': CONCURRENT_CALLS_PER_CONNECTION_MAX,
    'grpc.max_receive_message_length': options.messageBytesMax,
    'grpc.max_send_message_length': options.messageBytesMax,
    // If this is off, grpc-js 1.14 does not track its connections, and a forced shutdown cuts none of them off.
    'grpc.enable_channelz': 1
  }
}

/** Full name of a service, from the path of its methods: `/<service>/<method>`. */
function serviceName(definition: ServiceDefinition): string {
  const [method] = Object.values(definition)
  const name = method?.path.split('/')[1]
  if (name === undefined) throw new Error('A gRPC service must have a method')
  return name
}

function bind(server: Server, address: string, tls: WatchedTlsFiles | undefined): Promise<number> {
  const credentials = tls === undefined ? ServerCredentials.createInsecure() : createServerCredentials(tls)
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port)
      else reject(error)
    })
  })
}

/** A call that is answered with a stream. */
type StreamingCall = ServerWritableStream<unknown, unknown>

/** The open streams of a server: one may never end by itself, but neither a stop nor an old connection waits for it. */
class OpenStreams {
  readonly #connectionGraceMs: number
  readonly #streams = new Set<StreamingCall>()

  constructor(connectionGraceMs: number) {
    this.#connectionGraceMs = connectionGraceMs
  }

  add(stream: StreamingCall): void {
    const share = STREAM_AGE.min + Math.random() * (STREAM_AGE.max - STREAM_AGE.min)
    const ending = setTimeout(() => {
      endStream(stream, 'The stream has lasted long enough: call again')
    }, this.#connectionGraceMs * share).unref()
    this.#streams.add(stream)
    stream.once('cancelled', () => {
      clearTimeout(ending)
      this.#streams.delete(stream)
    })
  }

  /** Ends all with UNAVAILABLE, for that reason. */
  end(reason: string): void {
    for (const stream of this.#streams) endStream(stream, reason)
  }
}

function endStream(stream: StreamingCall, message: string): void {
  const error = new RpcError({ code: status.UNAVAILABLE, message })
  stream.emit('error', Object.assign(error, statusOf(error)))
}

/** Tracks the open streams of a service. */
function trackStreams(
  definition: ServiceDefinition,
  implementation: UntypedServiceImplementation,
  streams: OpenStreams
): UntypedServiceImplementation {
  const tracked: UntypedServiceImplementation = {}
  for (const [name, method] of Object.entries(definition)) {
    // Like grpc-js, which looks for a handler under either name.
    const handler = implementation[name] ?? implementation[method.originalName ?? name]
    if (handler === undefined) continue
    const track = (call: StreamingCall): void => {
      streams.add(call)
      ;(handler as handleServerStreamingCall<unknown, unknown>).call(implementation, call)
    }
    const isServerStream = method.responseStream && !method.requestStream
    tracked[name] = isServerStream ? track : handler.bind<UntypedHandleCall>(implementation)
  }
  return tracked
}

/** Waits for the running calls; resolves to whether they ended by themselves. */
function shutDown(server: Server, graceMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      server.forceShutdown()
      resolve(false)
    }, graceMs)
    server.tryShutdown((error) => {
      clearTimeout(timer)
      if (error === undefined) resolve(true)
      else reject(error)
    })
  })
}

/** The library takes the definitions of a `.proto` loader, but reads only the encoded files. */
function addReflection(server: Server, fileDescriptors: readonly Uint8Array[], services: string[]): void {
  const contract = {
    format: 'Protocol Buffer 3 EnumDescriptorProto' as const,
    type: {},
    fileDescriptorProtos: fileDescriptors.map((file) => Buffer.from(file))
  }
  new ReflectionService({ contract }, { services }).addToServer(server)
}
