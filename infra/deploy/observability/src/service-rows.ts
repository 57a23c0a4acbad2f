import type { Panel, Query, Row, Unit } from './grafana.js'

/** The rows that each service has: events, HTTP, gRPC, database and process. */
export function serviceRows(job: 'auth-server' | 'resource-server'): readonly Row[] {
  const of = (more = ''): string => `{job="${job}"${more}}`
  return [
    { title: 'Events', panels: eventPanels(of) },
    { title: 'HTTP', panels: httpPanels(of) },
    { title: 'gRPC', panels: grpcPanels(of, job === 'auth-server' ? 'server' : 'client') },
    { title: 'Database and shared store', panels: databasePanels(of) },
    { title: 'Process', panels: processPanels(of) }
  ]
}

/** Builds the selector of a service's series, with further conditions. */
type Selector = (more?: string) => string

const graph = (title: string, unit: Unit, description: string, ...queries: readonly Query[]): Panel => ({
  title,
  description,
  kind: 'timeseries',
  unit,
  queries
})

const line = (expr: string, legend: string): Query => ({ expr, legend })

const quantile99 = (histogram: string, selector: string, label: string): string =>
  `histogram_quantile(0.99, sum by (${label}, le) (rate(${histogram}_bucket${selector}[$__rate_interval])))`

function eventPanels(of: Selector): readonly Panel[] {
  return [
    graph(
      'Events published',
      'cpm',
      'In a minute, by type.',
      line(
        `60 * sum by (type) (rate(open_payments_events_published_total${of()}[$__rate_interval]))`,
        '{{type}}'
      )
    ),
    graph(
      'Posted to webhook endpoints',
      'cpm',
      'Attempts in a minute, by their result.',
      line(
        `60 * sum by (result) (rate(open_payments_webhook_attempts_total${of()}[$__rate_interval]))`,
        '{{result}}'
      )
    ),
    graph(
      'Oldest event that is not told',
      's',
      'Not yet published, and posted to an enabled endpoint but not taken.',
      line(`max(open_payments_events_unpublished_oldest_age_seconds${of()})`, 'not published'),
      line(`max(open_payments_webhooks_undelivered_oldest_age_seconds${of()})`, 'not taken')
    ),
    graph(
      'Disabled endpoints',
      'short',
      'Those that answered 410, or took nothing for three days.',
      line(`max(open_payments_webhook_endpoints_disabled${of()})`, 'disabled')
    )
  ]
}

function httpPanels(of: Selector): readonly Panel[] {
  const duration = 'open_payments_http_request_duration_seconds'
  const serious = of(', route!~"/healthz|/readyz"')
  return [
    graph(
      'Requests by route',
      'reqps',
      'Health checks left out.',
      line(`sum by (route) (rate(${duration}_count${serious}[$__rate_interval]))`, '{{route}}')
    ),
    graph(
      'Answers by status',
      'reqps',
      'Health checks left out.',
      line(`sum by (status) (rate(${duration}_count${serious}[$__rate_interval]))`, '{{status}}')
    ),
    graph(
      'Duration by route, 99 %',
      's',
      'Of 100 requests, one takes longer.',
      line(quantile99(duration, serious, 'route'), '{{route}}')
    ),
    graph(
      'Open at a time',
      'short',
      'Connections, and requests that are being answered, by listener.',
      line(`sum by (listener) (open_payments_http_connections${of()})`, 'connections {{listener}}'),
      line(`sum by (listener) (open_payments_http_requests_in_flight${of()})`, 'requests {{listener}}')
    )
  ]
}

function grpcPanels(of: Selector, side: 'server' | 'client'): readonly Panel[] {
  const duration = `open_payments_grpc_${side}_call_duration_seconds`
  const panels = [
    graph(
      side === 'server' ? 'Calls answered' : 'Calls made',
      'reqps',
      'By method.',
      line(`sum by (method) (rate(${duration}_count${of()}[$__rate_interval]))`, '{{method}}')
    ),
    graph(
      'Calls by code',
      'reqps',
      'By the code they ended with. Refusals are answers, too.',
      line(`sum by (code) (rate(${duration}_count${of()}[$__rate_interval]))`, '{{code}}')
    ),
    graph(
      'Duration by method, 99 %',
      's',
      'Of 100 calls, one takes longer.',
      line(quantile99(duration, of(), 'method'), '{{method}}')
    )
  ]
  if (side === 'server') return panels
  const retries = `sum by (method) (rate(open_payments_grpc_client_retries_total${of()}[$__rate_interval]))`
  return [
    ...panels,
    graph(
      'Calls repeated',
      'reqps',
      'Calls that were made once more because the other side was unavailable.',
      line(retries, '{{method}}')
    )
  ]
}

function databasePanels(of: Selector): readonly Panel[] {
  return [
    graph(
      'Connections',
      'short',
      'Of all replicas, by state, and how many there may be.',
      line(`sum by (state) (open_payments_database_connections${of()})`, '{{state}}'),
      line(`sum(open_payments_database_connections_max${of()})`, 'most')
    ),
    graph(
      'Statements that wait for one',
      'short',
      'Of all replicas. More than none for long means that requests wait.',
      line(`sum(open_payments_database_waiting${of()})`, 'waiting')
    ),
    graph(
      'Wait for a connection, 99 %',
      's',
      'Of 100 waits, one takes longer.',
      line(
        `histogram_quantile(0.99, sum by (le) (rate(open_payments_database_acquire_duration_seconds_bucket${of()}[$__rate_interval])))`,
        'wait'
      )
    ),
    graph(
      'Other servers in its place',
      'short',
      'How often another server took the place of the database within an hour, as the replica tells that saw most.',
      line(`max(increase(open_payments_database_promotions_total${of()}[1h]))`, 'promotions')
    ),
    graph(
      'Errors of the shared store',
      'cpm',
      'What Redis failed at, in a minute.',
      line(
        `60 * sum by (operation) (rate(open_payments_shared_store_errors_total${of()}[$__rate_interval]))`,
        '{{operation}}'
      )
    )
  ]
}

function processPanels(of: Selector): readonly Panel[] {
  return [
    graph(
      'Processor',
      'percentunit',
      'Share of one processor, of the busiest replica.',
      line(`max(rate(process_cpu_seconds_total${of()}[$__rate_interval]))`, 'busiest')
    ),
    graph(
      'Memory',
      'bytes',
      'Of the largest replica.',
      line(`max(process_resident_memory_bytes${of()})`, 'resident'),
      line(`max(nodejs_heap_size_used_bytes${of()})`, 'heap used')
    ),
    graph(
      'Lateness of the event loop',
      's',
      'Of the latest replica.',
      line(`max(nodejs_eventloop_lag_p50_seconds${of()})`, 'median'),
      line(`max(nodejs_eventloop_lag_p99_seconds${of()})`, '99 %')
    ),
    graph(
      'Replicas by version',
      'short',
      'Several versions at a time while one takes the place of another.',
      line(`count by (version) (open_payments_build_info${of()})`, '{{version}}')
    )
  ]
}
