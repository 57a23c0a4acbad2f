import type { RawQueries } from '@open-payments-server/database'
import { measureDeliveries } from '@open-payments-server/webhooks'
import type { Metrics } from './metrics.js'

/** Publishes how deliveries to webhook endpoints stand, on each scrape, and counts attempts. */
export function publishWebhooks(
  metrics: Metrics,
  database: RawQueries
): (result: 'delivered' | 'failed') => void {
  metrics.addGauges({
    name: 'webhooks',
    gauges: {
      oldestAgeSeconds: {
        name: 'open_payments_webhooks_undelivered_oldest_age_seconds',
        help: 'Age of the oldest event that was posted to an enabled webhook endpoint and not taken; 0 when there is none.'
      },
      disabledCount: {
        name: 'open_payments_webhook_endpoints_disabled',
        help: 'Webhook endpoints that are disabled because they answered 410, or took nothing for three days.'
      }
    },
    read: () => measureDeliveries(database)
  })
  return metrics.addCounters(
    {
      name: 'open_payments_webhook_attempts_total',
      help: 'Attempts to deliver an event to a webhook endpoint, by their result.'
    },
    'result',
    ['delivered', 'failed']
  )
}
