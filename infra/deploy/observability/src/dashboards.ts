import type { Dashboard, Panel, Query, Row } from './grafana.js'
import { serviceRows } from './service-rows.js'

const JOBS = '{job=~"auth-server|resource-server"}'

const line = (expr: string, legend: string): Query => ({ expr, legend })
/** Events per minute, by a label. */
const perMinute = (counter: string, label: string): Query =>
  line(`60 * sum by (${label}) (rate(${counter}[$__rate_interval]))`, `{{${label}}}`)
const perMinuteInAll = (counter: string, legend: string): Query =>
  line(`60 * sum(rate(${counter}[$__rate_interval]))`, legend)

/** A panel of one counter, by a label. */
const countsPerMinute = (title: string, description: string, counter: string, label: string): Panel => ({
  title,
  description,
  kind: 'timeseries',
  unit: 'cpm',
  queries: [perMinute(counter, label)]
})

const MONEY_STATS: readonly Panel[] = [
  {
    title: 'Oldest pending payment',
    description: 'Age of the oldest outgoing payment that has not ended. Usually below a second.',
    kind: 'stat',
    unit: 's',
    queries: [line('max(open_payments_outgoing_payments_pending_oldest_age_seconds)', 'age')],
    thresholds: [10, 60]
  },
  {
    title: 'Oldest payment being sent',
    description:
      'Age of the oldest outgoing payment to another provider that has not ended, without those that wait for a decision about packets.',
    kind: 'stat',
    unit: 's',
    queries: [line('max(open_payments_outgoing_payments_sending_oldest_age_seconds)', 'age')],
    thresholds: [300, 900]
  },
  {
    title: 'Packets of unknown fate',
    description:
      'Packets to peers that were neither fulfilled nor rejected. Their payments wait until an operator decides.',
    kind: 'stat',
    unit: 'short',
    queries: [line('max(open_payments_packets_unknown)', 'packets')],
    thresholds: [1, 10]
  },
  {
    title: 'Oldest outcome not delivered',
    description: 'Age of the oldest outcome of a payment that the auth server has not acknowledged.',
    kind: 'stat',
    unit: 's',
    queries: [line('max(open_payments_outcomes_oldest_age_seconds)', 'age')],
    thresholds: [10, 60]
  },
  {
    title: 'Time used awaiting approval',
    description:
      'How much of its time the outgoing payment has used that is declined next, unless it is approved. At 100 % it is declined.',
    kind: 'stat',
    unit: 'percentunit',
    queries: [line('max(open_payments_approvals_time_used_ratio)', 'used')],
    thresholds: [0.5, 0.75]
  },
  {
    title: 'Oldest open reservation',
    description:
      'Age of the oldest reservation that is neither settled nor released, without those whose payments await approval.',
    kind: 'stat',
    unit: 's',
    queries: [line('max(open_payments_reservations_unsettled_oldest_age_seconds)', 'age')],
    thresholds: [300, 900]
  },
  {
    title: 'Disagreements in 24 h',
    description:
      'Outcomes that the auth server refused, or that failed for no good reason. Must be 0: run the audit.',
    kind: 'stat',
    unit: 'short',
    queries: [
      line(
        'sum(increase(open_payments_outcome_deliveries_total{result=~"refused|failed"}[24h]))',
        'deliveries'
      )
    ],
    thresholds: [1, 1]
  },
  {
    title: 'Alerts',
    description: 'Alerts of Open Payments that fire now.',
    kind: 'stat',
    unit: 'short',
    queries: [
      line('count(ALERTS{alertstate="firing", severity=~"warning|critical"}) or vector(0)', 'alerts')
    ],
    thresholds: [1, 1]
  }
]

