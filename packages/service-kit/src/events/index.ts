export { publishEventMetrics } from './event-metrics.js'
export { wakeAfter } from './waking-routes.js'
export { createEventService, type EventServiceDependencies } from './event-service.js'
