import type { events } from '@open-payments-server/proto'
import type { RolesOf } from './operator.js'

/** The roles of `EventService`, the same in every service. */
export const EVENT_ROLES: RolesOf<typeof events.EventServiceService> = {
  listEvents: 'viewer',
  listSubjectEvents: 'viewer',
  listAudits: 'viewer',
  watchEvents: 'viewer'
}

/** The roles of `WebhookService`, the same in every service. */
export const WEBHOOK_ROLES: RolesOf<typeof events.WebhookServiceService> = {
  createWebhookEndpoint: 'operator',
  listWebhookEndpoints: 'viewer',
  countWebhookEndpoints: 'viewer',
  getWebhookEndpoint: 'viewer',
  updateWebhookEndpoint: 'operator',
  disableWebhookEndpoint: 'operator',
  deleteWebhookEndpoint: 'operator',
  rotateWebhookSecret: 'operator',
  testWebhookEndpoint: 'operator',
  listWebhookAttempts: 'viewer',
  listEventAttempts: 'viewer',
  replayWebhooks: 'operator'
}
