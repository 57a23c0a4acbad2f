export { attemptDelivery, type AttemptResult } from './attempt.js'
export { WebhookDelivery, type WebhookDeliveryDependencies } from './delivery-worker.js'
export {
  ATTEMPT_FAILURES,
  type AttemptFailure,
  DISABLED_CAUSES,
  type DisabledCause,
  type EndpointSettings,
  type WebhookAttempt,
  type WebhookEndpoint
} from './endpoint.js'
export { ENDPOINT_SCHEMA, EXAMPLE_OF_ENDPOINT, withEndpointEvents } from './endpoint-events.js'
export { type DeliveryMeasures, measureDeliveries } from './measure.js'
export { deliveredNumber, purgeAttempts } from './purge.js'
export { createEndpointSecrets, drawSecret, isSecret } from './secret.js'
export {
  countAwaitingEndpoints,
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  type EndpointChange,
  findEndpoint,
  listAttempts,
  listAttemptsOfEvents,
  listEndpoints,
  replay,
  rotateSecret,
  updateEndpoint
} from './store.js'
