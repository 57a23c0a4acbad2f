import type { Metrics } from '@open-payments-server/service-kit/metrics'
import { GRANT_EVENTS, type GrantCounters, INTERACTION_EVENTS, TOKEN_EVENTS } from '../domain/counters.js'

/** Publishes the metrics of grants, their interactions and their tokens, see `docs/metrics.md`. */
export function publishGrants(metrics: Pick<Metrics, 'addCounters'>): GrantCounters {
  return {
    countGrant: metrics.addCounters(
      { name: 'open_payments_grants_total', help: 'Grants, by what happened to them.' },
      'event',
      GRANT_EVENTS
    ),
    countInteraction: metrics.addCounters(
      { name: 'open_payments_interactions_total', help: 'Interactions, by what happened in them.' },
      'event',
      INTERACTION_EVENTS
    ),
    countToken: metrics.addCounters(
      { name: 'open_payments_tokens_total', help: 'Tokens, by what their holders did with them.' },
      'event',
      TOKEN_EVENTS
    )
  }
}