const SERVICE_LEVELS_ROW: Row = {
  title: 'Service levels',
  panels: [
    {
      title: 'Budget left',
      description:
        'What is left of the error budget of the last 30 days, by objective: 100 % if it was never missed, below 0 if more often than its target allows.',
      kind: 'stat',
      unit: 'percentunit',
      queries: [line('objective:open_payments_budget_left:ratio30d', '{{objective}}')],
      thresholds: [0.25, 0]
    },
    {
      title: 'Budgets burn',
      description:
        'How many times as fast as its target allows each objective was missed in the last hour. Above 14.4 it alarms.',
      kind: 'timeseries',
      unit: 'short',
      queries: [line('objective:open_payments_burn:rate1h', '{{objective}}')]
    }
  ]
}

const OVERVIEW_ROWS: readonly Row[] = [
  { title: 'Is money moving?', panels: MONEY_STATS },
  SERVICE_LEVELS_ROW,
  {
    title: 'Payments and grants, per minute',
    panels: [
      {
        title: 'Outgoing payments',
        description: 'Created by clients, and ended by their state.',
        kind: 'timeseries',
        unit: 'cpm',
        queries: [
          perMinuteInAll('open_payments_outgoing_payments_created_total', 'created'),
          perMinute('open_payments_outgoing_payments_ended_total', 'state')
        ]
      },
      {
        title: 'Incoming payments and quotes',
        description: 'Created by clients, and completed.',
        kind: 'timeseries',
        unit: 'cpm',
        queries: [
          perMinuteInAll('open_payments_incoming_payments_created_total', 'incoming created'),
          perMinuteInAll('open_payments_incoming_payments_completed_total', 'incoming completed'),
          perMinuteInAll('open_payments_quotes_created_total', 'quotes')
        ]
      },
      countsPerMinute('Grants', 'By what happened to them.', 'open_payments_grants_total', 'event')
    ]
  },
  {
    title: 'Who is refused, per minute',
    panels: [
      countsPerMinute(
        'Reservations',
        'Payments that asked for room under a grant, by the answer.',
        'open_payments_reservations_total',
        'result'
      ),
      countsPerMinute(
        'Callers that were not authenticated',
        'By the reason, which callers are not told.',
        'open_payments_authentication_failures_total',
        'reason'
      ),
      countsPerMinute(
        'Over a rate limit',
        'Requests answered with 429, by the limit they reached.',
        'open_payments_rate_limited_total',
        'limit'
      )
    ]
  },
  {
    title: 'Both services',
    panels: [
      {
        title: 'Requests',
        description: 'Requests in a second, health checks left out.',
        kind: 'timeseries',
        unit: 'reqps',
        queries: [
          line(
            'sum by (job) (rate(open_payments_http_request_duration_seconds_count{route!~"/healthz|/readyz"}[$__rate_interval]))',
            '{{job}}'
          )
        ]
      },
      {
        title: 'Duration of requests',
        description: 'Median and 99th percentile, health checks left out.',
        kind: 'timeseries',
        unit: 's',
        queries: ['0.5', '0.99'].map((quantile) =>
          line(
            `histogram_quantile(${quantile}, sum by (job, le) (rate(open_payments_http_request_duration_seconds_bucket{route!~"/healthz|/readyz"}[$__rate_interval])))`,
            `{{job}} ${quantile === '0.5' ? 'median' : '99 %'}`
          )
        )
      },
      {
        title: 'Lateness of the event loop',
        description: '99th percentile. Late means that there is more to compute than one thread can.',
        kind: 'timeseries',
        unit: 's',
        queries: [line(`max by (job) (nodejs_eventloop_lag_p99_seconds${JOBS})`, '{{job}}')]
      }
    ]
  }
]

const OTHER_PROVIDERS_ROW: Row = {
  title: 'Other providers, per minute',
  panels: [
    countsPerMinute(
      'Packets of peers',
      'Packets that were answered, by the answer: fulfill, or the code of the reject.',
      'open_payments_packets_received_total',
      'result'
    ),
    countsPerMinute(
      'Packets to peers',
      'Packets of payments, by what became of them. Those of unknown fate wait for a decision.',
      'open_payments_packets_sent_total',
      'result'
    ),
    countsPerMinute(
      'Requests to peers',
      'Requests to the endpoints of peers, probes included, by whether they were answered.',
      'open_payments_peer_requests_total',
      'result'
    )
  ]
}

