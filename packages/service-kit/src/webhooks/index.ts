export { openWebhooks, type Webhooks, type WebhooksContext } from './open-webhooks.js'
export { startTelling, type Telling, type TellingContext } from './telling.js'
export { createWebhookService, type WebhookServiceDependencies } from './webhook-service.js'
