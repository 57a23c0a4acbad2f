import { afterEach } from '@jest/globals'
import type { Client, UntypedServiceImplementation } from '@grpc/grpc-js'
import { auth, fileDescriptors } from '@open-payments-server/proto'
import { createLogger, type Logger } from '@open-payments-server/runtime'
import {
  type AllowedClients,
  type ChannelOptions,
  createClient,
  createHandlers,
  type GrpcServerOptions,
  type Handlers,
  type RunningGrpcServer,
  startGrpcServer
} from '../src/index.js'

/** Undone after each test, the last made first. */
const cleanUps: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

/** Runs something after the test. */
export function afterTest(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp)
}

/** A line that a call wrote to the log. */
export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Record<string, unknown>
}

/** As pino writes them. */
const LEVELS: Readonly<Record<string, LogLine['level']>> = { 30: 'info', 40: 'warn', 50: 'error' }

/** What every line has. */
const COMMON_FIELDS: ReadonlySet<string> = new Set(['level', 'time', 'service', 'msg'])

/** A log that remembers what is written to it. */
export function recordingLogger(): { logger: Logger; lines: LogLine[] } {
  const lines: LogLine[] = []
  const write = (line: string): void => {
    const told = JSON.parse(line) as Record<string, unknown>
    const fields = Object.entries(told).filter(([name]) => !COMMON_FIELDS.has(name))
    lines.push({ level: LEVELS[String(told.level)] ?? 'error', fields: Object.fromEntries(fields) })
  }
  return { logger: createLogger({ service: 'test', level: 'info', destination: { write } }), lines }
}

/** Handlers under test: of the unary service, and of the one with a stream. */
export interface Implementations {
  readonly limits?: UntypedServiceImplementation
  readonly introspection?: UntypedServiceImplementation
}

/** Starts a server on a free port of the loopback, stopped after the test. */
export async function startServer(
  implement: (handlers: Handlers) => Implementations,
  options: Partial<GrpcServerOptions> = {},
  clients: { limits?: AllowedClients; introspection?: AllowedClients } = {}
): Promise<{ server: RunningGrpcServer; lines: LogLine[] }> {
  const { logger, lines } = recordingLogger()
  const { limits = {}, introspection = {} } = implement(createHandlers(logger))
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    services: [
      { definition: auth.GrantLimitsServiceService, implementation: limits, clients: clients.limits },
      {
        definition: auth.IntrospectionServiceService,
        implementation: introspection,
        clients: clients.introspection
      }
    ],
    reflection: false,
    fileDescriptors,
    logger,
    connectionAgeMaxMs: 60_000,
    messageBytesMax: 65_536,
    ...options
  })
  cleanUps.push(() => server.stop(0))
  return { server, lines }
}

const CHANNEL = { deadlineMs: 5_000, retriesMax: 3, messageBytesMax: 65_536 }

/** A client of the unary service, closed after the test. */
export function limitsClient(
  target: string,
  options: Partial<ChannelOptions> = {}
): auth.GrantLimitsServiceClient {
  return closing(createClient(auth.GrantLimitsServiceClient, { ...CHANNEL, target, ...options }))
}

/** A client of the service with a stream, closed after the test. */
export function introspectionClient(
  target: string,
  options: Partial<ChannelOptions> = {}
): auth.IntrospectionServiceClient {
  return closing(createClient(auth.IntrospectionServiceClient, { ...CHANNEL, target, ...options }))
}

/** Closes a client after the test. */
export function closing<C extends Client>(client: C): C {
  cleanUps.push(() => {
    client.close()
  })
  return client
}

/** A request, told apart by its payment id. */
export function reserveRequest(paymentId = 'payment'): auth.ReserveRequest {
  return auth.ReserveRequest.fromPartial({ reservations: [{ paymentId }] })
}

/** An answer, told apart by its grant id. */
export function reserveResponse(grantId = 'grant'): auth.ReserveResponse {
  return auth.ReserveResponse.fromPartial({
    results: [{ result: { $case: 'reserved', value: { grantId } } }]
  })
}

/** A promise and the means to settle it from elsewhere. */
export function promiseWithResolvers<Value = void>(): {
  promise: Promise<Value>
  resolve: (value: Value) => void
} {
  let resolve: (value: Value) => void = () => undefined
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** What a promise rejects with. Fails when it does not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('expected a rejection')
    },
    (error: unknown) => error
  )
}
