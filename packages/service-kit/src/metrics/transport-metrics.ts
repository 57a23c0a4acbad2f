import type { RequestObserver } from '@open-payments-server/http-server'
import type { Metrics } from './metrics.js'

/** Upper bounds of durations, in seconds: from what memory answers to the longest that anything may take. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** The part of a pool of connections that is measured: that of `pg`. */
export interface MeasuredPool {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  readonly options: { readonly max: number }
}

/** Observers of the transports. */
export interface TransportMetrics<Listener extends string> {
  /** Observes the requests of a listener. */
  readonly http: Readonly<Record<Listener, RequestObserver>>
  /** Looks at the connections of a listener whenever they are scraped. */
  readonly watchListener: (listener: Listener, server: { readonly openConnections: number }) => void
  /** Observes answered calls. */
  readonly grpcServer: (method: string, code: string, durationSeconds: number) => void
  /** Observes outgoing calls. */
  readonly grpcClient: {
    readonly ended: (method: string, code: string, durationSeconds: number) => void
    readonly retried: (method: string) => void
  }
  /** Is told how long a connection to the database was waited for. */
  readonly connectionAcquired: (durationSeconds: number) => void
  /** Looks at a pool whenever it is scraped. */
  readonly watchPool: (pool: MeasuredPool) => void
}

/** A service whose transports are measured. */
interface MeasuredService<Listener extends string> {
  /** Its HTTP listeners. */
  readonly listeners: readonly Listener[]
  readonly version: string
}

/** Publishes what `docs/metrics.md` lists of the transports of a service with gRPC and a database. */
export function publishTransports<Listener extends string>(
  metrics: Metrics,
  service: MeasuredService<Listener>
): TransportMetrics<Listener> {
  const served = metrics.addHistogram(
    {
      name: 'open_payments_grpc_server_call_duration_seconds',
      help: 'How long unary gRPC calls took to answer.'
    },
    ['method', 'code'],
    DURATION_BUCKETS
  )
  return {
    ...publishClientTransports(metrics, service),
    grpcServer(method, code, durationSeconds) {
      served({ method, code }, durationSeconds)
    },
    ...publishDatabase(metrics)
  }
}

/** Publishes what `docs/metrics.md` lists of the transports of a service that only calls others, and has no database. */
export function publishClientTransports<Listener extends string>(
  metrics: Metrics,
  { listeners, version }: MeasuredService<Listener>
): Pick<TransportMetrics<Listener>, 'http' | 'watchListener' | 'grpcClient'> {
  metrics.addInfo(
    { name: 'open_payments_build_info', help: 'Always 1: which version runs, on which version of Node.' },
    { version, node: process.versions.node }
  )
  const called = metrics.addHistogram(
    {
      name: 'open_payments_grpc_client_call_duration_seconds',
      help: 'How long unary gRPC calls took that this service made, retries included.'
    },
    ['method', 'code'],
    DURATION_BUCKETS
  )
  return {
    http: publishHttp(metrics, listeners),
    watchListener: publishConnections(metrics),
    grpcClient: {
      ended(method, code, durationSeconds) {
        called({ method, code }, durationSeconds)
      },
      retried: metrics.addLabelledCounter(
        {
          name: 'open_payments_grpc_client_retries_total',
          help: 'How often a gRPC call was made once more because the other side was unavailable.'
        },
        'method'
      )
    }
  }
}

function publishHttp<Listener extends string>(
  metrics: Metrics,
  listeners: readonly Listener[]
): Record<Listener, RequestObserver> {
  const observe = metrics.addHistogram(
    {
      name: 'open_payments_http_request_duration_seconds',
      help: 'How long requests took from their headers until their answers were sent.'
    },
    ['listener', 'method', 'route', 'status'],
    DURATION_BUCKETS
  )
  const inFlight = Object.fromEntries(listeners.map((listener) => [listener, 0])) as Record<Listener, number>
  const observers = listeners.map((listener) => [
    listener,
    {
      started() {
        inFlight[listener] += 1
      },
      ended({ method, route, status }, durationSeconds) {
        inFlight[listener] -= 1
        observe({ listener, method, route, status: String(status) }, durationSeconds)
      }
    } satisfies RequestObserver
  ])
  metrics.addLiveGauges(
    { name: 'open_payments_http_requests_in_flight', help: 'Requests that are being answered.' },
    'listener',
    () => inFlight
  )
  return Object.fromEntries(observers) as Record<Listener, RequestObserver>
}

function publishConnections(
  metrics: Metrics
): (listener: string, server: { readonly openConnections: number }) => void {
  const servers = new Map<string, { readonly openConnections: number }>()
  metrics.addLiveGauges(
    { name: 'open_payments_http_connections', help: 'Open connections of clients.' },
    'listener',
    () =>
      Object.fromEntries([...servers].map(([listener, { openConnections }]) => [listener, openConnections]))
  )
  return (listener, server) => {
    servers.set(listener, server)
  }
}

function publishDatabase(
  metrics: Metrics
): Pick<TransportMetrics<never>, 'connectionAcquired' | 'watchPool'> {
  const acquired = metrics.addHistogram(
    {
      name: 'open_payments_database_acquire_duration_seconds',
      help: 'How long a connection to the database was waited for, until there was one or the wait was given up.'
    },
    [],
    DURATION_BUCKETS
  )
  return {
    connectionAcquired(durationSeconds) {
      acquired({}, durationSeconds)
    },
    watchPool(pool) {
      metrics.addLiveGauges(
        {
          name: 'open_payments_database_connections',
          help: 'Open connections to the database: busy ones, and idle ones.'
        },
        'state',
        () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount })
      )
      metrics.addLiveGauge(
        {
          name: 'open_payments_database_connections_max',
          help: 'Most connections to the database at a time.'
        },
        () => pool.options.max
      )
      metrics.addLiveGauge(
        { name: 'open_payments_database_waiting', help: 'Statements that wait for a connection.' },
        () => pool.waitingCount
      )
    }
  }
}
