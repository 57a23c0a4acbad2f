export { openWebhooks, type Webhooks, type WebhooksContext } from './open-webhooks.js'
export { createWebhookService, type WebhookServiceDependencies } from './webhook-service.js'