const RESOURCE_SERVER_ROW: Row = {
  title: 'What it does, per minute',
  panels: [
    countsPerMinute(
      'Outcomes told to the auth server',
      'Attempts, by their result. `refused` and `failed` need people.',
      'open_payments_outcome_deliveries_total',
      'result'
    ),
    countsPerMinute(
      'Lookups of tokens',
      'Kept, asked for, or asked for since the revocation stream is down.',
      'open_payments_token_lookups_total',
      'source'
    ),
    {
      title: 'Given up, failed, deleted',
      description:
        'Payment ids that were given up, by cause, batches that failed, and what the purge deleted.',
      kind: 'timeseries',
      unit: 'cpm',
      queries: [
        perMinute('open_payments_payment_ids_given_up_total', 'cause'),
        perMinute('open_payments_worker_batch_failures_total{job="resource-server"}', 'worker'),
        perMinute('open_payments_purged_total{job="resource-server"}', 'kind')
      ]
    },
    {
      title: 'Revocation streams',
      description: 'Replicas that hear of revocations. Those that do not ask at every request.',
      kind: 'timeseries',
      unit: 'short',
      queries: [line('sum(open_payments_revocation_stream_connected)', 'connected')]
    },
    {
      title: 'Clients that wait',
      description: 'For changes of payments, on all replicas, and those that were refused in a minute.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        line('sum by (kind) (open_payments_waiting_clients)', '{{kind}}'),
        line(
          '60 * sum by (limit) (rate(open_payments_waiting_refused_total[$__rate_interval]))',
          'refused, limit of the {{limit}}'
        )
      ]
    },
    {
      title: 'Payments that wait for people',
      description: 'For the approval of the provider, or the end of a freeze.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        line('max(open_payments_approvals_waiting)', 'approval'),
        line('max(open_payments_outgoing_payments_frozen)', 'frozen')
      ]
    }
  ]
}

const AUTH_SERVER_ROW: Row = {
  title: 'What it does, per minute',
  panels: [
    {
      title: 'Interactions and tokens',
      description: 'What account holders and clients do.',
      kind: 'timeseries',
      unit: 'cpm',
      queries: [
        perMinute('open_payments_interactions_total', 'event'),
        line('60 * sum by (event) (rate(open_payments_tokens_total[$__rate_interval]))', 'token {{event}}')
      ]
    },
    countsPerMinute(
      'Introspections',
      'Tokens that the resource server asked about, by the answer.',
      'open_payments_introspections_total',
      'result'
    ),
    {
      title: 'Keys of clients',
      description: 'Lookups by their source, and fetches of documents by their result.',
      kind: 'timeseries',
      unit: 'cpm',
      queries: [
        perMinute('open_payments_client_key_lookups_total', 'source'),
        line(
          '60 * sum by (result) (rate(open_payments_client_document_fetches_total[$__rate_interval]))',
          'fetch {{result}}'
        )
      ]
    },
    {
      title: 'Open reservations',
      description: 'Neither settled nor released, counted up to 10,000.',
      kind: 'timeseries',
      unit: 'short',
      queries: [line('max(open_payments_reservations_open)', 'open')]
    }
  ]
}

/** The dashboards, by the names of their files. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  overview: {
    uid: 'open-payments-overview',
    title: 'Open Payments: is money moving?',
    description: 'Whether payments go through, who is refused, and how both services do.',
    rows: OVERVIEW_ROWS
  },
  'auth-server': {
    uid: 'open-payments-auth-server',
    title: 'Open Payments: auth server',
    description: 'Its requests, its database, its process, and the grants it gives.',
    rows: [AUTH_SERVER_ROW, ...serviceRows('auth-server')]
  },
  'resource-server': {
    uid: 'open-payments-resource-server',
    title: 'Open Payments: resource server',
    description: 'Its requests, its database, its process, and the payments it makes.',
    rows: [RESOURCE_SERVER_ROW, OTHER_PROVIDERS_ROW, ...serviceRows('resource-server')]
  }
}
