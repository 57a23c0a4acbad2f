import {
  OUTGOING_REQUEST_ERROR_REASONS,
  OutgoingRequestError,
  type OutgoingRequestErrorReason,
  type SafeHttpClient
} from '@open-payments-server/http-client'
import type { Metrics } from '@open-payments-server/service-kit/metrics'
import { KEY_SOURCES, type KeyLookupCounter } from '../domain/counters.js'

/** Publishes the metrics of lookups of clients' keys, see `docs/metrics.md`. */
export function publishKeyLookups(metrics: Pick<Metrics, 'addCounters'>): KeyLookupCounter {
  return metrics.addCounters(
    {
      name: 'open_payments_client_key_lookups_total',
      help: 'Lookups of the keys of clients, by their source.'
    },
    'source',
    KEY_SOURCES
  )
}

/** The same client, counting its fetches, see `docs/metrics.md`. */
export function countFetches(
  httpClient: SafeHttpClient,
  metrics: Pick<Metrics, 'addCounters'>
): Pick<SafeHttpClient, 'getJson' | 'vouchFor'> {
  const count = metrics.addCounters<OutgoingRequestErrorReason | 'fetched'>(
    {
      name: 'open_payments_client_document_fetches_total',
      help: 'Fetches of documents of clients and wallets, by their result.'
    },
    'result',
    ['fetched', ...OUTGOING_REQUEST_ERROR_REASONS]
  )
  return {
    async getJson(...asked) {
      try {
        const answer = await httpClient.getJson(...asked)
        count('fetched')
        return answer
      } catch (error) {
        if (error instanceof OutgoingRequestError) count(error.reason)
        throw error
      }
    },
    vouchFor: (...asked) => {
      httpClient.vouchFor(...asked)
    }
  }
}
