import type { Metrics } from './metrics.js'

/** Publishes attempts to deliver events to webhook endpoints. */
export function publishWebhooks(metrics: Metrics): (result: 'delivered' | 'failed') => void {
  return metrics.addCounters(
    {
      name: 'open_payments_webhook_attempts_total',
      help: 'Attempts to deliver an event to a webhook endpoint, by their result.'
    },
    'result',
    ['delivered', 'failed']
  )
}
